//! What stands in for an expansion when something is wrong.
//!
//! The function untouched, the error enum as far as it could be read, and a type of the right name with a
//! `controller` that takes anything: nothing but the mistakes themselves becomes an error.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{FnArg, Generics};

use crate::{args::Args, errors::Diagnostics, expand, function::Function, signature::shared};

/// The same shape, and the errors.
pub(crate) fn controller(function: &Function, args: &Args, diagnostics: &Diagnostics) -> TokenStream {
    let stub = stub(function, args);
    let function = function.without_const();
    quote! {
        #function
        #stub
        #diagnostics
    }
}

fn stub(function: &Function, args: &Args) -> Option<TokenStream> {
    // No other item may stand in an `impl`.
    if function.associated {
        return None;
    }
    let name = args.alias.as_ref().or(function.name.as_ref())?;
    let head = function.head.as_ref();
    let p = expand::private(args, Span::call_site());
    let cfgs = function.cfgs();
    let error = args
        .error
        .as_ref()
        .map(|error| expand::error_enum(error, &p))
        .unwrap_or_default();
    let visibility = head.map(|head| &head.visibility);
    let generics = head
        .map(|head| head.signature.generics.clone())
        .unwrap_or_default();
    // A lifetime is one of the mistakes.
    let generics = if generics.lifetimes().next().is_some() {
        Generics::default()
    } else {
        generics
    };
    let taken = args.error.as_ref().is_some_and(|error| error.name == *name);
    let handle = (!taken).then(|| expand::handle(name, visibility, &generics, &p));
    let uses = generics.params.is_empty().then(|| uses(args, &p));
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let takes = takes_context(function, args).then(|| quote!(_: impl #p::Sized));
    Some(quote! {
        #(#cfgs #error)*
        #cfgs #handle
        #cfgs #uses
        #cfgs
        #[allow(dead_code)]
        impl #parameters #name #arguments #bounds {
            #visibility fn controller(#takes) -> #p::Declared { #p::Declared::broken() }
        }
    })
}

/// What the attribute mentions stays used, so that no import is called needless.
fn uses(args: &Args, p: &TokenStream) -> TokenStream {
    let mentioned = &args.mentioned;
    quote! {
        const _: () = {
            #[allow(dead_code)]
            type __Mentioned = (#(#p::Marker<#mentioned>,)*);
        };
    }
}

/// Whether `controller` would take a context.
fn takes_context(function: &Function, args: &Args) -> bool {
    let Some(head) = &function.head else { return true };
    let mut extractors = head.signature.inputs.iter().skip(1);
    args.context.is_some()
        || extractors.any(|input| matches!(input, FnArg::Typed(typed) if shared(&typed.ty).is_some()))
}
