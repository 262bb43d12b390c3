//! What single built-in kinds do differently when they are written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::object::{carry, meta_mut, meta_str};
use crate::registry::Resource;
use crate::state::State;
use crate::status::Cause;

/// Before an object is created: the status is not the client's, and some fields have defaults.
pub(crate) fn prepare_create(resource: &Resource, object: &mut Value, _state: &mut State) {
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
        ("", "pods") => object["status"] = json!({"phase": "Pending", "qosClass": "BestEffort"}),
        ("", "persistentvolumes" | "persistentvolumeclaims") => {
            object["status"] = json!({"phase": "Pending"});
        }
        ("", "services") => object["status"] = json!({"loadBalancer": {}}),
        ("", "nodes") => {}
        ("apiextensions.k8s.io", _) => {}
        _ if resource.has_status() => object["status"] = json!({}),
        _ => {}
    }
    prepare_both(resource, object);
}

/// Before an object is replaced through its own path: the status stays.
pub(crate) fn prepare_update(resource: &Resource, old: &Value, new: &mut Value) {
    if resource.has_status() {
        carry(old, new, "status");
    }
    if resource.is("", "namespaces") {
        carry(&old["spec"].clone(), &mut new["spec"], "finalizers");
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
        ("", "secrets") => secret(object),
        _ => {}
    }
}

/// `stringData` is written into `data`, and wins.
fn secret(object: &mut Value) {
    let Some(map) = object.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(texts)) = map.remove("stringData") {
        let data = map.entry("data").or_insert_with(|| Value::Object(Map::new()));
        for (key, text) in texts {
            data[key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
        }
    }
    let type_missing = map
        .get("type")
        .is_none_or(|ty| ty.as_str().unwrap_or_default().is_empty());
    if type_missing {
        map.insert("type".into(), "Opaque".into());
    }
}

/// What is wrong with an object besides its metadata.
pub(crate) fn validate(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    if let Some(custom) = &resource.custom {
        return custom.schema.validate(new, old);
    }
    let mut causes = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps") => config_map(new),
        ("", "secrets") => secret_data(new),
        _ => Vec::new(),
    };
    if let Some(old) = old {
        causes.extend(immutable(resource, new, old));
    }
    causes
}

const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

fn config_key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if key.is_empty() || !key.bytes().all(plain) {
        problems.push(CONFIG_KEY.to_owned());
    } else if key == "." {
        problems.push("must not be '.'".to_owned());
    } else if key == ".." {
        problems.push("must not be '..'".to_owned());
    } else if key.starts_with("..") {
        problems.push("must not start with '..'".to_owned());
    }
    problems
}

fn keys(object: &Value, field: &str) -> Vec<String> {
    object[field]
        .as_object()
        .map(|map| map.keys().cloned().collect())
        .unwrap_or_default()
}

fn config_map(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut size = 0;
    for field in ["data", "binaryData"] {
        for key in keys(object, field) {
            for problem in config_key_problems(&key) {
                causes.push(Cause::invalid(
                    format!("{field}[{key}]"),
                    &key.as_str().into(),
                    &problem,
                ));
            }
            if field == "data" && object["binaryData"].get(&key).is_some() {
                causes.push(Cause::invalid(
                    format!("data[{key}]"),
                    &key.as_str().into(),
                    "duplicate of key present in binaryData",
                ));
            }
            let text = object[field][&key].as_str().unwrap_or_default();
            size += if field == "data" {
                text.len()
            } else {
                STANDARD.decode(text).map_or(0, |bytes| bytes.len())
            };
        }
    }
    if size > DATA_LIMIT {
        causes.push(Cause::new(
            "FieldValueTooLong",
            "",
            format!("Too long: may not be more than {DATA_LIMIT} bytes"),
        ));
    }
    causes
}

/// The largest sum of all values of a ConfigMap or Secret.
const DATA_LIMIT: usize = 1 << 20;

fn secret_data(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut size = 0;
    for key in keys(object, "data") {
        for problem in config_key_problems(&key) {
            causes.push(Cause::invalid(
                format!("data[{key}]"),
                &key.as_str().into(),
                &problem,
            ));
        }
        let text = object["data"][&key].as_str().unwrap_or_default();
        size += STANDARD.decode(text).map_or(0, |bytes| bytes.len());
    }
    if size > DATA_LIMIT {
        causes.push(Cause::too_long("data", DATA_LIMIT));
    }
    let required: &[&str] = match object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        _ => &[],
    };
    for key in required {
        if object["data"].get(*key).is_none() {
            causes.push(Cause::required(format!("data[{key}]"), ""));
        }
    }
    causes
}

fn immutable(resource: &Resource, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let is_config = resource.is("", "configmaps") || resource.is("", "secrets");
    if is_config && old["immutable"] == true {
        if new["immutable"] != true {
            causes.push(Cause::forbidden(
                "immutable",
                "field is immutable when `immutable` is set",
            ));
        }
        for field in ["data", "binaryData"] {
            if new[field] != old[field] {
                causes.push(Cause::forbidden(
                    field,
                    "field is immutable when `immutable` is set",
                ));
            }
        }
    }
    if resource.is("", "secrets") && new["type"] != old["type"] {
        causes.push(Cause::invalid("type", &new["type"], "field is immutable"));
    }
    causes
}
