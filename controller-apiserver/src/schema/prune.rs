//! Pruning: what the schema does not know is dropped, and its paths reported.
//!
//! Source: API documentation, "Field pruning" and `x-kubernetes-preserve-unknown-fields`,
//! `x-kubernetes-embedded-resource`.

use serde_json::{Map, Value};

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

/// Drops every unknown field of a part of a resource.
pub(crate) fn prune_value(value: &mut Value, schema: &Node) {
    walk(
        value,
        Some(schema),
        schema.extensions.embedded_resource,
        &Path::Root,
        &mut Vec::new(),
    );
}

/// Without a schema nothing is known.
fn walk(
    value: &mut Value,
    schema: Option<&Node>,
    resource: bool,
    path: &Path<'_>,
    dropped: &mut Vec<String>,
) {
    match value {
        Value::Object(map) => members(map, schema, resource, path, dropped),
        Value::Array(items) => {
            let preserve = schema.is_some_and(|node| node.extensions.preserve_unknown_fields);
            let node = schema.and_then(|node| node.items.as_deref());
            if preserve && node.is_none() {
                return;
            }
            for (index, item) in items.iter_mut().enumerate() {
                walk(
                    item,
                    node,
                    node.is_some_and(is_resource),
                    &path.index(index),
                    dropped,
                );
            }
        }
        _ => {}
    }
}

fn members(
    map: &mut Map<String, Value>,
    schema: Option<&Node>,
    resource: bool,
    path: &Path<'_>,
    dropped: &mut Vec<String>,
) {
    map.retain(|key, member| {
        if resource && META.contains(&key.as_str()) {
            return true;
        }
        let path = path.child(key);
        let (known, node) =
            match schema.map(|schema| (schema, schema.properties.get(key), &schema.additional)) {
                Some((_, Some(property), _)) => (true, Some(property)),
                Some((_, None, Some(Additional::Schema(values)))) => (true, Some(&**values)),
                Some((_, None, Some(Additional::Allowed(_)))) => (true, None),
                Some((schema, None, None)) if schema.extensions.preserve_unknown_fields => return true,
                Some((_, None, None)) | None => (false, None),
            };
        if !known {
            dropped.push(path.to_string());
            return false;
        }
        walk(member, node, node.is_some_and(is_resource), &path, dropped);
        true
    });
}

fn is_resource(node: &Node) -> bool {
    node.extensions.embedded_resource
}
