//! `labels = "…"` and `fields = "…"`: which objects of a kind are watched.
//!
//! What the API server would not understand is told here: it would answer each list with 400, for ever.

use syn::{LitStr, parse::ParseStream};

use super::{
    entries::{self, Entry, Form, Key},
    value,
};
use crate::errors::{self, Errors};

pub(super) const LABELS: Key = Key::new("labels", Form::Value, "labels = \"app=web\"");
pub(super) const FIELDS: Key = Key::new("fields", Form::Value, "fields = \"metadata.name=web\"");

const KEYS: &[Key] = &[LABELS, FIELDS];

/// Which objects of a kind are watched.
#[derive(Default)]
pub(crate) struct Selector {
    pub(crate) labels: Option<LitStr>,
    pub(crate) fields: Option<LitStr>,
}

impl Selector {
    pub(crate) fn parse(input: ParseStream<'_>, errors: &mut Errors) -> Self {
        let mut selector = Self::default();
        entries::parse(input, KEYS, errors, &mut |entry, input, _| {
            selector.take(entry, input)
        });
        selector
    }

    pub(super) fn take(&mut self, entry: &Entry, input: ParseStream<'_>) -> syn::Result<()> {
        let literal = value::text(input, entry)?;
        let text = literal.value();
        if text.trim().is_empty() {
            return Err(errors::empty_selector(literal.span(), entry.key.name));
        }
        if entry.key.name == "labels" {
            if !requirements(&text).into_iter().all(is_requirement) {
                return Err(errors::not_labels(literal.span()));
            }
            self.labels = Some(literal);
        } else {
            let mut terms = text.split(',').filter(|term| !term.is_empty());
            if !terms.all(|term| term.contains('=')) {
                return Err(errors::not_fields(literal.span()));
            }
            self.fields = Some(literal);
        }
        Ok(())
    }
}

/// The parts between the commas that stand in no parentheses.
fn requirements(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|char| {
        inside = (inside || char == '(') && char != ')';
        char == ',' && !inside
    })
    .collect()
}

/// As the parser of apimachinery has it: `key`, `!key`, `key=value`, `key!=value`, `key in (a, b)`, `key>1`.
fn is_requirement(text: &str) -> bool {
    let text = text.trim();
    if let Some(key) = text.strip_prefix('!') {
        return is_key(key.trim());
    }
    for operator in ["!=", "==", "="] {
        if let Some((key, value)) = text.split_once(operator) {
            return is_key(key.trim()) && is_value(value.trim());
        }
    }
    if let Some((key, number)) = text.split_once(['<', '>']) {
        return is_key(key.trim()) && number.trim().parse::<i64>().is_ok();
    }
    let Some((key, values)) = text.split_once('(') else {
        return is_key(text);
    };
    let mut words = key.split_whitespace();
    let known = words.next().is_some_and(is_key) && matches!(words.next(), Some("in" | "notin"));
    let values = values.strip_suffix(')');
    known && words.next().is_none() && values.is_some_and(|all| all.split(',').all(|it| is_value(it.trim())))
}

/// `app`, `example.com/app`
fn is_key(text: &str) -> bool {
    let (prefix, name) = text
        .split_once('/')
        .map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let is_domain = |text: &str| {
        let part = |part: &str| is_name(part) && !part.contains('_') && part == part.to_lowercase();
        text.len() <= 253 && text.split('.').all(part)
    };
    is_name(name) && prefix.is_none_or(is_domain)
}

fn is_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

fn is_name(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = text.as_bytes();
    bytes.len() <= 63 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::{is_requirement, requirements};

    fn is_selector(text: &str) -> bool {
        requirements(text).into_iter().all(is_requirement)
    }

    #[test]
    fn what_the_server_takes_is_taken() {
        for good in [
            "app",
            "!app",
            "app=web",
            "app == web",
            "app!=web",
            "app=",
            "app in (web, api),tier notin (back)",
            "example.com/app=web,app.kubernetes.io/part-of",
            "generation>3",
            "app in (web,)",
        ] {
            assert!(is_selector(good), "{good}");
        }
    }

    #[test]
    fn what_the_server_refuses_is_refused() {
        for wrong in [
            "app=web,",
            ",app",
            "app=(web)",
            "app in web",
            "app in (web",
            "app within (web)",
            "app = a b",
            "-app",
            "Example.com/app",
            "a/b/c",
            "generation>many",
            "app=$web",
            "!",
            "app in",
        ] {
            assert!(!is_selector(wrong), "{wrong}");
        }
    }
}
