//! What can be wrong with single values.

use proc_macro2::Span;
use syn::Error;

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

pub(crate) fn not_labels(span: Span) -> Error {
    Error::new(
        span,
        "not a selector of labels: write requirements such as \"app=web\", \"tier in (front, back)\" or \"!legacy\", with commas between them",
    )
}

pub(crate) fn not_fields(span: Span) -> Error {
    Error::new(
        span,
        "not a selector of fields: write \"metadata.name=web\" or \"type!=Opaque\", with commas between them",
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
