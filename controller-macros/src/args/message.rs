//! `#[error("…")]`: the text of an error, with fields in braces.

use proc_macro2::Span;
use syn::{Attribute, Fields, LitStr, Meta, Token, ext::IdentExt, parse::ParseStream};

use crate::errors;

/// The text of a variant.
pub(crate) enum Message {
    /// The text of the only field.
    Transparent,
    /// A format string whose fields are called `_0`, `_1`, …
    Text {
        format: LitStr,
        /// Which fields it shows.
        shows: Vec<usize>,
    },
}

mod words {
    syn::custom_keyword!(transparent);
}

impl Message {
    pub(crate) fn parse(attribute: &Attribute, fields: &Fields) -> syn::Result<Self> {
        let Meta::List(list) = &attribute.meta else {
            return Err(errors::not_a_message(attribute));
        };
        let parsed = list.parse_args_with(|input: ParseStream<'_>| {
            if input.parse::<Option<words::transparent>>()?.is_some() {
                return Ok(None);
            }
            let literal: LitStr = input.parse()?;
            input.parse::<Option<Token![,]>>()?;
            Ok(Some(literal))
        });
        match parsed.map_err(|_| errors::not_a_message(attribute))? {
            None if fields.len() == 1 => Ok(Self::Transparent),
            None => Err(errors::transparent_fields(attribute)),
            Some(literal) => Self::text(&literal, fields),
        }
    }

    /// Stands in for a text that is missing or wrong.
    pub(crate) fn nothing() -> Self {
        Self::Text {
            format: LitStr::new("", Span::call_site()),
            shows: Vec::new(),
        }
    }

    fn text(literal: &LitStr, fields: &Fields) -> syn::Result<Self> {
        let mut shows = Vec::new();
        let text = rename(&literal.value(), &mut |name| {
            let index = position(fields, name)?;
            shows.push(index);
            Some(format!("_{index}"))
        })
        .map_err(|problem| match problem {
            Problem::Braces => errors::message_braces(literal.span()),
            Problem::Field(name) => errors::message_field(literal.span(), &name),
        })?;
        Ok(Self::Text {
            format: LitStr::new(&text, literal.span()),
            shows,
        })
    }
}

fn position(fields: &Fields, name: &str) -> Option<usize> {
    match fields {
        Fields::Unnamed(_) => name.parse().ok().filter(|&index: &usize| index < fields.len()),
        _ => fields
            .iter()
            .position(|field| field.ident.as_ref().is_some_and(|ident| ident.unraw() == name)),
    }
}

#[derive(Debug, PartialEq)]
enum Problem {
    Braces,
    Field(String),
}

/// Replaces every field of a format string, also those in `{0:>1$}`.
fn rename(text: &str, field: &mut dyn FnMut(&str) -> Option<String>) -> Result<String, Problem> {
    let mut field = |name: &str| field(name).ok_or_else(|| Problem::Field(name.to_owned()));
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            out.push_str(&tail[..2]);
            rest = &tail[2..];
            continue;
        }
        let inner = tail.strip_prefix('{').ok_or(Problem::Braces)?;
        let end = inner.find('}').ok_or(Problem::Braces)?;
        let (name, spec) = inner[..end].split_once(':').unwrap_or((&inner[..end], ""));
        out.push('{');
        out.push_str(&field(name.trim())?);
        if !spec.is_empty() {
            out.push(':');
            out.push_str(&rename_spec(spec, &mut field)?);
        }
        out.push('}');
        rest = &inner[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// `>1$.*` and the like: a word before `$` is a field.
fn rename_spec(
    spec: &str,
    field: &mut dyn FnMut(&str) -> Result<String, Problem>,
) -> Result<String, Problem> {
    let mut out = String::new();
    let mut parts = spec.split('$').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            out.push_str(part);
            break;
        }
        let start = part
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |at| at + 1);
        out.push_str(&part[..start]);
        out.push_str(&field(&part[start..])?);
        out.push('$');
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &str) -> Result<String, Problem> {
        rename(text, &mut |name| {
            name.parse::<usize>().ok().map(|index| format!("_{index}"))
        })
    }

    #[test]
    fn fields_are_renamed_wherever_they_stand() {
        assert_eq!(numbered("a {0} b {1:?}"), Ok("a {_0} b {_1:?}".into()));
        assert_eq!(numbered("{0:>1$}"), Ok("{_0:>_1$}".into()));
        assert_eq!(numbered("{{0}} }}{{"), Ok("{{0}} }}{{".into()));
    }

    #[test]
    fn unknown_fields_and_lone_braces_are_told() {
        assert_eq!(numbered("{name}"), Err(Problem::Field("name".into())));
        assert_eq!(numbered("{}"), Err(Problem::Field(String::new())));
        assert_eq!(numbered("{0"), Err(Problem::Braces));
        assert_eq!(numbered("0}"), Err(Problem::Braces));
    }
}
