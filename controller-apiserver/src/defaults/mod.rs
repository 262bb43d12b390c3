//! What built-in kinds hold where a client said nothing.
//!
//! Source: the defaulting functions of Kubernetes 1.36 for what operators meet; kinds and volume
//! types that are not listed have none here. Defaults are part of decoding: what a creator left out
//! is the creator's as well.

mod admission;
mod network;
mod pod;
mod storage;
mod workloads;

use serde_json::{Map, Value, json};

/// Fills in the defaults of a built-in object that was decoded.
pub(crate) fn apply(group: &str, version: &str, kind: &str, object: &mut Value) {
    match group {
        "" => core(kind, object),
        "apps" | "batch" => workloads::apply(kind, object),
        "autoscaling" => workloads::autoscaler(version, object),
        "networking.k8s.io" | "discovery.k8s.io" => network::apply(kind, object),
        "storage.k8s.io" => storage::apply(kind, object),
        "admissionregistration.k8s.io" | "scheduling.k8s.io" => admission::apply(kind, object),
        _ => {}
    }
}

fn core(kind: &str, object: &mut Value) {
    match kind {
        "Pod" => pod::pod(object),
        "PodTemplate" => {
            if let Some(template) = present(object, "template") {
                pod::template(template);
            }
        }
        "ReplicationController" => workloads::apply(kind, object),
        "Service" | "Endpoints" => network::apply(kind, object),
        "PersistentVolume" | "PersistentVolumeClaim" => storage::apply(kind, object),
        "Secret" => set(object, "type", "Opaque"),
        "Node" => {
            let capacity = object["status"]["capacity"].clone();
            if capacity.is_object() {
                set(&mut object["status"], "allocatable", capacity);
            }
        }
        _ => {}
    }
}

/// Whether a field is missing, as Go sees it: an empty text is none.
fn missing(object: &Value, field: &str) -> bool {
    object
        .get(field)
        .is_none_or(|value| value.is_null() || value == "")
}

/// Sets a field that is missing. What holds it is made if need be, but never taken for another type.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    if missing(object, field)
        && let Some(members) = object.as_object_mut()
    {
        members.insert(field.to_owned(), value.into());
    }
}

/// Sets the fields that are missing.
fn set_all(object: &mut Value, fields: Value) {
    if let Value::Object(fields) = fields {
        for (field, value) in fields {
            set(object, &field, value);
        }
    }
}

/// A member that is an object.
fn present<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    object.get_mut(field).filter(|value| value.is_object())
}

/// The object at a path, if all of it is there.
fn at<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(object, |value, field| present(value, field))
}

/// The objects of a list that is there.
fn each<'a>(object: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = object.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter(|value| value.is_object())
}

/// The object under a field, made if it is missing; `None` if something else is there.
fn object<'a>(parent: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    set(parent, field, json!({}));
    parent.get_mut(field).filter(|value| value.is_object())
}

#[cfg(test)]
mod tests;
