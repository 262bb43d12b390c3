//! What can be wrong with the function.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

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
