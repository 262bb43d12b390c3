//! What may be a name, and what could be one instead.
//!
//! Sources of the rules: Kubernetes "Object Names and IDs" and the validation of custom resource definitions; The Rust
//! Reference, "Keywords"; cargo's own rules for package names.

use super::spell::camel;

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

/// What `controller_runtime::prelude` and `kube` bring into a controller's file.
const FRAMEWORK: &[&str] = &[
    "Action",
    "Api",
    "Arc",
    "Attempt",
    "Backoff",
    "Children",
    "Client",
    "Config",
    "Controller",
    "CustomResource",
    "Duration",
    "Error",
    "Failure",
    "FromReconcile",
    "Informer",
    "Now",
    "ObjectMeta",
    "ObjectRef",
    "Operator",
    "OrFail",
    "ReconcileError",
    "Recorder",
    "Resource",
    "ResourceExt",
    "Status",
    "Store",
];

/// Names that cargo keeps for itself.
const CARGO: &[&str] = &[
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

pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// The package's name in lower case, which is how cargo users write it.
pub(crate) fn package(name: &str) -> Result<String, String> {
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(format!(
            "{name:?} cannot name a package: begin with a letter, go on with letters, digits, `-` and `_`"
        ));
    }
    let lower = name.to_ascii_lowercase();
    let instead = image_part(&lower);
    if instead != lower {
        return Err(format!(
            "{name:?} cannot name a package, because its image could not be called so: choose {instead}"
        ));
    }
    if is_keyword(&lower) || CARGO.contains(&lower.as_str()) {
        return Err(format!(
            "{name:?} cannot name a package, because Rust or cargo use it: choose {lower}-operator"
        ));
    }
    Ok(lower)
}

/// What comes next to a name as a part of an image's: letters and digits, between them `_`, `__` or any number of `-`, and no more than 63.
fn image_part(name: &str) -> String {
    let mut part = String::new();
    let mut between = String::new();
    for c in name.chars().take(63) {
        if c == '-' || c == '_' {
            between.push(c);
            continue;
        }
        let is_fine = between.len() < 2 || between == "__" || between.chars().all(|c| c == '-');
        part.push_str(if is_fine { &between } else { "-" });
        between.clear();
        part.push(c);
    }
    part
}

pub(crate) fn kind(kind: &str) -> Result<(), String> {
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
    if let Some(who) = reserved(kind) {
        return Err(format!(
            "{kind} cannot name a kind, because {who} uses it: choose --kind My{kind}"
        ));
    }
    Ok(())
}

/// Who uses a type's name in every controller's file.
pub(crate) fn reserved(kind: &str) -> Option<&'static str> {
    let who = [(PRELUDE, "Rust"), (FRAMEWORK, "controller-runtime")];
    who.iter()
        .find(|(names, _)| names.contains(&kind))
        .map(|(_, who)| *who)
}

pub(crate) fn group(group: &str) -> Result<(), String> {
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

pub(crate) fn version(version: &str) -> Result<(), String> {
    if is_label(version) && version.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(());
    }
    Err(format!(
        "{version:?} cannot name a version: use one like v1, v1beta1 or v2alpha1"
    ))
}

pub(crate) fn plural(plural: &str) -> Result<(), String> {
    if is_label(plural) && plural.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(());
    }
    Err(format!(
        "{plural:?} cannot be a plural, which is in lower case letters, digits and `-`: give one with --plural"
    ))
}

/// A definition is called `plural.group`, which is a subdomain.
pub(crate) fn definition(plural: &str, group: &str) -> Result<(), String> {
    if plural.len() + 1 + group.len() <= 253 {
        return Ok(());
    }
    Err(format!(
        "{plural}.{group} cannot name a definition, which has 253 letters at most: give a shorter --group"
    ))
}

/// The Service for an operator's metrics is called after it, with this behind.
const METRICS: &str = "-metrics";

/// The name of an operator, and so of its Deployment and its Service, which is a label.
pub(crate) fn operator(name: &str) -> Result<(), String> {
    if is_label(&format!("{name}{METRICS}"))
        && is_label(name)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
    {
        return Ok(());
    }
    Err(format!(
        "{name} cannot name the operator, which has small letters, digits and `-`, and {} of them at most",
        63 - METRICS.len()
    ))
}

/// What comes next to a package's name as an operator's.
pub(crate) fn operator_like(package: &str) -> String {
    let name: String = package
        .replace('_', "-")
        .chars()
        .take(63 - METRICS.len())
        .collect();
    name.trim_end_matches('-').to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The grammar of references to images (distribution/reference).
    #[test]
    fn a_package_is_called_as_an_image_can_be() {
        for (name, instead) in [
            ("site-", "site"),
            ("site__", "site"),
            ("a-_b", "a-b"),
            ("a___b", "a-b"),
            ("my_op--x__y", "my_op--x__y"),
        ] {
            assert_eq!(image_part(name), instead);
            assert_eq!(package(name).is_ok(), name == instead, "{name}");
        }
        assert!(package(&"a".repeat(63)).is_ok() && package(&"a".repeat(64)).is_err());
    }

    #[test]
    fn names_that_a_cluster_would_refuse_are_refused_here() {
        assert!(operator(&"a".repeat(55)).is_ok());
        for name in ["a".repeat(56).as_str(), "my_op", "op-", "9op", "Op"] {
            assert!(operator(name).is_err(), "{name}");
        }
        for package in [
            "a".repeat(63),
            format!("{}-b", "a".repeat(54)),
            "my_op".to_owned(),
        ] {
            assert!(operator(&operator_like(&package)).is_ok(), "{package}");
        }
        let group = "g".repeat(247);
        assert!(definition("sites", &group).is_ok() && definition("pagess", &group).is_err());
    }

    /// What the prelude gives is in scope of every controller, so that a kind of the same name would change what it means.
    #[test]
    fn every_type_of_the_runtimes_prelude_is_refused_as_a_kind() {
        let prelude = include_str!("../../../controller-runtime/src/prelude.rs");
        let types = prelude
            .lines()
            .filter(|line| !line.starts_with("//"))
            .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()))
            .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
        let missing: Vec<_> = types.filter(|name| kind(name).is_ok()).collect();
        assert!(missing.is_empty(), "add to FRAMEWORK: {missing:?}");
    }
}
