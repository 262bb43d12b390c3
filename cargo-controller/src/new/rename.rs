//! From the text of an example to the text of a project: the example's names become the project's.
//!
//! The examples are the templates, so they are written to be renamed: `Document`, `document`, `documents`, the group
//! `example.com` and the version `v1` are the only names that change. In Rust a lower-case word is a variable in code and
//! a text in strings and comments, and the two may differ: `http_route` against `httproute`.

use super::names::Names;

/// Where in a Rust file we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Code,
    /// Until the end of the line.
    Comment,
    /// Until the quote, with as many `#` behind it.
    Text {
        hashes: Option<usize>,
    },
}

/// The names as they are put in.
#[derive(Debug)]
pub(super) struct Renamer<'a> {
    names: &'a Names,
    variable: String,
}

impl<'a> Renamer<'a> {
    /// `code` is all Rust of the example: a name that it uses itself is no name for a variable.
    ///
    /// # Errors
    /// When the example uses the kind's name, or one that is made from it, for something else.
    pub(super) fn new(names: &'a Names, code: &[&str]) -> Result<Self, String> {
        let words: std::collections::BTreeSet<_> = code.iter().flat_map(|code| identifiers(code)).collect();
        for ending in ["", "Spec", "Error"] {
            let name = format!("{}{ending}", names.kind);
            if words.contains(name.as_str()) && !name.starts_with("Document") {
                return Err(format!(
                    "{} cannot name the kind, because the code around it uses {name}: choose --kind My{}",
                    names.kind, names.kind
                ));
            }
        }
        let variable = names
            .variable()
            .filter(|name| name == "document" || !words.contains(name.as_str()))
            .unwrap_or_else(|| "object".to_owned());
        Ok(Self { names, variable })
    }

    /// A Rust file.
    pub(super) fn rust(&self, source: &str) -> String {
        self.rewrite(source, Place::Code)
    }

    /// Any other file.
    pub(super) fn text(&self, source: &str) -> String {
        self.rewrite(source, Place::Text { hashes: None })
    }

    fn rewrite(&self, source: &str, start: Place) -> String {
        let is_rust = start == Place::Code;
        let mut place = start;
        let mut renamed = String::with_capacity(source.len());
        let mut rest = source;
        while let Some(c) = rest.chars().next() {
            let length = if let Some((length, name)) = self.name_at(rest, &renamed, place) {
                renamed.push_str(&name);
                length
            } else {
                let length = c.len_utf8();
                renamed.push(c);
                length
            };
            if is_rust && length == c.len_utf8() {
                place = next_place(place, rest, &renamed);
            }
            rest = &rest[length..];
        }
        renamed
    }

    /// The name that stands here, by its length, and what comes in its place.
    fn name_at(&self, rest: &str, before: &str, place: Place) -> Option<(usize, String)> {
        let Names { group, version, .. } = self.names;
        for (old, new) in [
            ("example.com/v1", format!("{group}/{version}")),
            ("version = \"v1\"", format!("version = \"{version}\"")),
            ("example.com", group.clone()),
        ] {
            if rest.starts_with(old) {
                return Some((old.len(), new));
            }
        }
        if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        let word = word(rest);
        let new = match (word, place) {
            ("Document", _) => self.names.kind.clone(),
            ("Documents", _) => self.names.kinds(),
            ("document", Place::Code) => self.variable.clone(),
            ("documents", Place::Code) => self.names.plural.replace('-', "_"),
            ("document", _) => self.names.singular(),
            ("documents", _) => self.names.plural.clone(),
            _ => {
                let ending = word.strip_prefix("Document")?;
                let camel = ending.starts_with(|c: char| c.is_ascii_uppercase());
                return camel.then(|| (word.len(), format!("{}{ending}", self.names.kind)));
            }
        };
        Some((word.len(), new))
    }
}

/// The letters and digits that stand here.
fn word(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    &text[..end]
}

fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Where we are behind the first character of `rest`; `before` ends with that character.
fn next_place(place: Place, rest: &str, before: &str) -> Place {
    match place {
        Place::Code if rest.starts_with("//") => Place::Comment,
        Place::Code if rest.starts_with('"') => {
            let head = before[..before.len() - 1].trim_end_matches('#');
            let raw = head.ends_with('r');
            let hashes = before.len() - 1 - head.len();
            Place::Text {
                hashes: raw.then_some(hashes),
            }
        }
        Place::Comment if rest.starts_with('\n') => Place::Code,
        Place::Text { hashes: None } if rest.starts_with('"') && !before.ends_with("\\\"") => Place::Code,
        Place::Text { hashes: Some(hashes) } if rest.starts_with(&format!("\"{}", "#".repeat(hashes))) => {
            Place::Code
        }
        place => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::new::names::Wish;

    fn names(kind: &str) -> Names {
        Names::choose(Wish {
            name: "op",
            kind: Some(kind),
            group: "acme.io",
            version: "v1beta1",
            plural: None,
        })
        .unwrap()
    }

    const SOURCE: &str = r##"//! For Documents: a document of example.com.
#[kube(version = "v1", printcolumn = r#"{"name":"document"}"#)]
pub struct DocumentSpec;
fn documents_of(document: &Document) -> DocumentError { at("documents", "example.com/v1", document) }
"##;

    #[test]
    fn variables_and_texts_differ() {
        let names = names("HTTPRoute");
        let renamer = Renamer::new(&names, &[SOURCE]).unwrap();
        assert_eq!(
            renamer.rust(SOURCE),
            r##"//! For HTTPRoutes: a httproute of acme.io.
#[kube(version = "v1beta1", printcolumn = r#"{"name":"httproute"}"#)]
pub struct HTTPRouteSpec;
fn httproutes_of(http_route: &HTTPRoute) -> HTTPRouteError { at("httproutes", "acme.io/v1beta1", http_route) }
"##
        );
    }

    #[test]
    fn a_keyword_or_a_name_in_use_is_no_variable() {
        for kind in ["Type", "At"] {
            let names = names(kind);
            let renamer = Renamer::new(&names, &[SOURCE]).unwrap();
            assert!(renamer.rust(SOURCE).contains("(object: &"), "{kind}");
        }
    }

    #[test]
    fn a_type_in_use_is_no_kind() {
        let names = names("Store");
        let error = Renamer::new(&names, &["secrets: Store<Secret>"]).unwrap_err();
        assert!(error.ends_with("choose --kind MyStore"), "{error}");
    }

    #[test]
    fn the_example_renamed_to_itself_is_itself() {
        let names = Names {
            package: "document".to_owned(),
            kind: "Document".to_owned(),
            group: "example.com".to_owned(),
            version: "v1".to_owned(),
            plural: "documents".to_owned(),
        };
        let renamer = Renamer::new(&names, &[SOURCE]).unwrap();
        assert_eq!(renamer.rust(SOURCE), SOURCE);
        assert_eq!(renamer.text(SOURCE), SOURCE);
    }
}
