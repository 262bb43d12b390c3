//! The OpenAPI v2 document, from those of v3.
//!
//! What v2 cannot say is left out, so that clients do not refuse what the server takes: `nullable`
//! values and those that keep unknown fields have no type, alternatives are gone.

use serde_json::{Map, Value, json};

/// One document of all.
pub(super) fn document(documents: impl Iterator<Item = Value>) -> Value {
    let (mut definitions, mut paths) = (Map::new(), Map::new());
    for mut document in documents {
        if let Value::Object(schemas) = document["components"]["schemas"].take() {
            definitions.extend(
                schemas
                    .into_iter()
                    .map(|(name, schema)| (name, downgrade(schema))),
            );
        }
        if let Value::Object(all) = document["paths"].take() {
            paths.extend(all.into_iter().map(|(path, item)| (path, path_item(item))));
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.2"},
        "paths": paths,
        "definitions": definitions,
    })
}

/// A schema in the words of v2.
fn downgrade(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    if let Some(reference) = only_reference(&schema) {
        return json!({"$ref": reference});
    }
    let untyped = schema.get("nullable") == Some(&Value::Bool(true))
        || schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
        || schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    for gone in [
        "oneOf",
        "anyOf",
        "allOf",
        "not",
        "nullable",
        "default",
        "x-kubernetes-validations",
    ] {
        schema.remove(gone);
    }
    if untyped {
        let keep_type = schema.contains_key("x-kubernetes-group-version-kind");
        for gone in ["properties", "items", "additionalProperties", "required"] {
            schema.remove(gone);
        }
        if !keep_type {
            schema.remove("type");
        }
    }
    for nested in ["items", "additionalProperties"] {
        if let Some(value) = schema.remove(nested) {
            schema.insert(nested.to_owned(), downgrade(value));
        }
    }
    if let Some(Value::Object(properties)) = schema.remove("properties") {
        let properties: Map<String, Value> = properties
            .into_iter()
            .map(|(name, property)| (name, downgrade(property)))
            .collect();
        schema.insert("properties".to_owned(), properties.into());
    }
    schema.into()
}

/// `$ref`, alone or as the one member of `allOf`, in the words of v2.
fn only_reference(schema: &Map<String, Value>) -> Option<String> {
    let alone = schema
        .get("$ref")
        .or_else(|| match schema.get("allOf")?.as_array()?.as_slice() {
            [one] => one.get("$ref"),
            _ => None,
        });
    let name = alone?.as_str()?.strip_prefix("#/components/schemas/")?;
    Some(format!("#/definitions/{name}"))
}

fn path_item(item: Value) -> Value {
    let Value::Object(item) = item else {
        return json!({});
    };
    let convert = |(key, value): (String, Value)| match key.as_str() {
        "parameters" => (key, parameters(value)),
        _ => (key, operation(value)),
    };
    item.into_iter().map(convert).collect::<Map<_, _>>().into()
}

/// An operation without its bodies: clients look at its kind and its query.
fn operation(mut operation: Value) -> Value {
    let mut kept = json!({"responses": {}});
    for member in [
        "operationId",
        "x-kubernetes-action",
        "x-kubernetes-group-version-kind",
    ] {
        if let Some(value) = operation.get_mut(member) {
            kept[member] = value.take();
        }
    }
    if let Some(list) = operation.get_mut("parameters") {
        kept["parameters"] = parameters(list.take());
    }
    kept
}

fn parameters(list: Value) -> Value {
    let Value::Array(list) = list else {
        return json!([]);
    };
    let convert = |mut parameter: Value| {
        let schema = parameter["schema"].take();
        if let Some(map) = parameter.as_object_mut() {
            map.remove("schema");
        }
        parameter["type"] = schema["type"].clone();
        parameter
    };
    list.into_iter().map(convert).collect::<Vec<_>>().into()
}
