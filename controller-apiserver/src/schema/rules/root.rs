//! Rules for the root of a schema only.

use serde_json::Value;

use super::{Level, Setting};
use crate::schema::json::{is_set, text};
use crate::schema::path::Path;
use crate::status::Cause;

/// What the root may say when the status subresource is on: the status part of the schema must not
/// lose anything when it is looked at on its own.
const BESIDE_STATUS: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

pub(super) fn check(level: &Level, path: &Path<'_>, setting: Setting, causes: &mut Vec<Cause>) {
    if setting.status {
        beside_status(level, path, causes);
    }
    if level.get("nullable") == Some(&Value::Bool(true)) {
        let field = path.child("nullable").to_string();
        causes.push(Cause::forbidden(field, "nullable cannot be true at the root"));
    }
}

fn beside_status(level: &Level, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let kind = text(level, "type");
    if !kind.is_empty() && kind != "object" {
        causes.push(Cause::invalid(
            path.child("type").to_string(),
            &kind.into(),
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled",
        ));
    } else if level
        .keys()
        .any(|key| is_set(level, key) && !BESIDE_STATUS.contains(&key.as_str()))
    {
        causes.push(Cause::new(
            "FieldValueInvalid",
            path.to_string(),
            format!(
                "Invalid value: only {BESIDE_STATUS:?} fields are allowed at the root of the schema if the \
                 status subresource is enabled"
            ),
        ));
    }
}
