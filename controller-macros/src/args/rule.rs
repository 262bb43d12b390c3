//! `rbac("apps/deployments": get list, primary: patch, …)`: rights that the wiring cannot tell.

use proc_macro2::{Span, TokenTree};
use syn::{Ident, LitStr, Token, ext::IdentExt, parse::ParseStream};

use super::entries;
use crate::errors::{self, Errors};

const VERBS: &[&str] = &[
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "impersonate",
    "bind",
    "escalate",
    "approve",
    "sign",
    "use",
];

/// One rule.
pub(crate) struct Rule {
    /// It is for the reconciled kind, whichever that is.
    pub(crate) primary: bool,
    /// Empty for the core group.
    pub(crate) group: String,
    /// With its subresource, if there is one.
    pub(crate) resource: String,
    pub(crate) verbs: Vec<String>,
}

impl Rule {
    pub(crate) fn list(input: ParseStream<'_>, errors: &mut Errors) -> Vec<Self> {
        let mut rules = Vec::new();
        entries::separated(input, errors, |input, _| {
            rules.push(Self::parse(input)?);
            Ok(())
        });
        rules
    }

    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Ident) && input.fork().parse::<Ident>()? == "primary" {
            let primary: Ident = input.parse()?;
            return Ok(Self {
                primary: true,
                group: String::new(),
                resource: String::new(),
                verbs: verbs(input, primary.span())?,
            });
        }
        let token = entries::next(input);
        let resource: LitStr = input.parse().map_err(|_| errors::not_a_rule(token))?;
        let verbs = verbs(input, resource.span())?;
        let text = resource.value();
        let parts: Vec<&str> = text.split('/').collect();
        if !matches!(parts.len(), 2 | 3) || parts.iter().any(|part| part.is_empty() || part.contains(' ')) {
            return Err(errors::not_a_resource(resource.span()));
        }
        let group = if parts[0] == "core" {
            String::new()
        } else {
            parts[0].to_owned()
        };
        Ok(Self {
            primary: false,
            group,
            resource: parts[1..].join("/"),
            verbs,
        })
    }
}

/// What follows the resource that stands at `span`.
fn verbs(input: ParseStream<'_>, span: Span) -> syn::Result<Vec<String>> {
    if input.parse::<Option<Token![:]>>()?.is_none() {
        return Err(errors::no_verb(span));
    }
    let mut verbs = Vec::new();
    while let Some(token) = entries::next(input)
        && !input.peek(Token![,])
    {
        verbs.push(verb(input, &token)?);
    }
    if verbs.is_empty() {
        return Err(errors::no_verb(span));
    }
    Ok(verbs)
}

fn verb(input: ParseStream<'_>, token: &TokenTree) -> syn::Result<String> {
    let verb = input
        .call(Ident::parse_any)
        .map_err(|_| errors::not_a_verb(token))?;
    let text = verb.to_string();
    if VERBS.contains(&text.as_str()) {
        Ok(text)
    } else {
        Err(errors::not_a_verb(verb))
    }
}
