//! `rbac("apps/deployments": get list, …)`: rights that the wiring cannot tell.

use proc_macro2::TokenTree;
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
        let token = entries::next(input);
        let resource: LitStr = input.parse().map_err(|_| errors::not_a_rule(token))?;
        if input.parse::<Option<Token![:]>>()?.is_none() {
            return Err(errors::no_verb(resource.span()));
        }
        let mut verbs = Vec::new();
        while let Some(token) = entries::next(input)
            && !input.peek(Token![,])
        {
            verbs.push(verb(input, &token)?);
        }
        if verbs.is_empty() {
            return Err(errors::no_verb(resource.span()));
        }
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
            group,
            resource: parts[1..].join("/"),
            verbs,
        })
    }
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
