//! From the JSON of an `openAPIV3Schema` to [`Node`]s.
//!
//! The JSON has been decoded as `JSONSchemaProps` before, so unknown keywords are absent and what
//! has a wrong type here is treated as absent. Whether the schema may be used is another question,
//! answered by the rules.

use serde_json::{Map, Value};

use super::cel::Rule;
use super::json::{flag, items, members, object, objects, text, texts};
use super::node::{Additional, Extensions, Limits, ListType, Node};
use super::{format, pattern};

impl Node {
    /// Reads one level and everything below it.
    pub(crate) fn read(schema: &Value) -> Self {
        schema.as_object().map(Self::read_level).unwrap_or_default()
    }

    fn read_level(map: &Map<String, Value>) -> Self {
        let boxed = |key: &str| object(map, key).map(|level| Box::new(Self::read_level(level)));
        let list = |key: &str| {
            objects(map, key)
                .map(|(_, level)| Self::read_level(level))
                .collect()
        };
        let mut node = Self {
            type_name: text(map, "type").to_owned(),
            nullable: flag(map, "nullable"),
            default: map.get("default").filter(|value| !value.is_null()).cloned(),
            properties: members(map, "properties")
                .map(|(name, level)| (name.clone(), Self::read_level(level)))
                .collect(),
            additional: match map.get("additionalProperties") {
                Some(Value::Bool(allowed)) => Some(Additional::Allowed(*allowed)),
                _ => boxed("additionalProperties").map(Additional::Schema),
            },
            items: boxed("items"),
            extensions: extensions(map),
            limits: limits(map),
            all_of: list("allOf"),
            any_of: list("anyOf"),
            one_of: list("oneOf"),
            not: boxed("not"),
            ..Self::default()
        };
        node.rules = objects(map, "x-kubernetes-validations")
            .map(|(_, rule)| Rule::read(rule, &node))
            .collect();
        node.has_rules = !node.rules.is_empty()
            || node.properties.values().any(|node| node.has_rules)
            || node.items.as_ref().is_some_and(|node| node.has_rules)
            || node.values().is_some_and(|node| node.has_rules);
        node
    }
}

fn extensions(map: &Map<String, Value>) -> Extensions {
    Extensions {
        preserve_unknown_fields: flag(map, "x-kubernetes-preserve-unknown-fields"),
        embedded_resource: flag(map, "x-kubernetes-embedded-resource"),
        int_or_string: flag(map, "x-kubernetes-int-or-string"),
        list_type: match text(map, "x-kubernetes-list-type") {
            "set" => ListType::Set,
            "map" => ListType::Map,
            _ => ListType::Atomic,
        },
        list_map_keys: texts(map, "x-kubernetes-list-map-keys")
            .map(str::to_owned)
            .collect(),
        atomic_map: text(map, "x-kubernetes-map-type") == "atomic",
    }
}

fn limits(map: &Map<String, Value>) -> Limits {
    let float = |key: &str| map.get(key).and_then(Value::as_f64);
    let int = |key: &str| map.get(key).and_then(Value::as_i64);
    let format = text(map, "format");
    let known = format::is_known(text(map, "type"), format);
    Limits {
        format: if known { format.to_owned() } else { String::new() },
        minimum: float("minimum"),
        maximum: float("maximum"),
        exclusive_minimum: flag(map, "exclusiveMinimum"),
        exclusive_maximum: flag(map, "exclusiveMaximum"),
        multiple_of: float("multipleOf"),
        min_length: int("minLength"),
        max_length: int("maxLength"),
        pattern: Some(text(map, "pattern"))
            .filter(|pattern| !pattern.is_empty())
            .and_then(|source| Some((source.to_owned(), pattern::compile(source).ok()?))),
        min_items: int("minItems"),
        max_items: int("maxItems"),
        unique_items: flag(map, "uniqueItems"),
        min_properties: int("minProperties"),
        max_properties: int("maxProperties"),
        required: texts(map, "required").map(str::to_owned).collect(),
        allowed: items(map, "enum").to_vec(),
    }
}
