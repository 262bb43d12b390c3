//! Lists of items with a key: `name = "…"`, `owns(…)`, `cluster`.
//!
//! One table says which keys there are and in which form; the form is checked here, for all of them.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::{Ident, Token, ext::IdentExt, parenthesized, parse::ParseStream, token::Paren};

use crate::errors::{self, Errors};

/// A key that a list knows.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// How it is written, for a person.
    pub(crate) example: &'static str,
    /// It may be given more than once.
    repeats: bool,
}

/// How a key takes its value.
#[derive(Debug)]
pub(crate) enum Form {
    /// `key = value`
    Value,
    /// `key(…)`
    List,
    /// `key`
    Flag,
}

impl Key {
    pub(crate) const fn new(name: &'static str, form: Form, example: &'static str) -> Self {
        Self {
            name,
            form,
            example,
            repeats: false,
        }
    }

    pub(crate) const fn often(mut self) -> Self {
        self.repeats = true;
        self
    }
}

/// A key as it was given.
pub(crate) struct Entry {
    pub(crate) key: &'static Key,
    pub(crate) span: Span,
}

type Take<'a> = dyn FnMut(&Entry, ParseStream<'_>, &mut Errors) -> syn::Result<()> + 'a;

/// Reads a list to its end; a mistake costs one item.
pub(crate) fn parse(input: ParseStream<'_>, keys: &'static [Key], errors: &mut Errors, take: &mut Take<'_>) {
    let mut seen = Vec::new();
    separated(input, errors, |input, errors| {
        entry(input, keys, &mut seen, errors, take)
    });
}

/// Calls `item` for each element of a list separated by commas; after a mistake goes on at the next comma.
pub(crate) fn separated(
    input: ParseStream<'_>,
    errors: &mut Errors,
    mut item: impl FnMut(ParseStream<'_>, &mut Errors) -> syn::Result<()>,
) {
    while !input.is_empty() {
        let mut result = item(input, errors);
        if result.is_ok()
            && let Some(token) = next(input)
            && !input.peek(Token![,])
        {
            result = Err(errors::expected_comma(token));
        }
        if let Err(error) = result {
            errors.push(error);
            skip_item(input);
        }
        // Only a comma or the end is left here.
        let _ = input.parse::<Option<Token![,]>>();
    }
}

fn entry(
    input: ParseStream<'_>,
    keys: &'static [Key],
    seen: &mut Vec<&'static str>,
    errors: &mut Errors,
    take: &mut Take<'_>,
) -> syn::Result<()> {
    let ident = match next(input) {
        Some(TokenTree::Ident(_)) => input.call(Ident::parse_any)?,
        Some(TokenTree::Punct(hash)) if hash.as_char() == '#' => return Err(errors::attribute_on_item(hash)),
        Some(token) => return Err(errors::expected_item(token, keys)),
        None => return Ok(()),
    };
    let Some(key) = keys.iter().find(|key| ident == key.name) else {
        return Err(errors::unknown(&ident, keys));
    };
    let entry = Entry {
        key,
        span: ident.span(),
    };
    if seen.contains(&key.name) && !key.repeats {
        return Err(errors::twice(entry.span, key.name));
    }
    seen.push(key.name);
    match key.form {
        Form::Value => {
            if input.parse::<Option<Token![=]>>()?.is_none() || input.is_empty() || input.peek(Token![,]) {
                return Err(errors::wrong_form(entry.span, key));
            }
            take(&entry, input, errors)
        }
        Form::List => {
            if !input.peek(Paren) {
                return Err(errors::wrong_form(entry.span, key));
            }
            let content;
            parenthesized!(content in input);
            if content.is_empty() {
                return Err(errors::empty(entry.span, key));
            }
            let result = take(&entry, &content, errors);
            close(&content, result)
        }
        Form::Flag => match next(input) {
            Some(_) if !input.peek(Token![,]) => Err(errors::wrong_form(entry.span, key)),
            _ => take(&entry, input, errors),
        },
    }
}

/// Empties a group; what is left in it is a mistake, unless there was one before.
pub(crate) fn close(content: ParseStream<'_>, result: syn::Result<()>) -> syn::Result<()> {
    let rest: TokenStream = content.parse()?;
    result?;
    match rest.into_iter().next() {
        Some(token) => Err(errors::unexpected(token)),
        None => Ok(()),
    }
}

/// The next token, without taking it.
pub(crate) fn next(input: ParseStream<'_>) -> Option<TokenTree> {
    input.cursor().token_tree().map(|(token, _)| token)
}

fn skip_item(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _ = input.parse::<TokenTree>();
    }
}
