//! What single built-in kinds do differently when they are written.

mod config;
mod event;
mod pod;
mod service;

pub(crate) use config::write_string_data;

use serde_json::{Map, Value, json};

use crate::access::{RBAC_GROUP, set_policy_defaults, validate_policy};
use crate::builtin;
use crate::object::{carry, meta_mut, meta_str};
use crate::registry::Resource;
use crate::schema::{Review, definition};
use crate::status::Cause;

/// Before an object is created: the status is not the client's, and some fields have defaults.
pub(crate) fn prepare_create(resource: &Resource, object: &mut Value) {
    if resource.is_custom() {
        if resource.has_status()
            && let Some(map) = object.as_object_mut()
        {
            map.remove("status");
        }
        return;
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => {
            object["status"] = json!({"phase": "Active"});
            let finalizers = &mut object["spec"]["finalizers"];
            let kept = finalizers.as_array_mut().map(std::mem::take);
            let mut list = kept.unwrap_or_default();
            if !list.iter().any(|finalizer| finalizer == "kubernetes") {
                list.push("kubernetes".into());
            }
            *finalizers = list.into();
        }
        ("", "persistentvolumes") => object["status"] = json!({"phase": "Pending"}),
        ("", "persistentvolumeclaims") => {
            object["status"] = json!({"phase": "Pending"});
            protect(object, "kubernetes.io/pvc-protection");
        }
        ("", "services") => {
            object["status"] = json!({"loadBalancer": {}});
            builtin::agree(object);
        }
        ("", "nodes") => {}
        ("apiextensions.k8s.io", _) => definition::prepare_create(object),
        (group, plural) if resource.has_status() => {
            object["status"] = builtin::first_status(resource, object);
            if (group, plural) == ("batch", "jobs") {
                builtin::label_job(object);
            }
        }
        _ => {}
    }
    prepare_both(resource, object);
}

/// Adds a finalizer that holds an object while it is in use.
fn protect(object: &mut Value, finalizer: &str) {
    let list = meta_mut(object).entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut()
        && !list.iter().any(|known| known == finalizer)
    {
        list.push(finalizer.into());
    }
}

/// Before an object is replaced through its own path: the status stays.
pub(crate) fn prepare_update(resource: &Resource, old: &Value, new: &mut Value) {
    if resource.is_definition() {
        definition::prepare_update(old, new);
        return;
    }
    if resource.has_status() {
        carry(old, new, "status");
    }
    if resource.is("", "namespaces") {
        carry(&old["spec"].clone(), &mut new["spec"], "finalizers");
    }
    if resource.is("", "services") {
        builtin::keep(old, new);
    }
    if !resource.is_custom() {
        prepare_both(resource, new);
    }
}

fn prepare_both(resource: &Resource, object: &mut Value) {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "namespaces") => {
            let name = meta_str(object, "name").to_owned();
            let labels = meta_mut(object)
                .entry("labels")
                .or_insert_with(|| Value::Object(Map::new()));
            labels["kubernetes.io/metadata.name"] = name.into();
        }
        (RBAC_GROUP, _) => set_policy_defaults(object),
        _ => {}
    }
}

/// What is wrong with an object besides its metadata.
pub(crate) fn review(resource: &Resource, new: &Value, old: Option<&Value>) -> Review {
    if let Some(custom) = &resource.custom {
        return custom.schema.review(new, old);
    }
    Review {
        causes: validate(resource, new, old),
        warnings: Vec::new(),
    }
}

/// What is wrong with an object whose status is written.
pub(crate) fn review_status(resource: &Resource, new: &Value, old: &Value) -> Review {
    if let Some(custom) = &resource.custom {
        return custom.schema.review(new, Some(old));
    }
    let causes = if resource.is_definition() {
        definition::validate_status(new)
    } else {
        builtin::validate_status(&resource.group, &resource.plural, new)
    };
    Review {
        causes,
        ..Review::default()
    }
}

/// What is worth a warning although it is accepted.
pub(crate) fn warnings(resource: &Resource, object: &Value) -> Vec<String> {
    if resource.is_definition() {
        definition::warnings(object)
    } else {
        Vec::new()
    }
}

fn validate(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    if resource.is_definition() {
        return match old {
            Some(old) => definition::validate_update(new, old),
            None => definition::validate_create(new),
        };
    }
    let mut causes = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps") => config::config_map(new),
        ("", "secrets") => config::secret(new),
        (RBAC_GROUP, plural) => validate_policy(plural, old, new),
        ("" | "events.k8s.io", "events") => event::validate(resource, new, old),
        ("coordination.k8s.io", "leases") => lease(new),
        (group, plural) => builtin::validate(group, plural, new, old),
    };
    if let Some(old) = old {
        causes.extend(config::immutable(resource, new, old));
    }
    causes
}

fn lease(object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let number = |field: &str| spec[field].as_i64();
    let mut causes = Vec::new();
    if let Some(seconds) = number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        causes.push(Cause::invalid(
            "spec.leaseDurationSeconds",
            &seconds.into(),
            "must be greater than 0",
        ));
    }
    if let Some(count) = number("leaseTransitions").filter(|count| *count < 0) {
        causes.push(Cause::invalid(
            "spec.leaseTransitions",
            &count.into(),
            "must be greater than or equal to 0",
        ));
    }
    causes
}
