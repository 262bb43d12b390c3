//! The names of a new project, checked before a file is written.
//!
//! Sources of the rules: Kubernetes "Object Names and IDs" and the validation of custom resource definitions; The Rust
//! Reference, "Keywords"; cargo's own rules for package names.

/// Rust's keywords, of all editions; those that cannot even be raw identifiers among them.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Types that every Rust file sees without naming where they come from, and those that derives write.
const PRELUDE: &[&str] = &[
    "Self",
    "String",
    "Vec",
    "Option",
    "Some",
    "None",
    "Result",
    "Ok",
    "Err",
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Drop",
    "Eq",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "Future",
    "Hash",
    "Into",
    "Iterator",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Send",
    "Sized",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "IntoIterator",
    "Extend",
    "AsRef",
];

/// What a project is called, in every spelling it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// The package: `my-website`.
    pub(crate) package: String,
    /// The kind: `Website`.
    pub(crate) kind: String,
    /// The API group: `example.com`.
    pub(crate) group: String,
    /// The version: `v1`.
    pub(crate) version: String,
    /// The plural that the API server knows: `websites`.
    pub(crate) plural: String,
}

/// What the user gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Option<&'a str>,
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) plural: Option<&'a str>,
}

impl Names {
    /// # Errors
    /// The text says which name cannot be used, why, and what could be.
    pub(crate) fn choose(wish: Wish<'_>) -> Result<Self, String> {
        let package = package(wish.name)?;
        let kind = match wish.kind {
            Some(kind) => kind.to_owned(),
            None => camel(wish.name),
        };
        check_kind(&kind)?;
        check_group(wish.group)?;
        check_version(wish.version)?;
        let plural = match wish.plural {
            Some(plural) => plural.to_owned(),
            None => pluralize(&kind.to_lowercase()),
        };
        check_plural(&plural)?;
        Ok(Self {
            package,
            kind,
            group: wish.group.to_owned(),
            version: wish.version.to_owned(),
            plural,
        })
    }

    /// The kind as the API server writes it in lower case: `website`.
    pub(crate) fn singular(&self) -> String {
        self.kind.to_lowercase()
    }

    /// Several of them, for people: `Websites`.
    pub(crate) fn kinds(&self) -> String {
        match self.plural.strip_prefix(&self.singular()) {
            Some(ending) => format!("{}{ending}", self.kind),
            None => camel(&self.plural),
        }
    }

    /// A variable's name: `web_site`; `None` where that is a keyword.
    pub(crate) fn variable(&self) -> Option<String> {
        Some(snake(&self.kind)).filter(|name| !KEYWORDS.contains(&name.as_str()))
    }
}

fn package(name: &str) -> Result<String, String> {
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if name.is_empty() || !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(format!(
            "{name:?} cannot name a package: begin with a letter, go on with letters, digits, `-` and `_`"
        ));
    }
    let lower = name.to_ascii_lowercase();
    let taken = [
        "test",
        "core",
        "std",
        "alloc",
        "proc_macro",
        "proc-macro",
        "deps",
        "build",
        "examples",
        "incremental",
    ];
    if KEYWORDS.contains(&lower.as_str()) || taken.contains(&lower.as_str()) {
        return Err(format!(
            "{name:?} cannot name a package, because Rust or cargo use it: choose {lower}-operator, and --kind {}",
            camel(name)
        ));
    }
    Ok(lower)
}

fn check_kind(kind: &str) -> Result<(), String> {
    let plain = kind.chars().all(|c| c.is_ascii_alphanumeric());
    if !plain || !kind.starts_with(|c: char| c.is_ascii_uppercase()) || kind.len() > 63 {
        let instead = camel(kind);
        let advice = if instead.is_empty() || instead == kind {
            String::new()
        } else {
            format!(": choose --kind {instead}")
        };
        return Err(format!(
            "{kind:?} cannot name a kind, which begins with a capital and goes on with letters and digits, 63 at most{advice}"
        ));
    }
    if PRELUDE.contains(&kind) {
        return Err(format!(
            "{kind} cannot name a kind, because Rust uses it: choose --kind My{kind}"
        ));
    }
    Ok(())
}

fn check_group(group: &str) -> Result<(), String> {
    if !group.contains('.') || !group.split('.').all(is_label) || group.len() > 253 {
        return Err(format!(
            "{group:?} cannot name an API group: use a domain that is yours, in lower case, such as example.com"
        ));
    }
    let protected = ["k8s.io", "kubernetes.io"];
    if protected
        .iter()
        .any(|end| group == *end || group.ends_with(&format!(".{end}")))
    {
        return Err(format!(
            "{group} is kept for the Kubernetes project: use a domain that is yours, such as example.com"
        ));
    }
    Ok(())
}

fn check_version(version: &str) -> Result<(), String> {
    if is_label(version) && version.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(());
    }
    Err(format!(
        "{version:?} cannot name a version: use one like v1, v1beta1 or v2alpha1"
    ))
}

fn check_plural(plural: &str) -> Result<(), String> {
    if is_label(plural) && plural.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(());
    }
    Err(format!(
        "{plural:?} cannot be a plural, which is in lower case letters, digits and `-`: give one with --plural"
    ))
}

/// RFC 1123.
fn is_label(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    text.len() <= 63
        && edge(text.chars().next())
        && edge(text.chars().next_back())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// `my-website` and `my_website` are `MyWebsite`; capitals stay.
fn camel(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .flat_map(|word| {
            let mut chars = word.chars();
            chars
                .next()
                .map(|c| c.to_ascii_uppercase())
                .into_iter()
                .chain(chars)
        })
        .skip_while(char::is_ascii_digit)
        .collect()
}

/// `HTTPRoute` is `http_route`, `DNS` is `dns`.
fn snake(kind: &str) -> String {
    let chars: Vec<_> = kind.chars().collect();
    let mut name = String::new();
    for (index, c) in chars.iter().enumerate() {
        let after_lower = index > 0 && !chars[index - 1].is_ascii_uppercase();
        let before_lower = index > 0 && chars.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_lower || before_lower) {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

/// English, as far as it has rules.
fn pluralize(word: &str) -> String {
    let vowel = |c: char| "aeiou".contains(c);
    let before_last = word.chars().rev().nth(1);
    if word.ends_with('y') && before_last.is_some_and(|c| !vowel(c)) {
        format!("{}ies", &word[..word.len() - 1])
    } else if ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end)) {
        format!("{word}es")
    } else {
        format!("{word}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(name: &str) -> Wish<'_> {
        Wish {
            name,
            kind: None,
            group: "example.com",
            version: "v1",
            plural: None,
        }
    }

    /// Kinds that broke other scaffolds: plurals, capitals, keywords.
    #[test]
    fn odd_kinds_have_every_spelling() {
        for (kind, plural, kinds, variable) in [
            ("Website", "websites", "Websites", Some("website")),
            ("DNS", "dnses", "DNSes", Some("dns")),
            ("Redis", "redises", "Redises", Some("redis")),
            ("Ingress", "ingresses", "Ingresses", Some("ingress")),
            ("Policy", "policies", "Policies", Some("policy")),
            ("Gateway", "gateways", "Gateways", Some("gateway")),
            ("Type", "types", "Types", None),
            ("Match", "matches", "Matches", None),
            ("X", "xes", "Xes", Some("x")),
            ("HTTPRoute", "httproutes", "HTTPRoutes", Some("http_route")),
            ("MyBox", "myboxes", "MyBoxes", Some("my_box")),
        ] {
            let names = Names::choose(Wish {
                kind: Some(kind),
                ..wish("op")
            })
            .unwrap();
            assert_eq!((names.plural.as_str(), names.kinds().as_str()), (plural, kinds));
            assert_eq!(names.variable().as_deref(), variable);
        }
    }

    #[test]
    fn the_kind_follows_from_the_name() {
        assert_eq!(Names::choose(wish("my-website")).unwrap().kind, "MyWebsite");
        assert_eq!(Names::choose(wish("redis")).unwrap().kind, "Redis");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_could() {
        let refused = |wish| Names::choose(wish).unwrap_err();
        assert!(refused(wish("9lives")).contains("begin with a letter"));
        assert!(refused(wish("type")).contains("type-operator, and --kind Type"));
        let kind = |kind| Wish {
            kind: Some(kind),
            ..wish("op")
        };
        assert!(refused(kind("my-site")).ends_with("choose --kind MySite"));
        assert!(refused(kind("site")).ends_with("choose --kind Site"));
        assert!(refused(kind("Option")).ends_with("choose --kind MyOption"));
        let group = |group| Wish { group, ..wish("op") };
        assert!(refused(group("example")).contains("such as example.com"));
        assert!(refused(group("Example.com")).contains("in lower case"));
        assert!(refused(group("apps.k8s.io")).contains("kept for the Kubernetes project"));
        let version = Wish {
            version: "1",
            ..wish("op")
        };
        assert!(refused(version).contains("v1beta1"));
        let plural = Wish {
            plural: Some("Sites"),
            ..wish("op")
        };
        assert!(refused(plural).contains("--plural"));
    }
}
