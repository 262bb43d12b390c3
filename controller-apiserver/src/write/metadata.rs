//! The rules of `ObjectMeta`.
//!
//! Source: API conventions, "Metadata", and the validation of `metav1.ObjectMeta`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::object::{is_terminating, meta, meta_list, meta_mut, meta_str};
use crate::registry::{Resource, names};
use crate::status::Cause;

/// The largest sum of all annotations, keys and values.
const ANNOTATIONS_LIMIT: usize = 256 << 10;

/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// What is wrong with the metadata of an object that is created.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    name(resource, object, &mut causes);
    labels(object, &mut causes);
    annotations(object, &mut causes);
    owner_references(object, &mut causes);
    finalizers(resource, object, &mut causes);
    causes
}

fn name(resource: &Resource, object: &Value, causes: &mut Vec<Cause>) {
    let rule = resource.rules.names;
    let prefix = meta_str(object, "generateName");
    if !prefix.is_empty() {
        for problem in rule.prefix_problems(prefix) {
            causes.push(Cause::invalid("metadata.generateName", &prefix.into(), &problem));
        }
    }
    let name = meta_str(object, "name");
    if name.is_empty() {
        causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        ));
        return;
    }
    for problem in rule.problems(name) {
        causes.push(Cause::invalid("metadata.name", &name.into(), &problem));
    }
}

fn map<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    meta(object)
        .and_then(|meta| meta.get(field)?.as_object())
        .into_iter()
        .flatten()
}

fn labels(object: &Value, causes: &mut Vec<Cause>) {
    for (key, value) in map(object, "labels") {
        for problem in names::qualified(key) {
            causes.push(Cause::invalid("metadata.labels", &key.as_str().into(), &problem));
        }
        for problem in names::label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid("metadata.labels", value, &problem));
        }
    }
}

fn annotations(object: &Value, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in map(object, "annotations") {
        size += key.len() + value.as_str().unwrap_or_default().len();
        for problem in names::qualified(&key.to_lowercase()) {
            causes.push(Cause::invalid(
                "metadata.annotations",
                &key.as_str().into(),
                &problem,
            ));
        }
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS_LIMIT));
    }
}

fn owner_references(object: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "metadata.ownerReferences";
    let Some(owners) = meta(object).and_then(|meta| meta.get("ownerReferences")?.as_array()) else {
        return;
    };
    let mut controller: Option<&Value> = None;
    for owner in owners {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        let api_version = text("apiVersion");
        if api_version.is_empty() || api_version.split('/').count() > 2 {
            causes.push(Cause::invalid(
                format!("{FIELD}.apiVersion"),
                &api_version.into(),
                "version must not be empty",
            ));
        }
        for field in ["kind", "name", "uid"] {
            if text(field).is_empty() {
                causes.push(Cause::invalid(
                    format!("{FIELD}.{field}"),
                    &"".into(),
                    "must not be empty",
                ));
            }
        }
        if api_version == "v1" && text("kind") == "Event" {
            causes.push(Cause::invalid(
                FIELD,
                owner,
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if owner["controller"] == true {
            if let Some(first) = controller {
                let who = |owner: &Value| {
                    format!(
                        "{}/{}",
                        owner["kind"].as_str().unwrap_or_default(),
                        owner["name"].as_str().unwrap_or_default()
                    )
                };
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
                    who(first),
                    who(owner)
                );
                causes.push(Cause::invalid(FIELD, &owners.clone().into(), &detail));
            }
            controller.get_or_insert(owner);
        }
    }
}

fn finalizers(resource: &Resource, object: &Value, causes: &mut Vec<Cause>) {
    for (index, finalizer) in meta_list(object, "finalizers").into_iter().enumerate() {
        for problem in names::qualified(finalizer) {
            causes.push(Cause::invalid("metadata.finalizers", &finalizer.into(), &problem));
        }
        if !resource.is_custom() && !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
            causes.push(Cause::invalid(
                format!("metadata.finalizers[{index}]"),
                &finalizer.into(),
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
}

/// Warnings about the metadata of an object that is written.
pub(crate) fn warnings(resource: &Resource, object: &Value) -> Vec<String> {
    if !resource.is_custom() {
        return Vec::new();
    }
    meta_list(object, "finalizers")
        .into_iter()
        .filter(|finalizer| !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(finalizer))
        .map(|finalizer| {
            format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            )
        })
        .collect()
}

/// Drops what only the server sets, before an object is created.
pub(crate) fn reset(object: &mut Value) {
    let metadata = meta_mut(object);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        metadata.remove(field);
    }
}

/// Takes over from the old object what a write cannot change, or what it left out.
pub(crate) fn inherit(old: &Value, new: &mut Value) {
    let empty = Map::new();
    let old = meta(old).unwrap_or(&empty);
    let new = meta_mut(new);
    for field in ["creationTimestamp", "generation", "selfLink"] {
        match old.get(field) {
            Some(value) => new.insert(field.to_owned(), value.clone()),
            None => new.remove(field),
        };
    }
    for field in [
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "namespace",
        "name",
    ] {
        let missing = new.get(field).is_none_or(|value| value.is_null() || value == "");
        if missing {
            match old.get(field) {
                Some(value) => new.insert(field.to_owned(), value.clone()),
                None => new.remove(field),
            };
        }
    }
}

/// What is wrong with the metadata of an object that is changed.
///
/// A cause comes as often as a real server finds it: what must not change twice, what is malformed
/// three times, and once more where the kind validates its whole object again.
pub(crate) fn validate_update(resource: &Resource, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    malformed(new, &mut causes);
    for finalizer in meta_list(new, "finalizers") {
        for problem in names::qualified(finalizer) {
            causes.push(Cause::invalid("metadata.finalizers", &finalizer.into(), &problem));
        }
    }
    for _ in 0..2 {
        causes.extend(forbidden_changes(old, new));
        malformed(new, &mut causes);
    }
    if validates_whole(resource) {
        causes.extend(validate(resource, new));
    } else if !resource.is_custom() {
        finalizers(resource, new, &mut causes);
    }
    causes
}

fn malformed(object: &Value, causes: &mut Vec<Cause>) {
    labels(object, causes);
    annotations(object, causes);
    owner_references(object, causes);
}

/// Kinds whose update runs the validation of their creation as well.
fn validates_whole(resource: &Resource) -> bool {
    const WHOLE: [&str; 8] = [
        "configmaps",
        "secrets",
        "services",
        "serviceaccounts",
        "endpoints",
        "limitranges",
        "resourcequotas",
        "events",
    ];
    !resource.is_custom()
        && (resource.group == "rbac.authorization.k8s.io"
            || (resource.group.is_empty() && WHOLE.contains(&resource.plural.as_str())))
}

/// What a change of metadata must not do.
fn forbidden_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let value = |object: &Value| meta(object).and_then(|meta| meta.get(field).cloned());
        let given = value(new);
        if given != value(old) {
            causes.push(Cause::invalid(
                format!("metadata.{field}"),
                &given.unwrap_or_default(),
                "field is immutable",
            ));
        }
    }
    if is_terminating(old) {
        let known: BTreeSet<_> = meta_list(old, "finalizers").into_iter().collect();
        let added: BTreeSet<_> = meta_list(new, "finalizers")
            .into_iter()
            .filter(|finalizer| !known.contains(finalizer))
            .map(|finalizer| format!("{finalizer:?}"))
            .collect();
        if !added.is_empty() {
            let added: Vec<_> = added.into_iter().collect();
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &detail));
        }
    }
    causes
}

/// Empty collections of metadata are not kept.
pub(crate) fn tidy(object: &mut Value) {
    let metadata = meta_mut(object);
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
}
