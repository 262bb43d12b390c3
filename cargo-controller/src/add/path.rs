//! The path of a type, as a user writes it behind `--type`. Pure.

use crate::names::{is_keyword, reserved};

/// A path that a `use` takes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TypePath<'a> {
    pub(super) whole: &'a str,
    /// The crate that it begins with, as Rust spells it; `None` for the project's own, and for Rust's.
    pub(super) package: Option<&'a str>,
    /// The type.
    pub(super) name: &'a str,
}

/// Where paths begin that need no crate.
const OWN: [&str; 6] = ["crate", "self", "super", "std", "core", "alloc"];

impl<'a> TypePath<'a> {
    /// # Errors
    /// The text says what is wrong, and shows a path.
    pub(super) fn read(whole: &'a str) -> Result<Self, String> {
        let parts: Vec<_> = whole.strip_prefix("::").unwrap_or(whole).split("::").collect();
        let refused = |what: &str| {
            Err(format!(
                "{whole:?} {what}: give the whole path of a type without parameters, such as --type k8s_openapi::api::apps::v1::Deployment"
            ))
        };
        let [first, modules @ .., name] = parts.as_slice() else {
            return refused("is no path that `use` takes");
        };
        let begins = OWN.contains(first) || is_name(first);
        if !begins || !modules.iter().all(|part| is_name(part) || *part == "super") || !is_name(name) {
            return refused("is no path that `use` takes");
        }
        if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
            return refused("does not end in a type, which begins with a capital");
        }
        if let Some(who) = reserved(name) {
            return Err(format!(
                "{name} means something else in a controller's file, because {who} uses it: give it another name by \
                 `pub(crate) type My{name} = {whole};`, and the path of that"
            ));
        }
        Ok(Self {
            whole,
            package: (!OWN.contains(first)).then_some(*first),
            name,
        })
    }
}

fn is_name(part: &str) -> bool {
    let plain = part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain
        && part != "_"
        && !is_keyword(part)
        && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_with_a_crate_and_ends_in_a_type() {
        for (path, package, name) in [
            (
                "k8s_openapi::api::apps::v1::Deployment",
                Some("k8s_openapi"),
                "Deployment",
            ),
            ("::other::A1", Some("other"), "A1"),
            ("crate::types::Site", None, "Site"),
            ("super::super::Site", None, "Site"),
        ] {
            let read = TypePath::read(path).unwrap();
            assert_eq!((read.package, read.name), (package, name), "{path}");
        }
    }

    #[test]
    fn what_is_no_path_of_a_type_is_told() {
        for path in [
            "",
            "Foo",
            "::Foo",
            "../../evil",
            "a::Foo<Bar>",
            "a::b",
            "a::",
            "::",
            "a::::Foo",
            "a::type::Foo",
            "a b::Foo",
            "a::r#Foo",
            "a/b::Foo",
            "1::Foo",
            "a:Foo",
            "a::F\u{f6}o",
            "a::_",
        ] {
            let error = TypePath::read(path).unwrap_err();
            assert!(error.contains("such as --type k8s_openapi::"), "{path}: {error}");
        }
        let error = TypePath::read("a::Status").unwrap_err();
        assert!(error.contains("type MyStatus = a::Status;"), "{error}");
    }
}
