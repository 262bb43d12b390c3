//! From JSON to values that rules see, by the schema.
//!
//! Only what the schema specifies is seen; a null field counts as absent, and strings with a
//! format become what the format says.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value as Json;

use super::escape::escape;
use crate::schema::node::Node;

/// The value rules see for `json`; `resource` if it is a resource, whose name and type they see too.
pub(super) fn bind(json: &Json, node: &Node, resource: bool) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), node.type_name.as_str()) {
            (Some(value), kind) if kind != "number" => Value::Int(value),
            _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(value) => text(value, node),
        Json::Array(items) => {
            let Some(node) = node.items.as_deref() else {
                return Value::List(Arc::new(Vec::new()));
            };
            Value::List(Arc::new(
                items.iter().map(|item| bind_child(item, node)).collect(),
            ))
        }
        Json::Object(map) => {
            let mut bound = match node.values() {
                Some(values) => map
                    .iter()
                    .map(|(name, member)| (key(name.clone()), bind_child(member, values)))
                    .collect(),
                None => fields(map, node),
            };
            if resource {
                identity(map, &mut bound);
            }
            Value::Map(Map { map: Arc::new(bound) })
        }
    }
}

fn bind_child(json: &Json, node: &Node) -> Value {
    bind(json, node, node.extensions.embedded_resource)
}

fn key(name: String) -> Key {
    Key::String(Arc::new(name))
}

fn fields(map: &serde_json::Map<String, Json>, node: &Node) -> HashMap<Key, Value> {
    let known = map.iter().filter(|(_, member)| !member.is_null());
    known
        .filter_map(|(name, member)| {
            let property = node.properties.get(name)?;
            Some((key(escape(name)?), bind_child(member, property)))
        })
        .collect()
}

fn identity(map: &serde_json::Map<String, Json>, bound: &mut HashMap<Key, Value>) {
    let owned = |text: &str| Value::String(Arc::new(text.to_owned()));
    for name in ["apiVersion", "kind"] {
        let text = map.get(name).and_then(Json::as_str).unwrap_or_default();
        bound.insert(key(name.to_owned()), owned(text));
    }
    let metadata = map.get("metadata").and_then(Json::as_object);
    let names = ["name", "generateName"].into_iter().filter_map(|name| {
        let text = metadata?.get(name)?.as_str()?;
        Some((key(name.to_owned()), owned(text)))
    });
    let names = Value::Map(Map {
        map: Arc::new(names.collect()),
    });
    bound.insert(key("metadata".to_owned()), names);
}

fn text(value: &str, node: &Node) -> Value {
    use base64::Engine;
    let plain = || Value::String(Arc::new(value.to_owned()));
    if node.extensions.int_or_string {
        return plain();
    }
    match node.limits.format.as_str() {
        "byte" => base64::engine::general_purpose::STANDARD
            .decode(value)
            .map_or_else(|_| plain(), |bytes| Value::Bytes(Arc::new(bytes))),
        "date" => super::native::timestamp(&format!("{value}T00:00:00Z")).unwrap_or_else(plain),
        "date-time" | "datetime" => super::native::timestamp(value).unwrap_or_else(plain),
        "duration" => super::native::duration(value).unwrap_or_else(plain),
        _ => plain(),
    }
}
