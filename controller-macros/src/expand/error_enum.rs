//! The error enum, with what thiserror would write, and how each variant is retried.
//!
//! Written here because thiserror's own expansion names `::thiserror`, which a user need not depend on.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Attribute, Fields, Type, TypePath, ext::IdentExt};

use crate::args::{ErrorEnum, Message, Millis, Retry, Variant};

/// The items of an error enum.
pub(crate) fn error_enum(error: &ErrorEnum, p: &TokenStream) -> Vec<TokenStream> {
    let mut items = vec![
        declaration(error, p),
        display(error, p),
        source(error, p),
        retries(error, p),
    ];
    items.extend(
        error
            .variants
            .iter()
            .filter(|variant| variant.from)
            .map(|variant| from(error, variant, p)),
    );
    items
}

fn declaration(error: &ErrorEnum, p: &TokenStream) -> TokenStream {
    let ErrorEnum {
        attributes,
        visibility,
        name,
        variants,
    } = error;
    let debug = (!derives_debug(attributes)).then(|| quote!(#[derive(#p::Debug)]));
    let variants = variants.iter().map(
        |Variant {
             attributes,
             name,
             fields,
             ..
         }| { quote!(#(#attributes)* #name #fields) },
    );
    quote! {
        #(#attributes)*
        #debug
        #visibility enum #name { #(#variants),* }
    }
}

fn derives_debug(attributes: &[Attribute]) -> bool {
    let derives = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"));
    derives.map(ToTokens::to_token_stream).any(mentions_debug)
}

fn mentions_debug(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Debug",
        TokenTree::Group(group) => mentions_debug(group.stream()),
        _ => false,
    })
}

fn display(error: &ErrorEnum, p: &TokenStream) -> TokenStream {
    let name = &error.name;
    let arms = error.variants.iter().map(|variant| match &variant.message {
        Message::Transparent => {
            let (pattern, field) = one(variant, 0);
            arm(variant, &pattern, &quote!(#p::Display::fmt(#field, __formatter)))
        }
        Message::Text { format, shows } => arm(
            variant,
            &pattern(variant, shows),
            &quote!(#p::write!(__formatter, #format)),
        ),
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated, clippy::all, clippy::pedantic)]
        impl #p::Display for #name {
            fn fmt(&self, __formatter: &mut #p::Formatter<'_>) -> #p::FmtResult {
                match *self { #(#arms)* }
            }
        }
    }
}

fn source(error: &ErrorEnum, p: &TokenStream) -> TokenStream {
    let name = &error.name;
    let arms = error.variants.iter().map(|variant| {
        let (index, take) = match (&variant.message, variant.source) {
            (Message::Transparent, _) => (0, quote!(source_of)),
            (_, Some(index)) => (index, quote!(source)),
            (_, None) => return arm(variant, &quote!({ .. }), &quote!(#p::no_source())),
        };
        let (pattern, field) = one(variant, index);
        let field = cause(variant, index, &field, p);
        arm(variant, &pattern, &quote!(#p::#take(#field)))
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated, clippy::all, clippy::pedantic)]
        impl #p::Error for #name {
            fn source(&self) -> #p::Source<'_> {
                match *self { #(#arms)* }
            }
        }
    }
}

/// A field as an error; what is in a box is looked at itself.
fn cause(variant: &Variant, index: usize, field: &Ident, p: &TokenStream) -> TokenStream {
    let Some(ty) = variant.fields.iter().nth(index).map(|field| &field.ty) else {
        return quote!(#field);
    };
    match ty {
        Type::Path(path) if is_boxed(path) => quote!(&**#field),
        _ => quote!(#p::cause::<#ty>(#field)),
    }
}

fn is_boxed(path: &TypePath) -> bool {
    let last = path.path.segments.last();
    last.is_some_and(|last| {
        last.ident == "Box"
            && last
                .arguments
                .to_token_stream()
                .into_iter()
                .any(|token| matches!(token, TokenTree::Ident(word) if word == "dyn"))
    })
}

fn retries(error: &ErrorEnum, p: &TokenStream) -> TokenStream {
    let variants = error
        .variants
        .iter()
        .map(|variant| (cfgs(&variant.attributes), &variant.name, variant.retry));
    reconcile_error(&TokenStream::new(), &error.name.to_token_stream(), variants, p)
}

/// How each variant of an enum is retried, and its name as the reason.
pub(crate) fn reconcile_error<'a>(
    parameters: &TokenStream,
    name: &TokenStream,
    variants: impl Iterator<Item = (Vec<&'a Attribute>, &'a Ident, Retry)> + Clone,
    p: &TokenStream,
) -> TokenStream {
    let retries = variants.clone().map(|(cfgs, variant, retry)| {
        let retry = self::retry(retry, p);
        quote!(#(#cfgs)* Self::#variant { .. } => #retry,)
    });
    let reasons = variants.map(|(cfgs, variant, _)| {
        let reason = variant.unraw().to_string();
        quote!(#(#cfgs)* Self::#variant { .. } => #reason,)
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated, clippy::all, clippy::pedantic)]
        impl #parameters #p::ReconcileError for #name {
            fn retry(&self) -> #p::Retry {
                match *self { #(#retries)* }
            }
            fn reason(&self) -> &#p::str {
                match *self { #(#reasons)* }
            }
        }
    }
}

/// How something is retried.
pub(crate) fn retry(retry: Retry, p: &TokenStream) -> TokenStream {
    match retry {
        Retry::Backoff => quote!(#p::Retry::Backoff),
        Retry::After(Millis { value, .. }) => quote!(#p::retry_after(#value)),
        Retry::Never => quote!(#p::Retry::Never),
    }
}

fn from(error: &ErrorEnum, variant: &Variant, p: &TokenStream) -> TokenStream {
    let (name, variant_name) = (&error.name, &variant.name);
    let cfgs = cfgs(&variant.attributes);
    let ty = variant.fields.iter().map(|field| &field.ty).next();
    let value = if let Fields::Named(fields) = &variant.fields {
        let field = fields.named.iter().map(|field| &field.ident);
        quote!({ #(#field: __source)* })
    } else {
        quote!((__source))
    };
    quote! {
        #(#cfgs)*
        #[automatically_derived]
        #[allow(deprecated)]
        impl #p::From<#ty> for #name {
            fn from(__source: #ty) -> Self { Self::#variant_name #value }
        }
    }
}

fn arm(variant: &Variant, pattern: &TokenStream, value: &TokenStream) -> TokenStream {
    let cfgs = cfgs(&variant.attributes);
    let name = &variant.name;
    quote!(#(#cfgs)* Self::#name #pattern => #value,)
}

fn cfgs(attributes: &[Attribute]) -> Vec<&Attribute> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .collect()
}

/// A pattern that binds one field, and its name.
fn one(variant: &Variant, index: usize) -> (TokenStream, Ident) {
    (pattern(variant, &[index]), format_ident!("_{index}"))
}

/// A pattern that binds these fields, as `_0`, `_1`, …, and no others.
fn pattern(variant: &Variant, shown: &[usize]) -> TokenStream {
    let bound = |index: usize| {
        let name = format_ident!("_{index}");
        shown.contains(&index).then(|| quote!(ref #name))
    };
    match &variant.fields {
        Fields::Named(fields) => {
            let fields = fields.named.iter().map(|field| &field.ident).enumerate();
            let bound = fields.filter_map(|(index, name)| bound(index).map(|bound| quote!(#name: #bound)));
            quote!({ #(#bound,)* .. })
        }
        Fields::Unnamed(fields) => {
            let bound = (0..fields.unnamed.len()).map(|index| bound(index).unwrap_or_else(|| quote!(_)));
            quote!((#(#bound),*))
        }
        Fields::Unit => quote!({ .. }),
    }
}
