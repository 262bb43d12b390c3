//! What names may look like.
//!
//! Sources: "Object Names and IDs" in the Kubernetes documentation (RFC 1123 subdomains and labels,
//! path segments), and for label keys and values "Labels and Selectors".

/// Which names a kind takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Lower-case, dots allowed, at most 253 bytes.
    #[default]
    Subdomain,
    /// Lower-case, no dots, at most 63 bytes.
    Label,
    /// Anything that can be one segment of a path.
    Path,
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

impl NameRule {
    /// What is wrong with a name.
    pub(crate) fn problems(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::Path => path_segment(name),
        }
    }

    /// What is wrong with a `generateName`: the same, with a trailing dash masked.
    pub(crate) fn prefix_problems(self, prefix: &str) -> Vec<String> {
        match self {
            Self::Path => path_segment(prefix),
            _ => match prefix.strip_suffix('-') {
                Some(stem) if !stem.is_empty() => self.problems(&format!("{stem}a")),
                _ => self.problems(prefix),
            },
        }
    }
}

fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// What is wrong with an RFC 1123 subdomain.
pub(crate) fn subdomain(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    if !name.split('.').all(is_label) {
        problems.push(SUBDOMAIN.to_owned());
    }
    problems
}

/// What is wrong with an RFC 1123 label.
pub(crate) fn label(name: &str) -> Vec<String> {
    if name.contains('.') && name.split('.').all(is_label) {
        return vec!["must not contain dots".to_owned()];
    }
    let mut problems = Vec::new();
    if name.len() > 63 {
        problems.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) {
        problems.push(LABEL.to_owned());
    }
    problems
}

/// What is wrong with an RFC 1035 label: it does not start with a digit.
pub(crate) fn label_1035(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 63 {
        problems.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) || name.starts_with(|c: char| c.is_ascii_digit()) {
        problems.push(LABEL_1035.to_owned());
    }
    problems
}

pub(crate) fn path_segment(name: &str) -> Vec<String> {
    match name {
        "." => return vec!["may not be '.'".to_owned()],
        ".." => return vec!["may not be '..'".to_owned()],
        _ => {}
    }
    ['/', '%']
        .into_iter()
        .filter(|c| name.contains(*c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

fn is_qualified_part(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_alphanumeric();
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            alphanumeric(*first)
                && alphanumeric(*last)
                && bytes.iter().all(|b| alphanumeric(*b) || b"-_.".contains(b))
        }
        _ => false,
    }
}

/// What is wrong with a qualified name: the key of a label or annotation, a finalizer.
pub(crate) fn qualified(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(
                    subdomain(prefix)
                        .into_iter()
                        .map(|problem| format!("prefix part {problem}")),
                );
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified_part(name) {
        problems.push(format!("name part {QUALIFIED}"));
    }
    problems
}

/// What is wrong with the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_qualified_part(value) {
        problems.push(VALUE.to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_their_rule() {
        for (rule, good, bad) in [
            (
                NameRule::Subdomain,
                &["a", "a.b", "123", "a-1"][..],
                &["A", "a_b", "a..b", "-a", "a-", "a b", "a/b", "", "."][..],
            ),
            (NameRule::Label, &["a", "1a"], &["a.b", "A", "", "-"]),
            (NameRule::Path, &["A:b_C", "a.b"], &["a/b", "a%b", ".", ".."]),
        ] {
            for name in good {
                assert_eq!(rule.problems(name), Vec::<String>::new(), "{name}");
            }
            for name in bad {
                assert_ne!(rule.problems(name), Vec::<String>::new(), "{name}");
            }
        }
        assert_eq!(NameRule::Label.problems("a.b"), ["must not contain dots"]);
        assert!(label_1035("a-1").is_empty());
        for name in ["", "1a", "A", "a-", "a_b", "a.b"] {
            assert!(!label_1035(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn prefixes_may_end_in_a_dash() {
        assert!(NameRule::Subdomain.prefix_problems("pre-").is_empty());
        assert!(!NameRule::Subdomain.prefix_problems("Bad_").is_empty());
    }

    #[test]
    fn label_keys_and_values() {
        for key in ["a", "a.b/c", "A_b.c", "x-y.z/0"] {
            assert!(qualified(key).is_empty(), "{key}");
        }
        for key in ["", "bad key", "Bad_Prefix/x", "a/b/c", "/x", "x/", "-a"] {
            assert!(!qualified(key).is_empty(), "{key}");
        }
        assert!(label_value("").is_empty() && !label_value("bad value").is_empty());
        assert_eq!(label_value(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    }
}
