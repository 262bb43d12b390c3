//! Predicates: `generation`, a path to a function, and their combinations.

use proc_macro2::TokenTree;
use syn::{Ident, Path, parenthesized, parse::ParseStream, token::Paren};

use super::entries;
use crate::errors::{self, Errors};

const WORDS: &[&str] = &[
    "generation",
    "labels",
    "annotations",
    "finalizers",
    "resource_version",
];

/// Which changes pass.
pub(crate) enum Predicate {
    /// One that the runtime brings.
    Word(Ident),
    /// A function of the user's.
    Function(Path),
    All(Vec<Predicate>),
    Any(Vec<Predicate>),
    Not(Box<Predicate>),
}

impl Predicate {
    /// A list to its end.
    pub(crate) fn list(input: ParseStream<'_>, errors: &mut Errors) -> Vec<Self> {
        let mut list = Vec::new();
        entries::separated(input, errors, |input, errors| {
            list.extend(Self::parse(input, errors)?);
            Ok(())
        });
        list
    }

    /// One predicate; `None` if the mistake is in its inside and reported already.
    fn parse(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Option<Self>> {
        let Some(token) = entries::next(input) else {
            return Ok(None);
        };
        let path = Path::parse_mod_style(input).map_err(|_| errors::expected_predicate(token.clone()))?;
        let word = path.get_ident().cloned();
        if !input.peek(Paren) {
            return Ok(Some(match word {
                Some(word) if WORDS.iter().any(|known| word == known) => Self::Word(word),
                _ => Self::Function(path),
            }));
        }
        let content;
        parenthesized!(content in input);
        let Some(word) = word else {
            entries::close(&content, Err(errors::expected_predicate(path)))?;
            return Ok(None);
        };
        let list = Self::list(&content, errors);
        Self::combined(&word, list, &token)
    }

    fn combined(word: &Ident, mut list: Vec<Self>, token: &TokenTree) -> syn::Result<Option<Self>> {
        let text = word.to_string();
        let span = word.span();
        match text.as_str() {
            "all" | "any" | "not" if list.is_empty() => Err(errors::no_predicate(span, &text)),
            "all" => Ok(Some(Self::All(list))),
            "any" => Ok(Some(Self::Any(list))),
            "not" => match (list.pop(), list.is_empty()) {
                (Some(one), true) => Ok(Some(Self::Not(Box::new(one)))),
                _ => Err(errors::not_one(span)),
            },
            known if WORDS.contains(&known) => Err(errors::word_as_function(span, known)),
            _ => Err(errors::expected_predicate(token)),
        }
    }

    /// The predicate as it was written.
    pub(crate) fn text(&self) -> String {
        let list = |list: &[Self]| list.iter().map(Self::text).collect::<Vec<_>>().join(", ");
        match self {
            Self::Word(word) => word.to_string(),
            Self::Function(path) => {
                let segments: Vec<_> = path
                    .segments
                    .iter()
                    .map(|segment| segment.ident.to_string())
                    .collect();
                segments.join("::")
            }
            Self::All(inner) => format!("all({})", list(inner)),
            Self::Any(inner) => format!("any({})", list(inner)),
            Self::Not(inner) => format!("not({})", inner.text()),
        }
    }
}
