//! Everything that can be wrong, each with its words, and the accumulator that lets no mistake hide another.
//!
//! A text says what is wrong at the very token, and what to write instead.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

use crate::args::Key;

/// Collects errors. It must be finished: dropping it unfinished is a bug of this crate.
#[derive(Debug)]
pub(crate) struct Errors {
    /// `None` once finished.
    found: Option<Vec<Error>>,
}

impl Errors {
    pub(crate) fn new() -> Self {
        Self {
            found: Some(Vec::new()),
        }
    }

    pub(crate) fn push(&mut self, error: Error) {
        if let Some(found) = &mut self.found {
            found.push(error);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.found.as_ref().map_or(0, Vec::len)
    }

    /// Keeps a value, or the error that stands in its place.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The value if nothing was wrong, or everything that was, in the order of the source.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Result<T, Diagnostics> {
        let found = self.found.take().unwrap_or_default();
        match value {
            Some(value) if found.is_empty() => Ok(value),
            _ => {
                debug_assert!(!found.is_empty(), "a value is missing without an error");
                Err(Diagnostics(found))
            }
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.found.is_none(), "errors were collected but not reported");
        }
    }
}

/// The errors of one expansion.
#[derive(Debug)]
pub(crate) struct Diagnostics(Vec<Error>);

impl ToTokens for Diagnostics {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.iter().map(Error::to_compile_error));
    }
}

// The function.

pub(crate) fn not_a_function(item: &TokenStream) -> Error {
    Error::new_spanned(
        item,
        "`#[controller]` goes on the reconcile function: `async fn reconcile(object: Arc<Kind>, …) -> Result<Action, Error>`",
    )
}

pub(crate) fn not_async(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "a reconcile function is async: write `async fn`")
}

pub(crate) fn qualifier(token: impl ToTokens, word: &str) -> Error {
    Error::new_spanned(
        token,
        format!("a reconcile function cannot be `{word}`: remove it"),
    )
}

pub(crate) fn receiver(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "a controller is made of a free function: move it out of the `impl`, and take what `self` holds from the context, `ctx: Arc<Context>`",
    )
}

pub(crate) fn self_type(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "a controller is made of a free function: move it out of the `impl`, and write the type instead of `Self`",
    )
}

pub(crate) fn variadic(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "a reconcile function cannot be variadic: remove `...`")
}

pub(crate) fn lifetime(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "a reconcile runs on its own and borrows from nobody: remove the lifetime and take owned parameters, such as `Arc<Context>`",
    )
}

pub(crate) fn no_object(span: Span) -> Error {
    Error::new(
        span,
        "the first parameter is the object to reconcile: `object: Arc<Kind>`",
    )
}

pub(crate) fn object_not_shared(ty: impl ToTokens) -> Error {
    let written = ty.to_token_stream();
    let inner = written.to_string().replace(['&', ' '], "");
    Error::new_spanned(
        ty,
        format!("the object comes from the store and is shared: write `Arc<{inner}>`"),
    )
}

pub(crate) fn borrowed_parameter(ty: impl ToTokens) -> Error {
    Error::new_spanned(
        ty,
        "parameters are owned: take `Arc<Context>`, `Client`, `Store<Kind>`, `Children`, `Recorder`, `Status` or `Attempt` by value",
    )
}

pub(crate) fn impl_parameter(ty: impl ToTokens) -> Error {
    Error::new_spanned(
        ty,
        "the type of a parameter must have a name here: write the type, or a type parameter `fn reconcile<T: Bound>(…)`",
    )
}

pub(crate) fn parameter_attribute(attribute: impl ToTokens) -> Error {
    Error::new_spanned(
        attribute,
        "attributes on single parameters are not supported: put it on the function, and write one function per variant",
    )
}

pub(crate) fn second_context(ty: impl ToTokens) -> Error {
    Error::new_spanned(
        ty,
        "a controller has one context: put both into one type, or implement `FromReconcile` for a type of yours that reads it",
    )
}

pub(crate) fn no_return(span: Span) -> Error {
    Error::new(
        span,
        "a reconcile function says when it runs next: add `-> Result<Action, Error>`",
    )
}

pub(crate) fn opaque_return(ty: impl ToTokens) -> Error {
    Error::new_spanned(
        ty,
        "the result must have a name here: write `Result<Action, Error>`",
    )
}

// The list of items.

pub(crate) fn expected_item(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "expected an item such as `owns(ConfigMap)` or `name = \"documents\"`",
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

// Values.

pub(crate) fn not_a_name(span: Span) -> Error {
    Error::new(
        span,
        "not a name that Kubernetes takes: use lower case letters, digits, `-` and `.`, begin and end with a letter or digit, at most 63 characters",
    )
}

pub(crate) fn empty_selector(span: Span, key: &str) -> Error {
    Error::new(
        span,
        format!("an empty selector selects everything: remove `{key}`"),
    )
}

pub(crate) fn not_a_duration(span: Span) -> Error {
    Error::new(
        span,
        "not a duration: write a number and a unit, as \"500ms\", \"30s\", \"5m\", \"1h30m\"",
    )
}

pub(crate) fn zero(span: Span, key: &str) -> Error {
    Error::new(
        span,
        format!("`{key}` cannot be zero: give a duration, or remove it"),
    )
}

pub(crate) fn not_a_count(span: Span) -> Error {
    Error::new(
        span,
        "not a number of reconciles: write a whole number such as `16`; `0` is no limit",
    )
}

pub(crate) fn factor_range(span: Span) -> Error {
    Error::new(
        span,
        "each wait is at least as long as the one before: write a factor from 1.0 to 100.0",
    )
}

pub(crate) fn jitter_range(span: Span) -> Error {
    Error::new(
        span,
        "the random part of a wait is from 0.0 (none) to 1.0 (all of it)",
    )
}

pub(crate) fn initial_over_max(span: Span) -> Error {
    Error::new(
        span,
        "the first wait is longer than the longest: make `initial` at most `max`",
    )
}

// Relations and predicates.

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
        "this kind is watched with two different selections, so its `Store` is ambiguous: give both relations the same selectors",
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

// Rules.

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

// The error enum.

pub(crate) fn not_an_enum(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "`error` declares the error type: `error = enum Name { … }`; a type that exists already is simply named in the function's result",
    )
}

pub(crate) fn generic_error(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "an error enum made here has no parameters: remove them")
}

pub(crate) fn no_variants(name: &syn::Ident) -> Error {
    Error::new(
        name.span(),
        "an error without variants can never be returned: add one",
    )
}

pub(crate) fn no_message(variant: &syn::Ident) -> Error {
    Error::new(
        variant.span(),
        "what does a person read? add `#[error(\"…\")]`, with fields in braces: `{0}` or `{name}`",
    )
}

pub(crate) fn not_a_message(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "expected one text, with fields in braces: `#[error(\"invalid spec: {0}\")]`, or `#[error(transparent)]`",
    )
}

pub(crate) fn message_field(span: Span, field: &str) -> Error {
    Error::new(span, format!("`{{{field}}}` is no field of this variant"))
}

pub(crate) fn message_braces(span: Span) -> Error {
    Error::new(
        span,
        "a brace without its partner: write `{{` or `}}` for a brace that a person reads",
    )
}

pub(crate) fn transparent_fields(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "`transparent` passes on one field: give the variant exactly one",
    )
}

pub(crate) fn from_fields(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "`#[from]` makes the variant of one value: it must be the only field",
    )
}

pub(crate) fn from_twice(ty: impl ToTokens) -> Error {
    let name = ty.to_token_stream().to_string().replace(' ', "");
    Error::new_spanned(
        ty,
        format!("two variants are `#[from] {name}`: `?` could not choose; use `#[source]` on one of them"),
    )
}

pub(crate) fn permanent_and_retry(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "a permanent error is not tried again: keep `#[permanent]` or `#[retry_after = \"…\"]`",
    )
}

pub(crate) fn flag_attribute(token: impl ToTokens, word: &str) -> Error {
    Error::new_spanned(token, format!("`{word}` takes nothing: write `#[{word}]`"))
}

pub(crate) fn retry_after_form(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "when is it tried again? write `#[retry_after = \"30s\"]`")
}

pub(crate) fn discriminant(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "an error has no number: remove the discriminant")
}

pub(crate) fn name_taken(name: &syn::Ident) -> Error {
    Error::new(
        name.span(),
        format!("`{name}` is the name of the controller's type already: choose another"),
    )
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
