//! When `metadata.generation` rises.
//!
//! Source: API conventions, "Metadata": it counts changes of the desired state.

use serde_json::Value;

use crate::object::{meta, meta_mut};
use crate::registry::Resource;

/// The generation of an object that is created: kinds that count start at 1.
pub(crate) fn start(resource: &Resource, object: &mut Value) {
    if resource.rules.generation {
        meta_mut(object).insert("generation".into(), 1.into());
    }
}

/// Raises the generation if the desired state differs.
pub(crate) fn advance(resource: &Resource, old: &Value, new: &mut Value) {
    if resource.rules.generation && desired_differs(resource, old, new) {
        bump(new);
    }
}

/// Raises the generation of an object that has one.
pub(crate) fn bump(object: &mut Value) {
    let metadata = meta_mut(object);
    if let Some(generation) = metadata.get("generation").and_then(Value::as_i64)
        && generation > 0
    {
        metadata.insert("generation".into(), (generation + 1).into());
    }
}

fn desired_differs(resource: &Resource, old: &Value, new: &Value) -> bool {
    let counts = |field: &str| match field {
        "metadata" | "apiVersion" | "kind" => false,
        "status" => resource.is_custom() && !resource.has_status(),
        _ => true,
    };
    let fields = |object: &Value| -> Vec<(String, Value)> {
        object
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(field, _)| counts(field))
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect()
    };
    // A Deployment hands its annotations on to its ReplicaSets, so they count as well.
    let annotations = |object: &Value| meta(object).and_then(|meta| meta.get("annotations").cloned());
    fields(old) != fields(new) || (resource.is("apps", "deployments") && annotations(old) != annotations(new))
}
