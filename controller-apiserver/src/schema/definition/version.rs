//! What a version says besides its schema: deprecation, subresources, columns, selectable fields.

use std::collections::HashSet;

use serde_json::Value;

use super::Object;
use crate::schema::cel::{Brackets, field_path};
use crate::schema::json::{flag, is_set, object, objects, text};
use crate::schema::node::Node;
use crate::schema::path::Path;
use crate::status::Cause;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// How many fields a version can select by.
const MOST_SELECTABLE: usize = 8;

/// The text that is said with every answer of a deprecated version.
pub(super) fn deprecation(version: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let Some(warning) = version
        .get("deprecationWarning")
        .filter(|warning| !warning.is_null())
    else {
        return;
    };
    let text = warning.as_str().unwrap_or_default();
    let mut invalid = |detail: &str| {
        causes.push(Cause::invalid(
            path.child("deprecationWarning").to_string(),
            warning,
            detail,
        ));
    };
    if !flag(version, "deprecated") {
        return invalid("can only be set for deprecated versions");
    }
    if text.len() > 256 {
        invalid("must be <= 256 characters long");
    }
    if text.is_empty() {
        invalid("must not be an empty string");
    }
    if let Some((index, _)) = text.char_indices().find(|(_, c)| c.is_control()) {
        let detail = "must only contain printable UTF-8 characters; non-printable character found at index";
        invalid(&format!("{detail} {index}"));
    }
}

/// `subresources`, of which only the scale has something to say.
pub(super) fn subresources(holder: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let Some(scale) = object(holder, "subresources").and_then(|all| object(all, "scale")) else {
        return;
    };
    let path = path.child("subresources");
    let mut check = |key: &str, roots: &[&str], detail: &str, required: bool| {
        let value = text(scale, key);
        let field = path.child("scale").child(key).to_string();
        if value.is_empty() {
            if required {
                causes.push(Cause::required(field, ""));
            }
        } else if let Some(detail) = simple_path_problem(value) {
            causes.push(Cause::invalid(field, &value.into(), detail));
        } else if !roots.iter().any(|root| value.starts_with(root)) {
            causes.push(Cause::invalid(field, &value.into(), detail));
        }
    };
    check(
        "specReplicasPath",
        &[".spec."],
        "should be a json path under .spec",
        true,
    );
    check(
        "statusReplicasPath",
        &[".status."],
        "should be a json path under .status",
        true,
    );
    let either = "should be a json path under either .spec or .status";
    check("labelSelectorPath", &[".spec.", ".status."], either, false);
}

fn simple_path_problem(path: &str) -> Option<&'static str> {
    (!path.starts_with('.')).then_some("must be a simple json path starting with .")
}

/// `additionalPrinterColumns`.
pub(super) fn columns(holder: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let path = path.child("additionalPrinterColumns");
    for (index, column) in objects(holder, "additionalPrinterColumns") {
        let path = path.index(index);
        if text(column, "name").is_empty() {
            causes.push(Cause::required(path.child("name").to_string(), ""));
        }
        let kind = text(column, "type");
        let one_of = format!("must be one of {}", COLUMN_TYPES.join(","));
        if kind.is_empty() {
            causes.push(Cause::required(path.child("type").to_string(), &one_of));
        } else if !COLUMN_TYPES.contains(&kind) {
            causes.push(Cause::invalid(
                path.child("type").to_string(),
                &kind.into(),
                &one_of,
            ));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let one_of = format!("must be one of {}", COLUMN_FORMATS.join(","));
            causes.push(Cause::invalid(
                path.child("format").to_string(),
                &format.into(),
                &one_of,
            ));
        }
        let json_path = text(column, "jsonPath");
        let field = path.child("JSONPath").to_string();
        if json_path.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if let Some(detail) = simple_path_problem(json_path) {
            causes.push(Cause::invalid(field, &json_path.into(), detail));
        }
    }
}

/// `selectableFields` (KEP-4358).
pub(super) fn selectable(holder: &Object, schema: Option<&Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if !is_set(holder, "selectableFields") {
        return;
    }
    let path = path.child("selectableFields");
    let Some(schema) = schema else {
        let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
        causes.push(Cause::invalid(path.to_string(), &"".into(), detail));
        return;
    };
    let root = Node::read(schema);
    let mut seen = HashSet::new();
    for (index, selectable) in objects(holder, "selectableFields") {
        let path = path.index(index);
        let path = path.child("jsonPath");
        let json_path = text(selectable, "jsonPath");
        let value = Value::from(json_path);
        let mut invalid = |detail: &str| causes.push(Cause::invalid(path.to_string(), &value, detail));
        if json_path.is_empty() {
            causes.push(Cause::required(path.to_string(), ""));
            continue;
        }
        let found = match field_path(json_path, &root, Brackets::Forbidden) {
            Ok(found) => found,
            Err(error) => {
                invalid(&format!("is an invalid path: {error}"));
                continue;
            }
        };
        if found.first == "metadata" {
            invalid("must not point to fields in metadata");
        }
        if !found
            .schema
            .is_some_and(|node| matches!(node.type_name.as_str(), "string" | "boolean" | "integer"))
        {
            invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                 formats are allowed.",
            );
        }
        if !seen.insert(found.written) {
            let message = format!("Duplicate value: {value}");
            causes.push(Cause::new("FieldValueDuplicate", path.to_string(), message));
        }
    }
    if seen.len() > MOST_SELECTABLE {
        let message = format!(
            "Too many: {}: must have at most {MOST_SELECTABLE} items",
            seen.len()
        );
        causes.push(Cause::new("FieldValueTooMany", path.to_string(), message));
    }
}
