//! Rust source as its tokens: which parts are names, which are texts, and what its attributes say.
//!
//! Comments and spaces are no tokens; they are the parts between.

use std::ops::Range;

use proc_macro2::{Spacing, TokenStream, TokenTree};

use crate::names::Kind;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// An identifier, or a keyword.
    Name(&'a str),
    /// A literal, with its quotes.
    Literal(&'a str),
    /// Comments, spaces and punctuation.
    Rest(&'a str),
}

/// All parts of a file, in order and without gaps.
///
/// # Errors
/// When it is no Rust.
pub(crate) fn parts(source: &str) -> Result<Vec<Part<'_>>, String> {
    let mut tokens = Vec::new();
    collect(source, stream(source)?, &mut tokens);
    let mut parts = Vec::new();
    let mut end = 0;
    for (range, is_name) in tokens {
        let text = &source[range.clone()];
        parts.push(Part::Rest(&source[end..range.start]));
        parts.push(if is_name {
            Part::Name(text)
        } else {
            Part::Literal(text)
        });
        end = range.end;
    }
    parts.push(Part::Rest(&source[end..]));
    Ok(parts)
}

/// # Errors
/// When it is no Rust.
pub(crate) fn stream(source: &str) -> Result<TokenStream, String> {
    source
        .parse()
        .map_err(|error| format!("not readable as Rust: {error}"))
}

/// Names and literals by where they stand. A comment of documentation is an attribute to the parser, and a comment to us.
fn collect(source: &str, stream: TokenStream, tokens: &mut Vec<(Range<usize>, bool)>) {
    for tree in stream {
        let range = tree.span().byte_range();
        match tree {
            TokenTree::Group(group) => collect(source, group.stream(), tokens),
            TokenTree::Ident(name) if name == source[range.clone()] => tokens.push((range, true)),
            TokenTree::Literal(_) if !source[range.clone()].starts_with('/') => tokens.push((range, false)),
            _ => {}
        }
    }
}

/// The kinds that attributes make: `#[kube(group = "…", version = "…", kind = "…", plural = "…")]`.
///
/// # Errors
/// When it is no Rust.
pub(crate) fn kinds(source: &str) -> Result<Vec<Kind>, String> {
    let mut found = Vec::new();
    find_kinds(stream(source)?, &mut found);
    Ok(found)
}

fn find_kinds(stream: TokenStream, found: &mut Vec<Kind>) {
    for tree in stream {
        let TokenTree::Group(group) = tree else { continue };
        let said = assignments(group.stream());
        let value = |name: &str| {
            let pair = said.iter().find(|(known, _)| known == name);
            pair.map(|(_, value)| value.clone())
        };
        if let (Some(kind), Some(group), Some(version)) = (value("kind"), value("group"), value("version")) {
            found.push(Kind {
                name: kind,
                group,
                version,
                plural: value("plural").unwrap_or_default(),
            });
        }
        find_kinds(group.stream(), found);
    }
}

/// Each `name = "text"` that stands directly here.
fn assignments(stream: TokenStream) -> Vec<(String, String)> {
    let trees: Vec<_> = stream.into_iter().collect();
    let assignments = trees.windows(3).filter_map(|window| match window {
        [
            TokenTree::Ident(name),
            TokenTree::Punct(equals),
            TokenTree::Literal(text),
        ] if equals.as_char() == '=' && equals.spacing() == Spacing::Alone => {
            let text = text.to_string();
            let text = text.strip_prefix('"')?.strip_suffix('"')?;
            Some((name.to_string(), text.to_owned()))
        }
        _ => None,
    });
    assignments.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r##"//! A "quote" it's.
/// `doc`
#[kube(group = "example.com", version = "v1", kind = "Document", plural = "documents", namespaced)]
struct DocumentSpec<'a> { x: &'a str } /* "no" /* nested */ */
fn f() { g('"', r#"a "quoted" text"#, b"x", 1.5) } // the end"##;

    #[test]
    fn names_literals_and_the_rest_are_told_apart() {
        let parts = parts(SOURCE).unwrap();
        let joined: String = parts
            .iter()
            .map(|part| match part {
                Part::Name(text) | Part::Literal(text) | Part::Rest(text) => *text,
            })
            .collect();
        assert_eq!(joined, SOURCE, "nothing is lost");
        let literals: Vec<_> = parts
            .iter()
            .filter_map(|part| match part {
                Part::Literal(text) => Some(*text),
                _ => None,
            })
            .collect();
        let expected = [
            "\"example.com\"",
            "\"v1\"",
            "\"Document\"",
            "\"documents\"",
            "'\"'",
            "r#\"a \"quoted\" text\"#",
            "b\"x\"",
            "1.5",
        ];
        assert_eq!(literals, expected);
        assert!(parts.contains(&Part::Name("DocumentSpec")));
        assert!(!parts.contains(&Part::Name("doc")), "a comment holds no names");
    }

    #[test]
    fn a_kind_is_what_its_attribute_says() {
        let kind = |plural: &str| Kind {
            name: "Document".to_owned(),
            group: "example.com".to_owned(),
            version: "v1".to_owned(),
            plural: plural.to_owned(),
        };
        assert_eq!(kinds(SOURCE).unwrap(), [kind("documents")]);
        let other = "#[kube(kind = \"Document\", version = \"v1\", group = \"example.com\")] struct A;";
        assert_eq!(kinds(other).unwrap(), [kind("")]);
        assert!(kinds("fn f(kind: &str) {}").unwrap().is_empty());
        assert!(kinds("fn f( {").is_err());
    }
}
