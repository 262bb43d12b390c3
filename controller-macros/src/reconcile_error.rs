//! `#[derive(ReconcileError)]`: how a user's own error is tried again.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Ident, Path, parse_quote_spanned};

use crate::{
    args::Retry,
    errors::{self, Errors},
    expand,
};

/// One `Retry` and one reason for each variant, or for the whole of a structure.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let input = errors.keep(syn::parse2::<DeriveInput>(input));
    let tokens = input.and_then(|mut input| {
        let krate = krate(&input.attrs, &mut errors);
        let shape = shape(&mut input, &mut errors)?;
        let p = quote!(#krate::__private);
        Some(match shape {
            Shape::Enum(variants) => of_enum(&input, &variants, &p),
            Shape::Struct => of_struct(&mut input, &p, &mut errors),
        })
    });
    match errors.finish(tokens) {
        Ok(tokens) => tokens,
        Err(diagnostics) => quote!(#diagnostics),
    }
}

type Variants = Vec<(Vec<Attribute>, Ident, Retry)>;

/// What the derive is on.
enum Shape {
    /// One kind of error.
    Struct,
    /// A kind for each variant.
    Enum(Variants),
}

/// `None` where an error was reported.
fn shape(input: &mut DeriveInput, errors: &mut Errors) -> Option<Shape> {
    match &mut input.data {
        Data::Struct(_) => Some(Shape::Struct),
        Data::Union(union) => {
            errors.push(errors::error_union(union.union_token));
            None
        }
        Data::Enum(data) => {
            let variants = data.variants.iter_mut().map(|variant| {
                let retry = Retry::take(&mut variant.attrs, errors);
                let cfgs = variant
                    .attrs
                    .iter()
                    .filter(|attribute| attribute.path().is_ident("cfg"));
                (cfgs.cloned().collect(), variant.ident.clone(), retry)
            });
            Some(Shape::Enum(variants.collect()))
        }
    }
}

fn of_enum(input: &DeriveInput, variants: &Variants, p: &TokenStream) -> TokenStream {
    let (parameters, arguments, bounds) = input.generics.split_for_impl();
    let name = &input.ident;
    let variants = variants
        .iter()
        .map(|(cfgs, name, retry)| (cfgs.iter().collect(), name, *retry));
    expand::reconcile_error(
        &quote!(#parameters),
        &quote!(#name #arguments #bounds),
        variants,
        p,
    )
}

fn of_struct(input: &mut DeriveInput, p: &TokenStream, errors: &mut Errors) -> TokenStream {
    let retry = expand::retry(Retry::take(&mut input.attrs, errors), p);
    let (parameters, arguments, bounds) = input.generics.split_for_impl();
    let name = &input.ident;
    let reason = name.to_string();
    quote! {
        #[automatically_derived]
        impl #parameters #p::ReconcileError for #name #arguments #bounds {
            fn retry(&self) -> #p::Retry { #retry }
            fn reason(&self) -> &#p::str { #reason }
        }
    }
}

/// `#[reconcile_error(crate = path)]`
fn krate(attributes: &[Attribute], errors: &mut Errors) -> Path {
    let mut krate = None;
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("reconcile_error"))
    {
        let parsed = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                krate = Some(meta.value()?.parse()?);
                Ok(())
            } else {
                Err(errors::reconcile_error_attribute(&meta.path))
            }
        });
        errors.keep(parsed);
    }
    krate.unwrap_or_else(|| parse_quote_spanned!(Span::call_site()=> ::controller_runtime))
}
