//! Rust source as its tokens: which parts are names, which are texts, and what its attributes say.
//!
//! Comments and spaces are no tokens; they are the parts between.

use std::ops::Range;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

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

/// The names in `Operator::new("…")`.
///
/// # Errors
/// When it is no Rust.
pub(crate) fn operators(source: &str) -> Result<Vec<String>, String> {
    let parts = parts(source)?;
    let named = parts.windows(5).filter_map(|window| match window {
        [
            Part::Name("Operator"),
            Part::Rest("::"),
            Part::Name("new"),
            Part::Rest("("),
            Part::Literal(text),
        ] => unquoted(text),
        _ => None,
    });
    Ok(named.collect())
}

/// The names of the controllers in a file, in lower case: of an attribute, or of a `.name("…")`. One without a name has that of its
/// kind; which of the types in its signature that is, is not told apart.
///
/// # Errors
/// When it is no Rust.
pub(crate) fn controllers(source: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    find_controllers(stream(source)?, &mut found);
    Ok(found)
}

fn find_controllers(stream: TokenStream, found: &mut Vec<String>) {
    let trees: Vec<_> = stream.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match &trees[at..] {
            [TokenTree::Punct(hash), TokenTree::Group(attribute), rest @ ..] if hash.as_char() == '#' => {
                if let Some(said) = controller_attribute(attribute.stream()) {
                    let name = said.into_iter().find(|(known, _)| known == "name");
                    match name {
                        Some((_, name)) => found.push(name),
                        None => found.extend(parameters(rest)),
                    }
                }
            }
            [
                TokenTree::Punct(dot),
                TokenTree::Ident(name),
                TokenTree::Group(text),
                ..,
            ] if dot.as_char() == '.' && name == "name" => {
                found.extend(unquoted(&text.stream().to_string()));
            }
            _ => {}
        }
        if let TokenTree::Group(group) = tree {
            find_controllers(group.stream(), found);
        }
    }
}

/// What `controller(…)`, by whatever path, says; `None` for another attribute.
fn controller_attribute(stream: TokenStream) -> Option<Vec<(String, String)>> {
    let trees: Vec<_> = stream.into_iter().collect();
    let (path, said) = match trees.as_slice() {
        [path @ .., TokenTree::Group(said)] => (path, assignments(said.stream())),
        path => (path, Vec::new()),
    };
    matches!(path, [.., TokenTree::Ident(last)] if last == "controller").then_some(said)
}

/// The words in the parameters of the function that follows.
fn parameters(behind: &[TokenTree]) -> Vec<String> {
    let parameters = behind
        .iter()
        .skip_while(|tree| tree.to_string() != "fn")
        .find_map(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Some(group.stream()),
            _ => None,
        });
    let words = parameters.into_iter().flatten();
    words.map(|tree| tree.to_string().to_lowercase()).collect()
}

fn unquoted(literal: &str) -> Option<String> {
    Some(literal.strip_prefix('"')?.strip_suffix('"')?.to_owned())
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
            Some((name.to_string(), unquoted(&text.to_string())?))
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

    #[test]
    fn a_controller_is_named_by_its_attribute_its_kind_or_a_call() {
        let names = |source| controllers(source).unwrap();
        assert_eq!(
            names("#[controller(owns(A), name = \"site\")] async fn f(o: Arc<Page>) {}"),
            ["site"]
        );
        let unnamed = "mod m { #[controller_runtime::controller] pub(crate) async fn f<S>(o: Arc<Page>) {} }";
        assert!(names(unnamed).contains(&"page".to_owned()));
        assert_eq!(
            names("fn f() { Controller::new(a).name(\"by-hand\").run() }"),
            ["by-hand"]
        );
        assert!(names("#[test] fn f(page: Page) { a.name(x) }").is_empty());
    }

    #[test]
    fn an_operator_is_named_where_it_is_made() {
        let source = "fn main() { f(Operator::new(\"sites\").main()) } // Operator::new(\"no\")";
        assert_eq!(operators(source).unwrap(), ["sites"]);
    }
}
