//! The form in which a schema is kept: what says nothing is left out.

use serde_json::{Map, Value};

use crate::schema::normalize_numbers;

/// Keywords that say nothing if they are false or empty.
const SILENT: [&str; 14] = [
    "id",
    "$schema",
    "description",
    "type",
    "format",
    "title",
    "pattern",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
];

/// Brings every schema of a definition into this form.
pub(super) fn schemas(spec: &mut Map<String, Value>) {
    let versions = spec.get_mut("versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let columns = version
            .get_mut("additionalPrinterColumns")
            .and_then(Value::as_array_mut);
        for column in columns.into_iter().flatten() {
            if let Some(column) = column.as_object_mut()
                && column.get("priority").is_some_and(|priority| *priority == 0)
            {
                column.remove("priority");
            }
        }
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            normalize_numbers(schema);
            level(schema);
        }
    }
}

fn level(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.retain(|key, value| !(SILENT.contains(&key.as_str()) && is_silent(value)));
    for key in ["items", "additionalProperties", "not"] {
        if let Some(schema) = map.get_mut(key) {
            level(schema);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        map.get_mut(key)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .for_each(level);
    }
    map.get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flat_map(Map::values_mut)
        .for_each(level);
}

fn is_silent(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
