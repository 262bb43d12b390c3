//! From a model to tokens.
//!
//! What is generated is data and calls, no logic. It names only the user's types and the runtime's `__private`,
//! so that neither a shadowed prelude nor a renamed dependency can change its meaning. Each type of the user's is
//! asked for its bounds at one place, under its own tokens.
//!
//! The reconciler is a type of a block that nobody can name, beside the public one: private contexts and errors
//! may then stand behind a public function.

mod error_enum;
mod wiring;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{GenericParam, Generics, Visibility, spanned::Spanned};

pub(crate) use error_enum::{error_enum, reconcile_error, retry};

use crate::{
    args::Args,
    function::Function,
    model::{self, Model},
};

/// The function untouched, and the controller beside it.
pub(crate) fn controller(function: &Function, model: &Model<'_>) -> TokenStream {
    let p = private(model.args, Span::call_site());
    let cfgs = function.cfgs();
    let error = model
        .args
        .error
        .as_ref()
        .map(|error| error_enum(error, &p))
        .unwrap_or_default();
    let handle = handle(model.type_name, Some(model.visibility), model.generics, &p);
    let reconciler = reconciler(function, model, &p);
    let witnesses = witnesses(model, &p);
    let constructor = constructor(model);
    let function = &function.tokens;
    quote! {
        #function
        #(#cfgs #error)*
        #cfgs #handle
        #cfgs const _: () = {
            #[allow(unused_imports)]
            use #p::{NotShared as _, Surely as _};
            #reconciler
            #(#witnesses)*
            #constructor
        };
    }
}

/// The path to everything that generated code may name.
///
/// Where rustc may have to point at a call of ours, `span` is a token of the user's.
pub(crate) fn private(args: &Args, span: Span) -> TokenStream {
    let krate = model::krate(args, span);
    quote_spanned!(span=> #krate::__private)
}

/// The type that carries `controller`. It has no values: only its name is used.
pub(crate) fn handle(
    name: &Ident,
    visibility: Option<&Visibility>,
    generics: &Generics,
    p: &TokenStream,
) -> TokenStream {
    let (_, _, bounds) = generics.split_for_impl();
    let markers = markers(generics);
    let variant = (!generics.params.is_empty())
        .then(|| quote!(#[doc(hidden)] #[allow(dead_code)] __Never(#p::Never, #(#p::Marker<#markers>),*)));
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, unreachable_pub)]
        #visibility enum #name #generics #bounds { #variant }
    }
}

fn reconciler(function: &Function, model: &Model<'_>, p: &TokenStream) -> TokenStream {
    let Model { generics, object, .. } = model;
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let markers = markers(generics);
    let context = context(model);
    let wiring = wiring::wiring(model, p);
    let deprecated = function.bears_deprecated().then(|| quote!(#[allow(deprecated)]));
    let declaration = quote_spanned! {model.function.span()=>
        struct __Reconciler #generics (#(#p::Marker<#markers>),*) #bounds;
    };
    quote! {
        #declaration

        #[automatically_derived]
        #deprecated
        impl #parameters #p::Reconciler for __Reconciler #arguments #bounds {
            type Object = #object;
            type Context = #context;
            fn wire(__start: #p::Start<Self>) -> #p::Wiring<Self> { #wiring }
        }
    }
}

/// The stores that the function may take.
fn witnesses<'a>(model: &'a Model<'_>, p: &'a TokenStream) -> impl Iterator<Item = TokenStream> + 'a {
    let (parameters, arguments, bounds) = model.generics.split_for_impl();
    model.stores.iter().map(move |relation| {
        let store = relation.kind_type(p);
        quote! {
            #[automatically_derived]
            impl #parameters #p::Declares<#store> for __Reconciler #arguments #bounds {}
        }
    })
}

/// `controller`, under the tokens of the function's name: a wrong context is told there, not at the attribute.
fn constructor(model: &Model<'_>) -> TokenStream {
    let Model {
        type_name,
        visibility,
        generics,
        ..
    } = model;
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let span = model.function.span();
    let p = private(model.args, span);
    let kind = model
        .dynamic
        .then(|| quote_spanned!(span=> __kind: #p::ApiResource,));
    let start = start(model);
    let body = if let Some(context) = model.context {
        quote_spanned! {span=>
            #visibility fn controller<__Context, __Form: 'static>(#kind __context: __Context) -> #p::Declared
            where
                __Context: #p::MakeContext<#context, __Form>,
            {
                #p::controller::<__Reconciler #turbofish, __Context, __Form>(#start, __context)
            }
        }
    } else {
        quote_spanned! {span=>
            #visibility fn controller(#kind) -> #p::Declared {
                #p::controller::<__Reconciler #turbofish, (), _>(#start, ())
            }
        }
    };
    quote! {
        #[automatically_derived]
        #[allow(private_bounds, unreachable_pub, clippy::needless_pass_by_value, clippy::must_use_candidate)]
        impl #parameters #type_name #arguments #bounds {
            #[doc(hidden)]
            #body
        }
    }
}

/// Asks the kind what it is, under its own tokens: a type that is none is told once.
fn start(model: &Model<'_>) -> TokenStream {
    let span = model.object.span();
    let p = private(model.args, span);
    if model.dynamic {
        quote_spanned!(span=> <#p::Start<_>>::of(__kind))
    } else {
        quote_spanned!(span=> <#p::Start<_>>::new())
    }
}

fn context(model: &Model<'_>) -> TokenStream {
    model
        .context
        .map_or_else(|| quote!(()), |context| quote!(#context))
}

/// The type parameters, which must be mentioned somewhere.
fn markers(generics: &Generics) -> Vec<&Ident> {
    let types = generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        _ => None,
    });
    types.collect()
}
