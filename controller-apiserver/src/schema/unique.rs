//! Sets hold no element twice, keyed lists no key twice.
//!
//! Source: API documentation, "Merge strategy" (`x-kubernetes-list-type`).

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::node::{ListType, Node};
use super::path::Path;
use crate::status::Cause;

/// Every second element of its kind in a resource.
pub(crate) fn check(object: &Value, schema: &Node) -> Vec<Cause> {
    let mut causes = Vec::new();
    walk(object, schema, &Path::Root, &mut causes);
    causes
}

fn walk(value: &Value, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    match value {
        Value::Array(items) => {
            match schema.extensions.list_type {
                ListType::Atomic => {}
                ListType::Set => repeated(items.iter().map(|item| (item, item.clone())), path, causes),
                ListType::Map => keyed(items, &schema.extensions.list_map_keys, path, causes),
            }
            if let Some(node) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    walk(item, node, &path.index(index), causes);
                }
            }
        }
        Value::Object(map) => {
            for (key, member) in map {
                match (schema.properties.get(key), schema.values()) {
                    (Some(node), _) => walk(member, node, &path.child(key), causes),
                    (None, Some(node)) => walk(member, node, &path.key(key), causes),
                    (None, None) => {}
                }
            }
        }
        _ => {}
    }
}

fn keyed(items: &[Value], keys: &[String], path: &Path<'_>, causes: &mut Vec<Cause>) {
    if let Some((index, item)) = items
        .iter()
        .enumerate()
        .find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let detail = "must be an object for an array of list-type map";
        causes.push(Cause::invalid(path.index(index).to_string(), item, detail));
        return;
    }
    let key_of = |item: &Value| {
        let present = keys
            .iter()
            .filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
        Value::Object(present.collect::<Map<_, _>>())
    };
    repeated(items.iter().map(|item| (item, key_of(item))), path, causes);
}

/// Reports the second of its kind, but not the third.
fn repeated<'a>(items: impl Iterator<Item = (&'a Value, Value)>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (index, (_, key)) in items.enumerate() {
        let times = seen.entry(key.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            let message = format!("Duplicate value: {key}");
            causes.push(Cause::new(
                "FieldValueDuplicate",
                path.index(index).to_string(),
                message,
            ));
        }
    }
}
