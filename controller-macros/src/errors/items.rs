//! What can be wrong with the list of items, relations, predicates and rules.

use proc_macro2::Span;
use quote::ToTokens;
use syn::Error;

use crate::args::Key;

pub(crate) fn expected_item(token: impl ToTokens, keys: &[Key]) -> Error {
    let examples: Vec<_> = keys
        .iter()
        .take(2)
        .map(|key| format!("`{}`", key.example))
        .collect();
    Error::new_spanned(
        token,
        format!("expected an item such as {}", examples.join(" or ")),
    )
}

pub(crate) fn attribute_on_item(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "single items cannot have attributes: write the whole attribute once for each variant, `#[cfg_attr(feature = \"secrets\", controller(…))]`",
    )
}

pub(crate) fn expected_comma(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "items are separated by commas: write `,` before this")
}

pub(crate) fn unknown(key: &syn::Ident, keys: &[Key]) -> Error {
    let text = match nearest(&key.to_string(), keys) {
        Some(near) => format!("unknown item `{key}`; did you mean `{}`?", near.example),
        None => format!("unknown item `{key}`; known here are {}", names(keys)),
    };
    Error::new(key.span(), text)
}

pub(crate) fn wrong_form(span: Span, key: &Key) -> Error {
    Error::new(span, format!("`{}` is written `{}`", key.name, key.example))
}

pub(crate) fn twice(span: Span, key: &str) -> Error {
    Error::new(span, format!("`{key}` is given twice: keep one of them"))
}

pub(crate) fn contradicts(span: Span, key: &str, other: &str) -> Error {
    Error::new(span, format!("`{key}` contradicts `{other}`: keep one of them"))
}

pub(crate) fn scope_is_known(span: Span, key: &str) -> Error {
    Error::new(
        span,
        format!(
            "`{key}` is for kinds that are known at run time, `DynamicObject`; the scope of this one is known by its type: remove it"
        ),
    )
}

pub(crate) fn metadata_of_primary(span: Span) -> Error {
    Error::new(
        span,
        "to reconcile by metadata only, say so in the type: write `object: Arc<PartialObjectMeta<Kind>>` and remove this",
    )
}

pub(crate) fn unexpected(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "unexpected here: remove it")
}

pub(crate) fn empty(span: Span, key: &Key) -> Error {
    Error::new(
        span,
        format!(
            "`{}` says nothing: write `{}`, or remove it",
            key.name, key.example
        ),
    )
}

pub(crate) fn no_mapper(span: Span) -> Error {
    Error::new(
        span,
        "`watches` must say which objects a change wakes: write `watches(Secret, map(|secret| …))` with a function to `ObjectRef`s of the primary",
    )
}

pub(crate) fn bare_mapper(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "a mapper is written in `map(…)`: `watches(Secret, map(mapper))`",
    )
}

pub(crate) fn no_reference(span: Span) -> Error {
    Error::new(
        span,
        "`references` must say which names the object holds: write `references(Secret, |object| object.spec.secret_name.clone())`",
    )
}

pub(crate) fn related_twice(ty: impl ToTokens, key: &str) -> Error {
    let name = ty.to_token_stream().to_string().replace(' ', "");
    Error::new_spanned(ty, format!("`{key}({name})` is given twice: keep one of them"))
}

pub(crate) fn ambiguous_store(ty: impl ToTokens) -> Error {
    Error::new_spanned(
        ty,
        "this kind is watched with two different selections, so its `Store` is ambiguous: give both relations the same selectors and options",
    )
}

pub(crate) fn parameter_beside(ty: impl ToTokens, other: impl ToTokens) -> Error {
    let name = |ty: &dyn ToTokens| ty.to_token_stream().to_string().replace(' ', "");
    let (parameter, other) = (name(&ty), name(&other));
    Error::new_spanned(
        ty,
        format!(
            "`{parameter}` may stand for `{other}`, and their stores could not be told apart: write a function for each kind, or take `metadata_only` of `{parameter}`"
        ),
    )
}

pub(crate) fn expected_predicate(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "expected a predicate: `generation`, `labels`, `annotations`, `finalizers`, `resource_version`, `all(…)`, `any(…)`, `not(…)`, or a path to a function",
    )
}

pub(crate) fn not_one(span: Span) -> Error {
    Error::new(span, "`not` turns one predicate around: write `not(generation)`")
}

pub(crate) fn no_predicate(span: Span, word: &str) -> Error {
    Error::new(
        span,
        format!("`{word}()` holds no predicate: write one into it, or remove it"),
    )
}

pub(crate) fn word_as_function(span: Span, word: &str) -> Error {
    Error::new(span, format!("`{word}` takes nothing: write `{word}`"))
}

pub(crate) fn not_a_rule(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "expected a rule: `\"apps/deployments\": get list`")
}

pub(crate) fn not_a_resource(span: Span) -> Error {
    Error::new(
        span,
        "a resource is written with its group: \"apps/deployments\", \"core/pods\", \"core/pods/log\"",
    )
}

pub(crate) fn not_a_verb(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "not a verb: use get, list, watch, create, update, patch, delete, deletecollection, impersonate, bind, escalate, approve, sign or use",
    )
}

pub(crate) fn no_verb(span: Span) -> Error {
    Error::new(span, "which verbs? write `\"apps/deployments\": get list`")
}

/// The key that a person most likely meant.
fn nearest<'a>(word: &str, keys: &'a [Key]) -> Option<&'a Key> {
    let distance = |key: &&Key| edit_distance(word, key.name);
    keys.iter()
        .min_by_key(distance)
        .filter(|key| distance(key) <= 2.min(word.len().saturating_sub(1)))
}

fn names(keys: &[Key]) -> String {
    let quoted: Vec<_> = keys.iter().map(|key| format!("`{}`", key.name)).collect();
    quoted.join(", ")
}

/// Insertions, deletions and replacements between two words.
fn edit_distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.chars().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
