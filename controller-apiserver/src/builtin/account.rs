//! What admission adds to a Pod: a service account with its token, a priority, and how long it
//! stays on a node that is gone.
//!
//! Source: documentation, "Managing Service Accounts" (admission controller), "Taints and
//! Tolerations" (`DefaultTolerationSeconds`), "Pod Priority and Preemption".

use serde_json::{Value, json};

use super::at;
use crate::defaults::set;

const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The name of a Pod's service account.
pub(crate) fn account_of(pod: &Value) -> &str {
    match at(pod, "spec.serviceAccountName").as_str() {
        Some(name) if !name.is_empty() => name,
        _ => "default",
    }
}

/// Gives a Pod its service account, and the token unless one of both does not want it.
///
/// `volume` is the name of the volume with the token.
pub(crate) fn attach(pod: &mut Value, account: &Value, volume: &str) {
    let name = account_of(pod).to_owned();
    let spec = &mut pod["spec"];
    spec["serviceAccountName"] = name.as_str().into();
    spec["serviceAccount"] = name.into();
    let secrets = &account["imagePullSecrets"];
    let own = spec["imagePullSecrets"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    if !own && secrets.as_array().is_some_and(|list| !list.is_empty()) {
        spec["imagePullSecrets"] = secrets.clone();
    }
    let wanted = spec["automountServiceAccountToken"].as_bool();
    let wanted = wanted.or_else(|| account["automountServiceAccountToken"].as_bool());
    if wanted == Some(false) {
        return;
    }
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        for container in spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            mounted |= mount(container, volume);
        }
    }
    if mounted {
        append(&mut spec["volumes"], token(volume));
    }
}

/// Mounts the token, unless something else is mounted there.
fn mount(container: &mut Value, volume: &str) -> bool {
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    if !container.is_object() || mounts.into_iter().any(|mount| mount["mountPath"] == MOUNT_PATH) {
        return false;
    }
    let mount = json!({"name": volume, "readOnly": true, "mountPath": MOUNT_PATH});
    append(&mut container["volumeMounts"], mount);
    true
}

fn append(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(items) => items.push(item),
        None => *list = json!([item]),
    }
}

fn token(volume: &str) -> Value {
    json!({
        "name": volume,
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
        },
    })
}

/// Gives a Pod what every Pod gets.
pub(crate) fn admit(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    if is_plain(&spec["priorityClassName"]) {
        set(spec, "priority", 0);
        set(spec, "preemptionPolicy", "PreemptLowerPriority");
    }
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = spec["tolerations"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|toleration| tolerates(toleration, key));
        if !tolerated {
            let toleration =
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
            append(&mut spec["tolerations"], toleration);
        }
    }
}

/// Classes of priority are not looked up.
fn is_plain(class: &Value) -> bool {
    class.as_str().unwrap_or_default().is_empty()
}

fn tolerates(toleration: &Value, key: &str) -> bool {
    let unset_or = |field: &str, wanted: &str| {
        let text = toleration[field].as_str().unwrap_or_default();
        text.is_empty() || text == wanted
    };
    unset_or("key", key) && unset_or("effect", "NoExecute")
}
