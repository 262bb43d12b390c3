//! Config maps and secrets: maps of keys to content.
//!
//! Source: the Kubernetes documentation on both, and their validation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::registry::Resource;
use crate::status::Cause;

/// `stringData` is written into `data`, and wins.
pub(crate) fn write_string_data(object: &mut Value) {
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

pub(super) fn config_map(object: &Value) -> Vec<Cause> {
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

pub(super) fn secret(object: &Value) -> Vec<Cause> {
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
    secret_type(object, &mut causes);
    causes
}

/// What the type of a Secret demands of its content.
fn secret_type(object: &Value, causes: &mut Vec<Cause>) {
    let data = &object["data"];
    let has = |key: &str| data.get(key).is_some();
    let kind = object["type"].as_str().unwrap_or_default();
    let required: &[&str] = match kind {
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => &["username", "password"],
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            let account = object["metadata"]["annotations"][ACCOUNT].as_str();
            if account.is_none_or(str::is_empty) {
                causes.push(Cause::required(format!("metadata.annotations[{ACCOUNT}]"), ""));
            }
            &[]
        }
        _ => &[],
    };
    for key in required {
        let field = format!("data[{key}]");
        if !has(key) {
            causes.push(Cause::required(field, ""));
        } else if kind.starts_with("kubernetes.io/dockerc") {
            let text = data[*key].as_str().unwrap_or_default();
            let bytes = STANDARD.decode(text).unwrap_or_default();
            if let Err(error) = serde_json::from_slice::<Map<String, Value>>(&bytes) {
                let detail = format!("not a JSON object ({:?})", error.classify());
                causes.push(Cause::invalid(
                    field,
                    &"<secret contents redacted>".into(),
                    &detail,
                ));
            }
        }
    }
}

pub(super) fn immutable(resource: &Resource, new: &Value, old: &Value) -> Vec<Cause> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_type_of_a_secret_demands_its_content() {
        let told = |kind: &str, data: Value| -> Vec<String> {
            let secret = json!({"type": kind, "data": data});
            super::secret(&secret)
                .into_iter()
                .map(|cause| cause.field)
                .collect()
        };
        let object = STANDARD.encode("{}");
        for (kind, data, fields) in [
            ("Opaque", json!({}), vec![]),
            ("example.com/own", json!({}), vec![]),
            (
                "kubernetes.io/basic-auth",
                json!({}),
                vec!["data[username]", "data[password]"],
            ),
            ("kubernetes.io/basic-auth", json!({"username": ""}), vec![]),
            ("kubernetes.io/ssh-auth", json!({}), vec!["data[ssh-privatekey]"]),
            ("kubernetes.io/tls", json!({"tls.crt": ""}), vec!["data[tls.key]"]),
            ("kubernetes.io/dockercfg", json!({}), vec!["data[.dockercfg]"]),
            (
                "kubernetes.io/dockercfg",
                json!({".dockercfg": "eA=="}),
                vec!["data[.dockercfg]"],
            ),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": object}),
                vec![],
            ),
            (
                "kubernetes.io/service-account-token",
                json!({}),
                vec!["metadata.annotations[kubernetes.io/service-account.name]"],
            ),
        ] {
            assert_eq!(told(kind, data.clone()), fields, "{kind} {data}");
        }
    }

    #[test]
    fn a_refusal_tells_nothing_of_the_secret() {
        let secret =
            json!({"type": "kubernetes.io/dockercfg", "data": {".dockercfg": STANDARD.encode("hunter2")}});
        let causes = super::secret(&secret);
        assert!(!causes.is_empty() && causes.iter().all(|cause| !cause.message.contains("hunter2")));
    }
}
