//! From the text of an example to the text of a project: the example's names become the project's.
//!
//! It goes by tokens, because one word is spelled in several ways: `HTTPRoute` is a type, `http_route` a variable and `httproute`
//! what the API server says. In Rust, names and texts are told apart; in other files all is text. Words are whole words, or
//! whole parts of a name: `Document` in `DocumentSpec` and `documents` in `documents_of`, never `document` in `documentation`.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    names::{Kind, Names, is_keyword, snake},
    rust::{self, Part},
};

/// Where a word may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// A part of a name with capitals: no capital before, no small letter behind.
    Camel,
    /// No letter or digit on either side.
    Word,
}

/// A word, and what comes in its place.
#[derive(Debug)]
struct Rule {
    bound: Bound,
    old: String,
    new: String,
}

impl Rule {
    fn new(bound: Bound, old: impl Into<String>, new: impl Into<String>) -> Self {
        Self {
            bound,
            old: old.into(),
            new: new.into(),
        }
    }

    fn fits(&self, before: Option<char>, after: Option<char>) -> bool {
        let within = |c: Option<char>, class: fn(&char) -> bool| c.is_some_and(|c| class(&c));
        match self.bound {
            Bound::Camel => {
                !within(before, char::is_ascii_uppercase) && !within(after, char::is_ascii_lowercase)
            }
            Bound::Word => {
                !within(before, char::is_ascii_alphanumeric) && !within(after, char::is_ascii_alphanumeric)
            }
        }
    }
}

/// The first rule that fits wins; what was put in is not looked at again.
fn rewrite<'a>(text: &'a str, rules: &[Rule]) -> Cow<'a, str> {
    let mut renamed = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let before = text[..at].chars().next_back();
        let rule = rules.iter().find(|rule| {
            text[at..]
                .strip_prefix(&rule.old)
                .is_some_and(|behind| rule.fits(before, behind.chars().next()))
        });
        if let Some(rule) = rule {
            renamed.push_str(&text[copied..at]);
            renamed.push_str(&rule.new);
            at += rule.old.len();
            copied = at;
        } else {
            at += c.len_utf8();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    renamed.push_str(&text[copied..]);
    Cow::Owned(renamed)
}

/// The names as they are put in.
#[derive(Debug)]
pub(super) struct Renamer {
    names: Vec<Rule>,
    texts: Vec<Rule>,
    /// Group and version, of the example and of the project.
    versions: Option<[(String, String); 2]>,
}

impl Renamer {
    /// `code` is all Rust of the example: a name that it uses itself is no name for a variable.
    ///
    /// # Errors
    /// When the example uses the kind's name, or one that is made from it, for something else.
    pub(super) fn new<'a>(
        old: &Names,
        new: &Names,
        code: impl Iterator<Item = &'a str>,
    ) -> Result<Self, String> {
        let mut words = BTreeSet::new();
        for code in code {
            words.extend(rust::parts(code)?.into_iter().filter_map(|part| match part {
                Part::Name(name) => Some(name),
                _ => None,
            }));
        }
        let (Some(old_kind), Some(new_kind)) = (&old.kind, &new.kind) else {
            return Ok(Self {
                names: packages(old, new).into(),
                texts: packages(old, new).into(),
                versions: None,
            });
        };
        let plain = snake(&new_kind.name);
        let mine = format!("my_{plain}");
        let mut clash = String::new();
        for (one, many) in [
            (plain.as_str(), new_kind.plural.replace('-', "_").as_str()),
            (&plain, &format!("{plain}_list")),
            ("object", "objects"),
            ("resource", "resources"),
            (&mine, &format!("{mine}_list")),
        ] {
            if one == many {
                continue;
            }
            let names = name_rules(old_kind, new_kind, one, many);
            match first_clash(&words, &names) {
                None => {
                    return Ok(Self {
                        names,
                        texts: text_rules(old, new, old_kind, new_kind),
                        versions: Some([
                            (old_kind.group.clone(), old_kind.version.clone()),
                            (new_kind.group.clone(), new_kind.version.clone()),
                        ]),
                    });
                }
                Some(name) => clash = name,
            }
        }
        let kind = &new_kind.name;
        Err(format!(
            "{kind} cannot name the kind, because the code around it uses {clash}: choose --kind My{kind}"
        ))
    }

    /// A Rust file.
    ///
    /// # Errors
    /// When it is no Rust.
    pub(super) fn rust(&self, source: &str) -> Result<String, String> {
        let parts = rust::parts(source)?;
        let mut renamed = String::with_capacity(source.len());
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Name(name) => renamed.push_str(&rewrite(name, &self.names)),
                Part::Rest(text) => renamed.push_str(&rewrite(text, &self.texts)),
                Part::Literal(text) => renamed.push_str(&self.literal(text, &parts[..index])),
            }
        }
        Ok(renamed)
    }

    /// Any other file.
    pub(super) fn text(&self, source: &str) -> String {
        rewrite(source, &self.texts).into_owned()
    }

    /// The path of a file in the project.
    pub(super) fn path(&self, path: &str) -> String {
        match path.strip_suffix(".rs") {
            Some(stem) => format!("{}.rs", rewrite(stem, &self.names)),
            None => self.text(path),
        }
    }

    fn literal(&self, text: &str, before: &[Part<'_>]) -> String {
        if let Some([(group, old), (_, new)]) = &self.versions
            && text == format!("{old:?}")
            && is_of_group(before, group)
        {
            return format!("{new:?}");
        }
        // What is captured by a text to be formatted is a variable.
        let mut renamed = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let name = &rest[at + 1..];
            let end = name
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(name.len());
            let escaped = usize::from(name.starts_with('{'));
            renamed.push_str(&rewrite(&rest[..=at + escaped], &self.texts));
            rest = &name[escaped..];
            if end > 0 && name[end..].starts_with(['}', ':']) {
                renamed.push_str(&rewrite(&name[..end], &self.names));
                rest = &name[end..];
            }
        }
        renamed.push_str(&rewrite(rest, &self.texts));
        renamed
    }
}

/// Whether a version that stands here is that of the group: `version = "v1"`, or `"example.com", "v1"`.
fn is_of_group(before: &[Part<'_>], group: &str) -> bool {
    match before {
        [.., Part::Name("version"), Part::Rest(between)] => between.trim() == "=",
        [.., Part::Literal(literal), Part::Rest(between)] => {
            between.trim() == "," && *literal == format!("{group:?}")
        }
        _ => false,
    }
}

/// Names in code: types, then variables, then constants; those of several before those of one.
fn name_rules(old: &Kind, new: &Kind, one: &str, many: &str) -> Vec<Rule> {
    let (old_one, old_many) = (snake(&old.name), snake(&old.kinds()));
    vec![
        Rule::new(Bound::Camel, old.kinds(), new.kinds()),
        Rule::new(Bound::Camel, &old.name, &new.name),
        Rule::new(Bound::Word, &old_many, many),
        Rule::new(Bound::Word, &old_one, one),
        Rule::new(Bound::Word, old_many.to_uppercase(), many.to_uppercase()),
        Rule::new(Bound::Word, old_one.to_uppercase(), one.to_uppercase()),
    ]
}

fn text_rules(old: &Names, new: &Names, old_kind: &Kind, new_kind: &Kind) -> Vec<Rule> {
    let mut rules = vec![
        Rule::new(
            Bound::Word,
            format!("{}/{}", old_kind.group, old_kind.version),
            format!("{}/{}", new_kind.group, new_kind.version),
        ),
        Rule::new(Bound::Word, &old_kind.group, &new_kind.group),
        Rule::new(Bound::Camel, old_kind.kinds(), new_kind.kinds()),
        Rule::new(Bound::Camel, &old_kind.name, &new_kind.name),
        Rule::new(Bound::Word, &old_kind.plural, &new_kind.plural),
        Rule::new(Bound::Word, old_kind.singular(), new_kind.singular()),
    ];
    let several = |kind: &Kind| snake(&kind.kinds()).replace('_', "-");
    rules.push(Rule::new(Bound::Word, several(old_kind), several(new_kind)));
    rules.push(Rule::new(Bound::Word, old_kind.kebab(), new_kind.kebab()));
    rules.extend(packages(old, new));
    rules
}

/// The package, as cargo and as Rust spell it.
fn packages(old: &Names, new: &Names) -> [Rule; 2] {
    let rust = |name: &str| name.replace('-', "_");
    [
        Rule::new(Bound::Word, &old.package, &new.package),
        Rule::new(Bound::Word, rust(&old.package), rust(&new.package)),
    ]
}

/// A name that would come to mean two things, or nothing.
fn first_clash(words: &BTreeSet<&str>, rules: &[Rule]) -> Option<String> {
    let renamed: BTreeMap<_, _> = words
        .iter()
        .map(|word| (*word, rewrite(word, rules)))
        .filter(|(old, new)| old != new)
        .collect();
    let mut taken: BTreeSet<&str> = words
        .iter()
        .copied()
        .filter(|word| !renamed.contains_key(word))
        .collect();
    let clash = renamed
        .values()
        .find(|new| is_keyword(new) || !taken.insert(new))?;
    Some(clash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Wish;

    fn document() -> Names {
        Names {
            package: "document".to_owned(),
            kind: Some(Kind {
                name: "Document".to_owned(),
                group: "example.com".to_owned(),
                version: "v1".to_owned(),
                plural: "documents".to_owned(),
            }),
        }
    }

    fn names(kind: &str) -> Names {
        Names::choose(Wish {
            name: "op",
            kind: Some(kind),
            group: Some("acme.io"),
            version: Some("v1beta1"),
            plural: None,
        })
        .unwrap()
    }

    fn renamer(kind: &str, code: &str) -> Result<Renamer, String> {
        Renamer::new(&document(), &names(kind), [code].into_iter())
    }

    const SOURCE: &str = r##"//! For Documents: a document of example.com, with documentation.
#[kube(version = "v1", printcolumn = r#"{"name":"document"}"#)]
pub struct DocumentSpec; // the document's 'own' "text"
const MAX_DOCUMENTS: char = '"';
fn documents_of(document: &Document) -> DocumentError { at("documents", "example.com/v1", "v1", document) }
fn a_document_is_told() { format!("{document:?} {{document}} {documents}") }
const KIND: [&str; 3] = ["example.com", "v1", "Document"];
"##;

    #[test]
    fn variables_and_texts_differ() {
        let renamer = renamer("HTTPRoute", SOURCE).unwrap();
        assert_eq!(
            renamer.rust(SOURCE).unwrap(),
            r##"//! For HTTPRoutes: a httproute of acme.io, with documentation.
#[kube(version = "v1beta1", printcolumn = r#"{"name":"httproute"}"#)]
pub struct HTTPRouteSpec; // the httproute's 'own' "text"
const MAX_HTTPROUTES: char = '"';
fn httproutes_of(http_route: &HTTPRoute) -> HTTPRouteError { at("httproutes", "acme.io/v1beta1", "v1", http_route) }
fn a_http_route_is_told() { format!("{http_route:?} {{httproute}} {httproutes}") }
const KIND: [&str; 3] = ["acme.io", "v1beta1", "HTTPRoute"];
"##
        );
        assert_eq!(renamer.path("src/document.rs"), "src/http_route.rs");
        assert_eq!(
            renamer.path("manifests/document.yaml"),
            "manifests/httproute.yaml"
        );
    }

    #[test]
    fn a_keyword_or_a_name_in_use_is_no_variable() {
        for kind in ["Type", "At", "Metadata"] {
            let source = format!("{SOURCE} fn metadata() {{}}");
            let renamer = renamer(kind, &source).unwrap();
            let renamed = renamer.rust(&source).unwrap();
            assert!(renamed.contains("(object: &"), "{kind}: {renamed}");
        }
    }

    #[test]
    fn one_and_several_are_two_variables() {
        let new = Names::choose(Wish {
            name: "op",
            kind: Some("Fish"),
            plural: Some("fish"),
            ..Wish::default()
        });
        let renamer = Renamer::new(&document(), &new.unwrap(), [SOURCE].into_iter()).unwrap();
        let renamed = renamer.rust(SOURCE).unwrap();
        assert!(
            renamed.contains("fn fish_list_of(fish: &Fish) -> FishError { at(\"fish\""),
            "{renamed}"
        );
    }

    #[test]
    fn a_type_in_use_is_no_kind() {
        let error = renamer("Secret", &format!("{SOURCE} struct Secret;")).unwrap_err();
        assert!(error.ends_with("uses Secret: choose --kind MySecret"), "{error}");
        let error = renamer("Access", &format!("{SOURCE} enum AccessError {{}}")).unwrap_err();
        assert!(
            error.ends_with("uses AccessError: choose --kind MyAccess"),
            "{error}"
        );
    }

    #[test]
    fn a_kind_of_several_words_has_dashes_and_underscores() {
        let old = Names {
            package: "namespace-quota".to_owned(),
            kind: Some(Kind {
                name: "NamespaceQuota".to_owned(),
                plural: "namespacequotas".to_owned(),
                ..document().kind.unwrap()
            }),
        };
        let source = "fn namespace_quotas(namespace_quota: NamespaceQuota) { \"namespace-quota of namespacequotas\" } // quota";
        let renamer = Renamer::new(&old, &names("DNS"), [source].into_iter()).unwrap();
        assert_eq!(
            renamer.rust(source).unwrap(),
            "fn dnses(dns: DNS) { \"dns of dnses\" } // quota"
        );
    }

    #[test]
    fn without_a_kind_only_the_package_is_renamed() {
        let janitor = |package: &str| Names {
            package: package.to_owned(),
            kind: None,
        };
        let source = "fn main() { label_janitor::run(\"label-janitor\", \"example.com/clean\") }";
        let renamer =
            Renamer::new(&janitor("label-janitor"), &janitor("my-op"), [source].into_iter()).unwrap();
        assert_eq!(
            renamer.rust(source).unwrap(),
            "fn main() { my_op::run(\"my-op\", \"example.com/clean\") }"
        );
    }

    #[test]
    fn the_example_renamed_to_itself_is_itself() {
        let renamer = Renamer::new(&document(), &document(), [SOURCE].into_iter()).unwrap();
        assert_eq!(renamer.rust(SOURCE).unwrap(), SOURCE);
        assert_eq!(renamer.text(SOURCE), SOURCE);
    }
}
