//! `error = pub enum Name { … }`: the error type of a controller, declared where it is used.

use quote::ToTokens;
use syn::{
    Attribute, Fields, Generics, Ident, LitStr, Meta, Token, Visibility, braced, parse::ParseStream,
    token::Brace,
};

use super::{Message, Millis, entries, value};
use crate::errors::{self, Errors};

/// An enum to be generated.
pub(crate) struct ErrorEnum {
    /// The user's own attributes.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    pub(crate) variants: Vec<Variant>,
}

/// One variant.
pub(crate) struct Variant {
    /// The user's own attributes.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) name: Ident,
    /// Without our attributes.
    pub(crate) fields: Fields,
    pub(crate) message: Message,
    /// The field that `?` fills.
    pub(crate) from: bool,
    /// The field that caused the error.
    pub(crate) source: Option<usize>,
    pub(crate) retry: Retry,
}

/// What follows an error.
#[derive(Clone, Copy)]
pub(crate) enum Retry {
    /// The key's backoff.
    Backoff,
    /// A fixed wait.
    After(Millis),
    /// Nothing, until the spec changes.
    Never,
}

impl ErrorEnum {
    pub(crate) fn parse(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let Some(token) = entries::next(input) else {
            return Err(errors::not_an_enum(visibility));
        };
        if input.parse::<Option<Token![enum]>>()?.is_none() {
            return Err(errors::not_an_enum(token));
        }
        let name: Ident = input.parse()?;
        let generics: Generics = input.parse()?;
        if !generics.params.is_empty() {
            errors.push(errors::generic_error(&generics));
        }
        if !input.peek(Brace) {
            return Err(errors::no_variants(&name));
        }
        let content;
        braced!(content in input);
        let mut variants = Vec::new();
        let mut given = 0;
        entries::separated(&content, errors, |input, errors| {
            given += 1;
            let variant = input.parse()?;
            variants.push(Variant::check(variant, errors));
            Ok(())
        });
        if given == 0 {
            errors.push(errors::no_variants(&name));
        }
        check_froms(&mut variants, errors);
        Ok(Self {
            attributes,
            visibility,
            name,
            variants,
        })
    }
}

fn check_froms(variants: &mut [Variant], errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    // Two variants that exclude each other by cfg are fine; which do is not known here.
    for variant in variants
        .iter_mut()
        .filter(|variant| variant.from && !has_cfg(&variant.attributes))
    {
        let Some(ty) = variant.fields.iter().next().map(|field| &field.ty) else {
            continue;
        };
        let text = ty.to_token_stream().to_string();
        if seen.contains(&text) {
            errors.push(errors::from_twice(ty));
            variant.from = false;
        }
        seen.push(text);
    }
}

fn has_cfg(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg"))
}

impl Variant {
    /// Reports what is wrong with it. The variant stays in any case: the function's body uses it.
    fn check(mut variant: syn::Variant, errors: &mut Errors) -> Self {
        if let Some((_, number)) = &variant.discriminant {
            errors.push(errors::discriminant(number));
        }
        let (from, source) = links(&mut variant.fields, errors);
        let retry = Retry::take(&mut variant.attrs, errors);
        let message = take(&mut variant.attrs, "error").into_iter().next();
        let message = message.map_or_else(
            || Err(errors::no_message(&variant.ident)),
            |attribute| Message::parse(&attribute, &variant.fields),
        );
        let syn::Variant {
            attrs: attributes,
            ident: name,
            fields,
            ..
        } = variant;
        let message = errors.keep(message).unwrap_or_else(Message::nothing);
        Self {
            attributes,
            name,
            fields,
            message,
            from,
            source,
            retry,
        }
    }
}

/// Takes `#[from]` and `#[source]` off the fields: is there a `from`, and which field is the source.
fn links(fields: &mut Fields, errors: &mut Errors) -> (bool, Option<usize>) {
    let alone = fields.len() == 1;
    let mut from = false;
    let mut source = None;
    for (index, field) in fields.iter_mut().enumerate() {
        if let Some(attribute) = flag(&mut field.attrs, "from", errors) {
            if !alone {
                errors.push(errors::from_fields(&attribute));
            }
            from = true;
            source = Some(index);
        }
        if flag(&mut field.attrs, "source", errors).is_some() {
            source = Some(index);
        }
        if source.is_none() && field.ident.as_ref().is_some_and(|name| name == "source") {
            source = Some(index);
        }
    }
    (from && alone, source)
}

impl Retry {
    /// Takes `#[permanent]` and `#[retry_after = "…"]` off a variant.
    pub(crate) fn take(attributes: &mut Vec<Attribute>, errors: &mut Errors) -> Self {
        let permanent = flag(attributes, "permanent", errors);
        let after = take(attributes, "retry_after").into_iter().next();
        match (permanent, after) {
            (None, None) => Self::Backoff,
            (Some(_), None) => Self::Never,
            (Some(_), Some(after)) => {
                errors.push(errors::permanent_and_retry(after));
                Self::Never
            }
            (None, Some(after)) => match errors.keep(duration(&after)) {
                Some(millis) => Self::After(millis),
                None => Self::Backoff,
            },
        }
    }
}

fn duration(attribute: &Attribute) -> syn::Result<Millis> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return Err(errors::retry_after_form(attribute));
    };
    let literal: LitStr =
        syn::parse2(pair.value.to_token_stream()).map_err(|_| errors::retry_after_form(attribute))?;
    match value::parse_duration(&literal.value()) {
        Some(0) => Err(errors::zero(literal.span(), "retry_after")),
        Some(value) => Ok(Millis {
            value,
            span: literal.span(),
        }),
        None => Err(errors::not_a_duration(literal.span())),
    }
}

/// Takes an attribute without arguments.
fn flag(attributes: &mut Vec<Attribute>, name: &str, errors: &mut Errors) -> Option<Attribute> {
    let attribute = take(attributes, name).into_iter().next()?;
    if !matches!(attribute.meta, Meta::Path(_)) {
        errors.push(errors::flag_attribute(&attribute, name));
    }
    Some(attribute)
}

fn take(attributes: &mut Vec<Attribute>, name: &str) -> Vec<Attribute> {
    attributes
        .extract_if(.., |attribute| attribute.path().is_ident(name))
        .collect()
}
