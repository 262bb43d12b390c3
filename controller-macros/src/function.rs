//! The annotated function, as it was written.
//!
//! Only attributes, visibility and signature are parsed. The body is kept as tokens: it may be half-typed, and it
//! is not ours.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Signature, Visibility,
    parse::{ParseStream, Parser},
};

use crate::errors::{self, Errors};

/// The annotated function, as it was written.
pub(crate) struct Function {
    /// Every token of the item, to be emitted untouched.
    pub(crate) tokens: TokenStream,
    /// What could be read of it.
    pub(crate) head: Option<Head>,
    /// The name, even if the signature could not be read.
    pub(crate) name: Option<Ident>,
    /// It stands in an `impl` or `trait`, where no other item may be added.
    pub(crate) associated: bool,
}

/// A function without its body.
pub(crate) struct Head {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
}

impl Function {
    /// Reads the head of an item; whatever it is, its tokens are kept.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let name = name(&tokens);
        let head = match (head.parse2(tokens.clone()), &name) {
            (Ok(head), _) => Some(head),
            (Err(_), None) => {
                errors.push(errors::not_a_function(&tokens));
                None
            }
            (Err(error), Some(_)) => {
                errors.push(error);
                None
            }
        };
        let associated = head.as_ref().is_some_and(|head| is_associated(&head.signature));
        Self {
            tokens,
            head,
            name,
            associated,
        }
    }

    /// The item without a `const`. It is told; rustc would tell it again, and all that follows from it.
    pub(crate) fn without_const(&self) -> TokenStream {
        let head = self.head.as_ref();
        let mut is_const = head.is_some_and(|head| head.signature.constness.is_some());
        let tokens = self.tokens.clone().into_iter();
        tokens
            .filter(|token| {
                let found = matches!(token, TokenTree::Ident(ident) if ident == "const");
                !(found && std::mem::take(&mut is_const))
            })
            .collect()
    }

    /// Whether the function may be named, and may name, what is deprecated.
    pub(crate) fn bears_deprecated(&self) -> bool {
        let mut attributes = self.head.iter().flat_map(|head| &head.attributes);
        attributes.any(|attribute| {
            let path = attribute.path();
            let lists = path.is_ident("allow") || path.is_ident("expect");
            let named = || {
                attribute
                    .meta
                    .to_token_stream()
                    .to_string()
                    .contains("deprecated")
            };
            path.is_ident("deprecated") || (lists && named())
        })
    }

    /// The `#[cfg]`s that decide whether the function exists, to be repeated on everything beside it.
    pub(crate) fn cfgs(&self) -> TokenStream {
        let attributes = self
            .head
            .as_ref()
            .map(|head| head.attributes.as_slice())
            .unwrap_or_default();
        let cfgs = attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg"));
        cfgs.map(ToTokens::to_token_stream).collect()
    }
}

fn head(input: ParseStream<'_>) -> syn::Result<Head> {
    let head = Head {
        attributes: input.call(Attribute::parse_outer)?,
        visibility: input.parse()?,
        signature: input.parse()?,
    };
    input.parse::<TokenStream>()?;
    Ok(head)
}

/// The identifier after the first `fn` outside of any group.
fn name(tokens: &TokenStream) -> Option<Ident> {
    let mut tokens = tokens.clone().into_iter().skip_while(|token| match token {
        TokenTree::Ident(ident) => ident != "fn",
        _ => true,
    });
    tokens.next()?;
    match tokens.next()? {
        TokenTree::Ident(name) => Some(name),
        _ => None,
    }
}

fn is_associated(signature: &Signature) -> bool {
    signature.receiver().is_some() || mentions_self(signature.to_token_stream())
}

fn mentions_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => group.delimiter() != Delimiter::Brace && mentions_self(group.stream()),
        _ => false,
    })
}
