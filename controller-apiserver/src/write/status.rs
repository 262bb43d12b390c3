//! Writes through `/status` and its like: everything but the status is the old object's.
//!
//! Source: API conventions, "Spec and Status"; custom resources keep even their labels.

use serde_json::Value;

use crate::object::{carry, meta_mut};
use crate::registry::Resource;
use crate::schema::definition;

/// Restores in `new` what a write through a subresource cannot change.
pub(crate) fn prepare(resource: &Resource, subresource: &str, old: &Value, new: &mut Value) {
    if resource.is_custom() {
        let status = new.get("status").cloned();
        let metadata = kept_metadata(old, new);
        *new = old.clone();
        new["metadata"] = metadata;
        match status {
            Some(status) => new["status"] = status,
            None => {
                if let Some(map) = new.as_object_mut() {
                    map.remove("status");
                }
            }
        }
        return;
    }
    let members: Vec<String> = old
        .as_object()
        .into_iter()
        .chain(new.as_object())
        .flat_map(|map| map.keys().cloned())
        .filter(|member| !matches!(member.as_str(), "metadata" | "apiVersion" | "kind"))
        .collect();
    for member in members {
        let written = match (resource.plural.as_str(), subresource) {
            ("pods", "resize" | "ephemeralcontainers") | ("namespaces", "finalize") => member == "spec",
            _ => member == "status",
        };
        if !written {
            carry(old, new, &member);
        }
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("apps", "deployments") => carry_meta(old, new, "labels"),
        ("apiextensions.k8s.io", _) => {
            new["metadata"] = kept_metadata(old, new);
            definition::prepare_status(old, new);
        }
        ("", "pods") => carry_meta(old, new, "ownerReferences"),
        _ => {}
    }
}

/// The old metadata, with the managed fields of the new.
fn kept_metadata(old: &Value, new: &Value) -> Value {
    let mut metadata = old["metadata"].clone();
    carry(&new["metadata"], &mut metadata, "managedFields");
    for field in ["uid", "resourceVersion", "deletionTimestamp"] {
        if let Some(value) = new["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    metadata
}

fn carry_meta(old: &Value, new: &mut Value, field: &str) {
    let value = old["metadata"].get(field).cloned();
    let metadata = meta_mut(new);
    match value {
        Some(value) => metadata.insert(field.to_owned(), value),
        None => metadata.remove(field),
    };
}
