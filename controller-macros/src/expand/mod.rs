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

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{GenericParam, Generics, Path, Visibility};

pub(crate) use error_enum::error_enum;

use crate::{function::Function, model::Model};

/// The function untouched, and the controller beside it.
pub(crate) fn controller(function: &Function, model: &Model<'_>) -> TokenStream {
    let p = private(&model.krate);
    let cfgs = function.cfgs();
    let error = model
        .args
        .error
        .as_ref()
        .map(|error| error_enum(error, &p))
        .unwrap_or_default();
    let handle = handle(model.type_name, Some(model.visibility), model.generics, &p);
    let reconciler = reconciler(model, &p);
    let witnesses = witnesses(model, &p);
    let constructor = constructor(model, &p);
    let function = &function.tokens;
    quote! {
        #function
        #(#cfgs #error)*
        #cfgs #handle
        #cfgs const _: () = {
            #reconciler
            #(#witnesses)*
            #constructor
        };
    }
}

/// The path to everything that generated code may name.
pub(crate) fn private(krate: &Path) -> TokenStream {
    quote!(#krate::__private)
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

fn reconciler(model: &Model<'_>, p: &TokenStream) -> TokenStream {
    let Model {
        generics,
        object,
        output,
        ..
    } = model;
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let markers = markers(generics);
    let context = context(model);
    let wiring = wiring::wiring(model, p);
    quote! {
        struct __Reconciler #generics (#(#p::Marker<#markers>),*) #bounds;

        #[automatically_derived]
        #[allow(deprecated)]
        impl #parameters #p::Reconciler for __Reconciler #arguments #bounds {
            type Object = #object;
            type Context = #context;
            type Error = <#output as #p::Outcome>::Error;
            fn wire(__kind: #p::Kind<Self>) -> #p::Wiring<Self> { #wiring }
        }
    }
}

/// The stores that the function may take.
fn witnesses<'a>(model: &'a Model<'_>, p: &'a TokenStream) -> impl Iterator<Item = TokenStream> + 'a {
    let (parameters, arguments, bounds) = model.generics.split_for_impl();
    model.stores.iter().map(move |store| {
        quote! {
            #[automatically_derived]
            impl #parameters #p::Declares<#store> for __Reconciler #arguments #bounds {}
        }
    })
}

fn constructor(model: &Model<'_>, p: &TokenStream) -> TokenStream {
    let Model {
        type_name,
        visibility,
        generics,
        ..
    } = model;
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let body = if let Some(context) = model.context {
        quote! {
            #visibility fn controller<__Context, __Form: 'static>(context: __Context) -> #p::Declared
            where
                __Context: #p::MakeContext<#context, __Form>,
            {
                #p::controller::<__Reconciler #turbofish, __Context, __Form>(context)
            }
        }
    } else {
        quote! {
            #visibility fn controller() -> #p::Declared {
                #p::controller::<__Reconciler #turbofish, (), _>(())
            }
        }
    };
    quote! {
        #[automatically_derived]
        #[allow(private_bounds, unreachable_pub)]
        impl #parameters #type_name #arguments #bounds { #body }
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
