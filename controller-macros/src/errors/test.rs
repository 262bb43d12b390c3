//! What can be wrong with the function of a `#[controller_test]`.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

pub(crate) fn test_not_a_function(item: &TokenStream) -> Error {
    Error::new_spanned(
        item,
        "`#[controller_test]` goes on a test: `async fn what_holds(cluster: Cluster)`",
    )
}

pub(crate) fn test_not_async(token: impl ToTokens) -> Error {
    Error::new_spanned(token, "a controller test is async: write `async fn`")
}

pub(crate) fn test_qualifier(token: impl ToTokens, word: &str) -> Error {
    Error::new_spanned(token, format!("a test cannot be `{word}`: remove it"))
}

pub(crate) fn test_generic(generics: impl ToTokens) -> Error {
    Error::new_spanned(
        generics,
        "nobody could say which types a test is for: remove the parameters, and write the types",
    )
}

pub(crate) fn test_receiver(token: impl ToTokens) -> Error {
    Error::new_spanned(
        token,
        "a test is a free function: move it out of the `impl`, and take the cluster, `cluster: Cluster`",
    )
}

pub(crate) fn test_without_cluster(span: Span) -> Error {
    Error::new(
        span,
        "a controller test takes its cluster: write `cluster: Cluster`",
    )
}

pub(crate) fn test_borrows(ty: impl ToTokens) -> Error {
    Error::new_spanned(ty, "the cluster is taken by value: write `cluster: Cluster`")
}

pub(crate) fn test_takes_more(parameter: impl ToTokens) -> Error {
    Error::new_spanned(
        parameter,
        "a controller test takes its cluster and nothing else: remove this, and make it in the body",
    )
}

pub(crate) fn test_twice(attribute: impl ToTokens) -> Error {
    Error::new_spanned(
        attribute,
        "`#[controller_test]` makes the test and its runtime: remove this",
    )
}
