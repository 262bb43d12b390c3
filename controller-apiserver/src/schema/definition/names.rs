//! The names of a definition.

use serde_json::Value;

use super::Object;
use crate::registry::names;
use crate::schema::json::{items, text};
use crate::schema::path::Path;
use crate::status::Cause;

/// Names that a definition must have, and what is wrong with those it has.
pub(super) fn validate_spec(all: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    for key in ["plural", "singular", "kind", "listKind"] {
        if text(all, key).is_empty() {
            causes.push(Cause::required(path.child(key).to_string(), ""));
        }
    }
    validate(all, path, causes);
}

/// What is wrong with names, if they are there.
pub(super) fn validate(all: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    for key in ["plural", "singular"] {
        label(text(all, key), "", &path.child(key), causes);
    }
    for key in ["kind", "listKind"] {
        label(
            text(all, key),
            "may have mixed case, but should otherwise match: ",
            &path.child(key),
            causes,
        );
    }
    for key in ["shortNames", "categories"] {
        let path = path.child(key);
        for (index, name) in items(all, key).iter().enumerate() {
            required_label(name, &path.index(index), causes);
        }
    }
    let (kind, list_kind) = (text(all, "kind"), text(all, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let field = path.child("listKind").to_string();
        causes.push(Cause::invalid(
            field,
            &list_kind.into(),
            "kind and listKind may not be the same",
        ));
    }
}

/// With a prefix capital letters are allowed.
fn label(name: &str, prefix: &str, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let problems = if prefix.is_empty() {
        names::label_1035(name)
    } else {
        names::label_1035(&name.to_lowercase())
    };
    if !name.is_empty() && !problems.is_empty() {
        let detail = format!("{prefix}{}", problems.join(","));
        causes.push(Cause::invalid(path.to_string(), &name.into(), &detail));
    }
}

/// A name that must be a label.
pub(super) fn required_label(name: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let problems = names::label_1035(name.as_str().unwrap_or_default());
    if !problems.is_empty() {
        causes.push(Cause::invalid(path.to_string(), name, &problems.join(",")));
    }
}
