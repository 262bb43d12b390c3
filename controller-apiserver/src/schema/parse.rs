//! From the JSON of an `openAPIV3Schema` to [`Node`]s.
//!
//! The JSON has been decoded as `JSONSchemaProps` before, so unknown keywords are absent and what
//! has a wrong type here is treated as absent. Whether the schema may be used is another question,
//! answered by the structural rules.

use regex::Regex;
use serde_json::{Map, Value};

use super::node::{Additional, Extensions, Limits, ListType, Node};

impl Node {
    /// Reads one level and everything below it.
    pub(crate) fn read(schema: &Value) -> Self {
        let Some(map) = schema.as_object() else {
            return Self::default();
        };
        Self {
            type_name: text(map, "type"),
            nullable: flag(map, "nullable"),
            default: map.get("default").filter(|value| !value.is_null()).cloned(),
            properties: map
                .get("properties")
                .and_then(Value::as_object)
                .map(|all| all.iter().map(|(k, v)| (k.clone(), Self::read(v))).collect())
                .unwrap_or_default(),
            additional: match map.get("additionalProperties") {
                Some(Value::Bool(allowed)) => Some(Additional::Allowed(*allowed)),
                Some(schema @ Value::Object(_)) => Some(Additional::Schema(Box::new(Self::read(schema)))),
                _ => None,
            },
            items: map
                .get("items")
                .filter(|v| v.is_object())
                .map(|v| Box::new(Self::read(v))),
            extensions: extensions(map),
            limits: limits(map),
            all_of: list(map, "allOf"),
            any_of: list(map, "anyOf"),
            one_of: list(map, "oneOf"),
            not: map
                .get("not")
                .filter(|v| v.is_object())
                .map(|v| Box::new(Self::read(v))),
        }
    }
}

fn extensions(map: &Map<String, Value>) -> Extensions {
    Extensions {
        preserve_unknown_fields: flag(map, "x-kubernetes-preserve-unknown-fields"),
        embedded_resource: flag(map, "x-kubernetes-embedded-resource"),
        int_or_string: flag(map, "x-kubernetes-int-or-string"),
        list_type: match text(map, "x-kubernetes-list-type").as_str() {
            "set" => ListType::Set,
            "map" => ListType::Map,
            _ => ListType::Atomic,
        },
        list_map_keys: texts(map, "x-kubernetes-list-map-keys"),
        atomic_map: text(map, "x-kubernetes-map-type") == "atomic",
    }
}

fn limits(map: &Map<String, Value>) -> Limits {
    Limits {
        format: Some(text(map, "format"))
            .filter(|format| super::format::is_known(format))
            .unwrap_or_default(),
        minimum: float(map, "minimum"),
        maximum: float(map, "maximum"),
        exclusive_minimum: flag(map, "exclusiveMinimum"),
        exclusive_maximum: flag(map, "exclusiveMaximum"),
        multiple_of: float(map, "multipleOf"),
        min_length: int(map, "minLength"),
        max_length: int(map, "maxLength"),
        pattern: Some(text(map, "pattern"))
            .filter(|p| !p.is_empty())
            .and_then(|p| Regex::new(&p).ok()),
        min_items: int(map, "minItems"),
        max_items: int(map, "maxItems"),
        unique_items: flag(map, "uniqueItems"),
        min_properties: int(map, "minProperties"),
        max_properties: int(map, "maxProperties"),
        required: texts(map, "required"),
        allowed: map
            .get("enum")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
    }
}

fn text(map: &Map<String, Value>, key: &str) -> String {
    map.get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn texts(map: &Map<String, Value>, key: &str) -> Vec<String> {
    let all = map.get(key).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn float(map: &Map<String, Value>, key: &str) -> Option<f64> {
    map.get(key).and_then(Value::as_f64)
}

fn int(map: &Map<String, Value>, key: &str) -> Option<i64> {
    map.get(key).and_then(Value::as_i64)
}

fn list(map: &Map<String, Value>, key: &str) -> Vec<Node> {
    let all = map.get(key).and_then(Value::as_array).into_iter().flatten();
    all.map(Node::read).collect()
}
