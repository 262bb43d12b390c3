//! Relations: `owns(T, …)`, `watches(T, map(…))`, `references(T, …)`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Expr, Ident, LitStr, Token, Type, parse::ParseStream, token::Paren};

use super::{
    Predicate,
    entries::{self, Entry, Form, Key},
    selector::{FIELDS, LABELS, Selector},
    value,
};
use crate::errors::{self, Errors};

/// A related kind.
pub(crate) struct Relation {
    pub(crate) kind: RelationKind,
    /// Where the item begins.
    pub(crate) span: Span,
    pub(crate) target: Type,
    pub(crate) selector: Selector,
    pub(crate) metadata_only: bool,
    /// Only what a primary names is held whole.
    pub(crate) referenced_only: bool,
    pub(crate) predicates: Vec<Predicate>,
}

/// How a related object finds its primaries.
pub(crate) enum RelationKind {
    Owns,
    Watches(Mapper),
    References(Expr),
}

/// From a related object to primaries.
pub(crate) enum Mapper {
    /// `map(function)`
    Map(Expr),
    /// `try_map(function)`
    TryMap(Expr),
    /// `all`
    All(Span),
}

impl Mapper {
    fn name(&self) -> &'static str {
        match self {
            Self::Map(_) => "map",
            Self::TryMap(_) => "try_map",
            Self::All(_) => "all",
        }
    }
}

impl RelationKind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Owns => "owns",
            Self::Watches(_) => "watches",
            Self::References(_) => "references",
        }
    }
}

const METADATA_ONLY: Key = Key::new("metadata_only", Form::Flag, "metadata_only");
const REFERENCED_ONLY: Key = Key::new("referenced_only", Form::Flag, "referenced_only");
const PREDICATES: Key = Key::new("predicates", Form::List, "predicates(generation)");

const RELATION_KEYS: &[Key] = &[LABELS, FIELDS, METADATA_ONLY, PREDICATES];
const REFERENCES_KEYS: &[Key] = &[LABELS, FIELDS, METADATA_ONLY, REFERENCED_ONLY, PREDICATES];
const WATCHES_KEYS: &[Key] = &[
    Key::new("map", Form::List, "map(|secret| …)"),
    Key::new("try_map", Form::List, "try_map(|secret| …)"),
    Key::new("all", Form::Flag, "all"),
    LABELS,
    FIELDS,
    METADATA_ONLY,
    PREDICATES,
];

impl Relation {
    pub(crate) fn owns(input: ParseStream<'_>, entry: &Entry, errors: &mut Errors) -> syn::Result<Self> {
        let target = target(input, entry)?;
        let mut options = Options::default();
        options.parse(input, RELATION_KEYS, errors);
        Ok(options.relation(RelationKind::Owns, entry.span, target))
    }

    pub(crate) fn watches(input: ParseStream<'_>, entry: &Entry, errors: &mut Errors) -> syn::Result<Self> {
        let target = target(input, entry)?;
        if let Some(token) = entries::next(input)
            && is_bare_mapper(input)
        {
            return Err(errors::bare_mapper(token));
        }
        let mut options = Options::default();
        let before = errors.len();
        options.parse(input, WATCHES_KEYS, errors);
        let mapper = match options.mapper.take() {
            Some(mapper) => mapper,
            None if errors.len() == before => return Err(errors::no_mapper(entry.span)),
            // The mapper may be what is wrong.
            None => Mapper::Map(Expr::PLACEHOLDER),
        };
        Ok(options.relation(RelationKind::Watches(mapper), entry.span, target))
    }

    pub(crate) fn references(
        input: ParseStream<'_>,
        entry: &Entry,
        errors: &mut Errors,
    ) -> syn::Result<Self> {
        let target = target(input, entry)?;
        if input.is_empty() || (input.peek(Ident) && input.peek2(Token![=])) {
            return Err(errors::no_reference(entry.span));
        }
        let function = value::function(input, entry)?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        let mut options = Options::default();
        options.parse(input, REFERENCES_KEYS, errors);
        Ok(options.relation(RelationKind::References(function), entry.span, target))
    }
}

impl Relation {
    /// The type whose changes are told: its metadata, if the watch brings no more.
    pub(crate) fn told_type(&self, p: &TokenStream) -> TokenStream {
        let target = &self.target;
        if self.metadata_only || self.referenced_only {
            quote!(#p::PartialObjectMeta<#target>)
        } else {
            quote!(#target)
        }
    }

    /// The type that is in the store.
    pub(crate) fn kind_type(&self, p: &TokenStream) -> TokenStream {
        let target = &self.target;
        if self.metadata_only {
            quote!(#p::PartialObjectMeta<#target>)
        } else {
            quote!(#target)
        }
    }

    /// Two relations to one kind share its store if this is equal.
    pub(crate) fn selection(&self) -> impl PartialEq + use<> {
        let text = |literal: &Option<LitStr>| literal.as_ref().map(LitStr::value);
        (
            text(&self.selector.labels),
            text(&self.selector.fields),
            self.metadata_only,
            self.referenced_only,
        )
    }
}

/// A closure or a path where an option is expected.
fn is_bare_mapper(input: ParseStream<'_>) -> bool {
    input.peek(Token![|])
        || (input.peek(Ident)
            && !(input.peek2(Paren) || input.peek2(Token![=]))
            && !WATCHES_KEYS
                .iter()
                .any(|key| entries::next(input).is_some_and(|token| token.to_string() == key.name)))
}

/// The kind, and the comma after it.
fn target(input: ParseStream<'_>, entry: &Entry) -> syn::Result<Type> {
    let target = value::ty(input, entry)?;
    if let Some(token) = entries::next(input)
        && input.parse::<Option<Token![,]>>()?.is_none()
    {
        return Err(errors::expected_comma(token));
    }
    Ok(target)
}

/// What may follow the kind of a relation.
#[derive(Default)]
struct Options {
    selector: Selector,
    metadata_only: bool,
    referenced_only: bool,
    predicates: Vec<Predicate>,
    mapper: Option<Mapper>,
}

impl Options {
    fn parse(&mut self, input: ParseStream<'_>, keys: &'static [Key], errors: &mut Errors) {
        entries::parse(input, keys, errors, &mut |entry, input, errors| {
            match entry.key.name {
                "map" | "try_map" | "all" => {
                    if let Some(mapper) = &self.mapper {
                        return Err(errors::contradicts(entry.span, entry.key.name, mapper.name()));
                    }
                    self.mapper = Some(match entry.key.name {
                        "map" => Mapper::Map(value::function(input, entry)?),
                        "try_map" => Mapper::TryMap(value::function(input, entry)?),
                        _ => Mapper::All(entry.span),
                    });
                }
                "metadata_only" | "referenced_only" if self.metadata_only || self.referenced_only => {
                    let other = if self.metadata_only {
                        "metadata_only"
                    } else {
                        "referenced_only"
                    };
                    return Err(errors::contradicts(entry.span, entry.key.name, other));
                }
                "metadata_only" => self.metadata_only = true,
                "referenced_only" => self.referenced_only = true,
                "predicates" => self.predicates = Predicate::list(input, errors),
                _ => self.selector.take(entry, input)?,
            }
            Ok(())
        });
    }

    fn relation(self, kind: RelationKind, span: Span, target: Type) -> Relation {
        let Self {
            selector,
            metadata_only,
            referenced_only,
            predicates,
            ..
        } = self;
        Relation {
            kind,
            span,
            target,
            selector,
            metadata_only,
            referenced_only,
            predicates,
        }
    }
}
