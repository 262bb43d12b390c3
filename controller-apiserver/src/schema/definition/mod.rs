//! Definitions of custom resources: what is filled in, what is wrong, and which names are accepted.
//!
//! Pure functions over the JSON of a `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
//! Source: API documentation, "Extend the Kubernetes API with `CustomResourceDefinition`s" and
//! "Versions in `CustomResourceDefinition`s".
//!
//! Not checked: the certificates of a conversion webhook.

mod accept;
mod approval;
mod canonical;
mod conversion;
mod names;
mod update;
mod validate;
mod version;

use serde_json::{Map, Value, json};

use super::json::{flag, object, objects, text};
pub(crate) use accept::accept;
pub(crate) use update::{validate_status, validate_update};
pub(crate) use validate::{validate_create, warnings};

type Object = Map<String, Value>;

/// Fills in what the server fills in, in a definition that came in.
pub(crate) fn default(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let kind = object(spec, "names")
        .map(|names| text(names, "kind").to_owned())
        .unwrap_or_default();
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut)
        && !kind.is_empty()
    {
        for (key, value) in [
            ("singular", kind.to_lowercase()),
            ("listKind", format!("{kind}List")),
        ] {
            if text(names, key).is_empty() {
                names.insert(key.to_owned(), value.into());
            }
        }
    }
    if object(spec, "conversion").is_none() {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
    if let Some(service) = spec
        .get_mut("conversion")
        .and_then(|conversion| conversion.pointer_mut("/webhook/clientConfig/service"))
        .and_then(Value::as_object_mut)
    {
        service.entry("port").or_insert_with(|| json!(443));
    }
    canonical::schemas(spec);
    if !flag(spec, "preserveUnknownFields") {
        spec.remove("preserveUnknownFields");
    }
}

/// Gives a new definition the status it starts with.
pub(crate) fn prepare_create(definition: &mut Value) {
    default(definition);
    let stored: Vec<Value> = storage_version(definition).into_iter().map(Value::from).collect();
    let mut status = json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": null});
    status["storedVersions"] = if stored.is_empty() {
        Value::Null
    } else {
        stored.into()
    };
    definition["status"] = status;
}

/// Keeps the status of a definition whose spec is replaced, and remembers a new storage version.
pub(crate) fn prepare_update(old: &Value, new: &mut Value) {
    default(new);
    new["status"] = old["status"].clone();
    remember_storage_version(new);
}

/// Completes a status that was replaced: what has been stored can only be forgotten on purpose.
pub(crate) fn prepare_status(old: &Value, new: &mut Value) {
    let given = new["status"]["storedVersions"]
        .as_array()
        .is_some_and(|versions| !versions.is_empty());
    if !given {
        new["status"]["storedVersions"] = old["status"]["storedVersions"].clone();
    }
    if new["status"].get("acceptedNames").is_none() {
        new["status"]["acceptedNames"] = json!({"kind": "", "plural": ""});
    }
    if new["status"].get("conditions").is_none() {
        new["status"]["conditions"] = Value::Null;
    }
}

fn remember_storage_version(definition: &mut Value) {
    let Some(version) = storage_version(definition) else {
        return;
    };
    let stored = &mut definition["status"]["storedVersions"];
    match stored.as_array_mut() {
        Some(versions) if versions.iter().any(|one| *one == version) => {}
        Some(versions) => versions.push(version.into()),
        None => *stored = json!([version]),
    }
}

/// The name of the first version that is marked as the stored one.
fn storage_version(definition: &Value) -> Option<String> {
    let spec = definition.get("spec")?.as_object()?;
    let stored = objects(spec, "versions").find(|(_, version)| flag(version, "storage"));
    stored.map(|(_, version)| text(version, "name").to_owned())
}

/// The spec of a definition; an empty one if there is none.
fn spec(definition: &Value) -> Object {
    definition
        .get("spec")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}
