//! Pruning: what the schema does not know is dropped, and its paths reported.
//!
//! Source: API documentation, "Field pruning" and `x-kubernetes-preserve-unknown-fields`,
//! `x-kubernetes-embedded-resource`.

use serde_json::Value;

use super::node::{Additional, Node};
use super::path::Path;

/// The members every resource has, whatever its schema says.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops every unknown field of a resource, and returns their paths, sorted.
pub(crate) fn prune(object: &mut Value, schema: &Node) -> Vec<String> {
    let mut dropped = Vec::new();
    walk(object, Some(schema), true, &Path::Root, &mut dropped);
    dropped.sort();
    dropped
}

fn walk(
    value: &mut Value,
    schema: Option<&Node>,
    resource: bool,
    path: &Path<'_>,
    dropped: &mut Vec<String>,
) {
    let preserve = schema.is_some_and(|node| node.extensions.preserve_unknown_fields);
    match value {
        Value::Object(map) => map.retain(|key, member| {
            if resource && META.contains(&key.as_str()) {
                return true;
            }
            let path = path.child(key);
            match (
                schema.and_then(|node| node.properties.get(key)),
                schema.map(|node| &node.additional),
            ) {
                (Some(property), _) => walk(member, Some(property), is_resource(property), &path, dropped),
                (None, Some(Some(Additional::Schema(values)))) => {
                    walk(member, Some(values), is_resource(values), &path, dropped);
                }
                (None, _) if preserve => {}
                (None, Some(Some(Additional::Allowed(_)))) => walk(member, None, false, &path, dropped),
                (None, _) => {
                    dropped.push(path.to_string());
                    return false;
                }
            }
            true
        }),
        Value::Array(items) => {
            let schema = schema.and_then(|node| node.items.as_deref());
            if preserve && schema.is_none() {
                return;
            }
            for (index, item) in items.iter_mut().enumerate() {
                walk(
                    item,
                    schema,
                    schema.is_some_and(is_resource),
                    &path.index(index),
                    dropped,
                );
            }
        }
        _ => {}
    }
}

fn is_resource(node: &Node) -> bool {
    node.extensions.embedded_resource
}
