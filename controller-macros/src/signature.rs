//! The rules for the signature of a reconcile function.
//!
//! `async fn name(object: Arc<Kind>, extractors…) -> Result<Action, Error>`: patterns, generics and where clauses
//! are the user's; everything is owned, and every type has a name.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    FnArg, GenericArgument, GenericParam, Generics, PatType, PathArguments, ReturnType, Safety, Type,
    Visibility,
};

use crate::{
    errors::{self, Errors},
    function::{Function, Head},
};

/// A signature that a controller can be made of.
pub(crate) struct Signature<'a> {
    pub(crate) head: &'a Head,
    pub(crate) visibility: &'a Visibility,
    pub(crate) generics: &'a Generics,
    /// `Kind` of `Arc<Kind>`.
    pub(crate) object: &'a Type,
    /// The types of all other parameters.
    pub(crate) extractors: Vec<&'a Type>,
    pub(crate) output: &'a Type,
}

impl<'a> Signature<'a> {
    /// Reports everything that is wrong, and gives the signature if its parts are there.
    pub(crate) fn check(function: &'a Function, errors: &mut Errors) -> Option<Self> {
        let head = function.head.as_ref()?;
        let signature = &head.signature;
        check_qualifiers(signature, errors);
        check_generics(&signature.generics, errors);
        let parameters = parameters(signature, errors)?;
        let object = object(signature, &parameters, errors);
        let extractors: Vec<&Type> = parameters
            .into_iter()
            .skip(1)
            .map(|parameter| &*parameter.ty)
            .collect();
        for ty in &extractors {
            check_extractor(ty, errors);
        }
        let output = output(signature, errors);
        Some(Self {
            head,
            visibility: &head.visibility,
            generics: &signature.generics,
            object: object?,
            extractors,
            output: output?,
        })
    }
}

fn check_qualifiers(signature: &syn::Signature, errors: &mut Errors) {
    let (constness, function) = (&signature.constness, &signature.fn_token);
    match (&signature.asyncness, constness) {
        (None, _) => errors.push(errors::not_async(quote!(#constness #function))),
        (Some(_), Some(token)) => errors.push(errors::qualifier(token, "const")),
        (Some(_), None) => {}
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.push(errors::qualifier(token, "unsafe"));
    }
    if let Some(abi) = &signature.abi {
        errors.push(errors::qualifier(abi, "extern"));
    }
    if let Some(variadic) = &signature.variadic {
        errors.push(errors::variadic(variadic.dots));
    }
}

fn check_generics(generics: &Generics, errors: &mut Errors) {
    for parameter in &generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            errors.push(errors::lifetime(&lifetime.lifetime));
        }
    }
}

/// All parameters; `None` if the function is a method.
fn parameters<'a>(signature: &'a syn::Signature, errors: &mut Errors) -> Option<Vec<&'a PatType>> {
    if let Some(receiver) = signature.receiver() {
        errors.push(errors::receiver(receiver));
        return None;
    }
    if let Some(token) = find(signature.to_token_stream(), &|token| is_word(token, "Self")) {
        errors.push(errors::self_type(token));
        return None;
    }
    let typed = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(parameter) => Some(parameter),
        FnArg::Receiver(_) => None,
    });
    let parameters: Vec<_> = typed.collect();
    for attribute in parameters.iter().flat_map(|parameter| &parameter.attrs) {
        errors.push(errors::parameter_attribute(attribute));
    }
    Some(parameters)
}

/// `Kind` of the first parameter.
fn object<'a>(
    signature: &syn::Signature,
    parameters: &[&'a PatType],
    errors: &mut Errors,
) -> Option<&'a Type> {
    let Some(first) = parameters.first() else {
        errors.push(errors::no_object(signature.paren_token.span.close()));
        return None;
    };
    let object = shared(&first.ty);
    match object {
        None => errors.push(errors::object_not_shared(&first.ty)),
        Some(object) => check_named(object, errors),
    }
    object
}

fn check_extractor(ty: &Type, errors: &mut Errors) {
    match ty {
        Type::Reference(_) => errors.push(errors::borrowed_parameter(ty)),
        _ => check_named(ty, errors),
    }
}

/// Reports what has no name outside of the signature.
fn check_named(ty: &Type, errors: &mut Errors) {
    let tokens = ty.to_token_stream();
    if find(tokens.clone(), &|token| is_word(token, "impl")).is_some() {
        errors.push(errors::impl_parameter(ty));
    } else if let Some(lifetime) = borrowed(tokens) {
        errors.push(errors::lifetime(lifetime));
    }
}

fn output<'a>(signature: &'a syn::Signature, errors: &mut Errors) -> Option<&'a Type> {
    match &signature.output {
        ReturnType::Default => {
            errors.push(errors::no_return(signature.paren_token.span.close()));
            None
        }
        ReturnType::Type(_, ty) => {
            if find(ty.to_token_stream(), &|token| is_word(token, "impl")).is_some() {
                errors.push(errors::opaque_return(ty));
            }
            Some(ty)
        }
    }
}

/// `T` of a path that ends in `Arc<T>`.
pub(crate) fn shared(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path
        .path
        .segments
        .last()
        .filter(|segment| segment.ident == "Arc")?;
    only_argument(&last.arguments)
}

/// `T` of `<T>`.
pub(crate) fn only_argument(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if arguments.args.len() == 1 => Some(inner),
        _ => None,
    }
}

/// The first lifetime that is not `'static`, or the `&` of a reference without one.
fn borrowed(tokens: TokenStream) -> Option<TokenStream> {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Punct(quote) if quote.as_char() == '\'' => match tokens.next() {
                Some(name) if !is_word(&name, "static") => return Some([token, name].into_iter().collect()),
                _ => {}
            },
            TokenTree::Punct(and) if and.as_char() == '&' => {
                let named = tokens
                    .peek()
                    .is_some_and(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == '\''));
                if !named {
                    return Some(token.into());
                }
            }
            TokenTree::Group(group) => {
                if let Some(found) = borrowed(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

fn find(tokens: TokenStream, wanted: &dyn Fn(&TokenTree) -> bool) -> Option<TokenTree> {
    tokens.into_iter().find_map(|token| match &token {
        TokenTree::Group(group) => find(group.stream(), wanted),
        other => wanted(other).then_some(token),
    })
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}
