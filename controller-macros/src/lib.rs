//! `#[controller]`: a reconcile function becomes a controller.
//!
//! The way of every expansion: **args** and **signature** are parsed, each as far as it can be; the **model**
//! checks what they say together; only the model can be **expand**ed. Whatever is wrong on the way goes into one
//! accumulator and is reported at once, and then the **fallback** stands in for the expansion, in the same shape,
//! so that nothing else becomes an error.
//!
//! The function itself is passed through token by token, and its body is never parsed: a half-typed body must not
//! take the function away from an editor.
//!
//! The documentation for users stands on the re-export in `controller-runtime`, where its examples compile.

mod args;
mod controller_test;
mod errors;
mod expand;
mod fallback;
mod function;
mod model;
mod reconcile_error;
mod signature;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;

use crate::{args::Args, errors::Errors, function::Function, model::Model, signature::Signature};

/// Makes a controller of a reconcile function. Documented at `controller_runtime::controller`.
#[proc_macro_attribute]
pub fn controller(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    controller_tokens(attribute.into(), item.into()).into()
}

/// Makes a test of a function that takes a cluster. Documented at `controller_runtime::controller_test`.
#[proc_macro_attribute]
pub fn controller_test(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    controller_test::expand(attribute.into(), &item.into()).into()
}

/// Says how a user's own error is tried again. Documented at `controller_runtime::ReconcileError`.
#[proc_macro_derive(ReconcileError, attributes(permanent, retry_after, reconcile_error))]
pub fn reconcile_error(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    reconcile_error::derive(input.into()).into()
}

fn controller_tokens(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let function = Function::parse(item, &mut errors);
    let args = Args::parse(attribute, &mut errors);
    let signature = Signature::check(&function, &mut errors);
    let model = Model::check(&args, signature, &mut errors);
    match errors.finish(model) {
        Ok(model) => expand::controller(&function, &model),
        Err(diagnostics) => fallback::controller(&function, &args, &diagnostics),
    }
}
