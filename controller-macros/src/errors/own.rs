//! What can be wrong with an error of the user's: one declared in the attribute, or one that derives.

use proc_macro2::Span;
use quote::ToTokens;
use syn::Error;

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

pub(crate) fn error_union(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "an error is an `enum` or a `struct`")
}

pub(crate) fn reconcile_error_attribute(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "known here is `#[reconcile_error(crate = path::to::controller_runtime)]`",
    )
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
