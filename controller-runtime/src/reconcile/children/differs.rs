//! Whether an apply would change anything. Pure.
//!
//! What is desired is held against the live object, but only in the fields that this manager owns: the rest is others'.
//! A wrong "differs" costs a request that changes nothing; a wrong "the same" would leave a change undone, so
//! whatever is not understood differs.

use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// Whether applying `desired` over `live` would change it, when `owned` (a `fieldsV1`) is what the last apply owns.
pub(super) fn differs(desired: &Value, live: &Value, owned: &Value) -> bool {
    let (Value::Object(desired), Value::Object(live), Value::Object(owned)) = (desired, live, owned) else {
        return true;
    };
    // Identity is in the request, and nobody owns it.
    let named = |key: &str| matches!(key, "apiVersion" | "kind");
    fields(desired, live, owned, &|key, desired, live, owned| {
        if key == "metadata" {
            metadata(desired, live, owned)
        } else {
            !named(key) && value(desired, live, owned)
        }
    }) || owned.keys().any(|key| !desires(desired, key))
}

fn metadata(desired: &Value, live: &Value, owned: Option<&Value>) -> bool {
    let (Value::Object(desired), Value::Object(live)) = (desired, live) else {
        return true;
    };
    let mut desired = desired.clone();
    desired.remove("name");
    desired.remove("namespace");
    match owned {
        Some(Value::Object(owned)) => object(&desired, live, owned),
        _ => desired.values().any(|value| !is_nothing(value)),
    }
}

/// Whether a `f:key` of ours is still desired.
fn desires(desired: &Object, owned: &str) -> bool {
    match owned.strip_prefix("f:") {
        Some(key) => desired.get(key).is_some_and(|value| !value.is_null()),
        None => owned == ".",
    }
}

fn object(desired: &Object, live: &Object, owned: &Object) -> bool {
    fields(desired, live, owned, &|_, desired, live, owned| {
        value(desired, live, owned)
    }) || owned.keys().any(|key| !desires(desired, key))
}

type Compare<'a> = &'a dyn Fn(&str, &Value, &Value, Option<&Value>) -> bool;

fn fields(desired: &Object, live: &Object, owned: &Object, compare: Compare<'_>) -> bool {
    desired
        .iter()
        .filter(|(_, value)| !value.is_null())
        .any(|(key, value)| {
            let live = live.get(key).unwrap_or(&Value::Null);
            compare(key, value, live, owned.get(&format!("f:{key}")))
        })
}

fn value(desired: &Value, live: &Value, owned: Option<&Value>) -> bool {
    let Some(Value::Object(owned)) = owned else {
        return true;
    };
    if owned.keys().all(|key| key == ".") {
        // A leaf: a scalar, or a list or object that is owned as a whole.
        return without_nulls(desired) != *live && !(is_nothing(desired) && is_nothing(live));
    }
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => object(desired, live, owned),
        (Value::Array(desired), Value::Array(live)) => list(desired, live, owned),
        _ => true,
    }
}

/// A list whose items are owned one by one: by their keys (`k:{…}`) or by their values (`v:…`).
fn list(desired: &[Value], live: &[Value], owned: &Object) -> bool {
    let mut claimed = 0;
    for (owner, below) in owned.iter().filter(|(owner, _)| *owner != ".") {
        let Some(identity) = Identity::parse(owner) else {
            return true;
        };
        let Some(wanted) = desired.iter().find(|item| identity.is_of(item)) else {
            return true;
        };
        let Some(there) = live.iter().find(|item| identity.is_of(item)) else {
            return true;
        };
        claimed += 1;
        if let (Identity::Keys(_), Value::Object(wanted), Value::Object(there), Value::Object(below)) =
            (&identity, wanted, there, below)
        {
            // An item can be owned as a whole, without any of its fields.
            let changed = if below.is_empty() {
                wanted != there
            } else {
                object(wanted, there, below)
            };
            if changed {
                return true;
            }
        }
    }
    claimed != desired.len()
}

/// What `k:{…}` or `v:…` names.
enum Identity {
    Keys(Object),
    Value(Value),
}

impl Identity {
    fn parse(owner: &str) -> Option<Self> {
        let (kind, json) = owner.split_once(':')?;
        match (kind, serde_json::from_str(json).ok()?) {
            ("k", Value::Object(keys)) => Some(Self::Keys(keys)),
            ("v", value) => Some(Self::Value(value)),
            _ => None,
        }
    }

    fn is_of(&self, item: &Value) -> bool {
        match self {
            Self::Value(value) => value == item,
            Self::Keys(keys) => keys
                .iter()
                .all(|(key, value)| item.get(key).is_none_or(|there| there == value)),
        }
    }
}

/// Null and empty mean the same to a server.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(object) => object.values().all(Value::is_null),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => object
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owned() -> Value {
        json!({
            "f:metadata": { "f:labels": { "f:app": {} }, "f:ownerReferences": { "k:{\"uid\":\"u\"}": {} } },
            "f:data": { "f:a": {}, "f:b": {} },
        })
    }

    fn desired() -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "x", "namespace": "d", "labels": { "app": "web" }, "ownerReferences": [{ "uid": "u", "name": "o" }] },
            "data": { "a": "1", "b": "2" },
        })
    }

    fn live() -> Value {
        let mut live = desired();
        live["metadata"]["resourceVersion"] = json!("7");
        live["metadata"]["labels"]["other"] = json!("theirs");
        live["data"]["c"] = json!("theirs");
        live
    }

    #[test]
    fn what_others_own_does_not_count() {
        assert!(!differs(&desired(), &live(), &owned()));
    }

    #[test]
    fn another_managers_edit_of_our_field_counts() {
        let mut live = live();
        live["data"]["a"] = json!("theirs");
        assert!(differs(&desired(), &live, &owned()));
    }

    #[test]
    fn a_field_that_is_not_desired_any_more_counts() {
        let mut desired = desired();
        desired["data"].as_object_mut().unwrap().remove("b");
        assert!(differs(&desired, &live(), &owned()));
        desired.as_object_mut().unwrap().remove("data");
        assert!(differs(&desired, &live(), &owned()));
    }

    #[test]
    fn a_field_that_is_not_ours_yet_counts() {
        let mut desired = desired();
        desired["data"]["c"] = json!("theirs");
        assert!(
            differs(&desired, &live(), &owned()),
            "it is to be ours, though it has the value"
        );
    }

    #[test]
    fn null_and_empty_are_absent() {
        let mut desired = desired();
        desired["binaryData"] = Value::Null;
        assert!(!differs(&desired, &live(), &owned()));
    }

    /// A port without its protocol is the one with the default protocol, which is not owned then.
    #[test]
    fn items_of_keyed_lists_are_told_apart_by_their_keys() {
        let owned = json!({ "f:spec": { "f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {}, "f:targetPort": {} },
        } } });
        let live = json!({ "spec": { "ports": [
            { "port": 443, "protocol": "TCP", "targetPort": 8443 },
            { "port": 80, "protocol": "TCP", "targetPort": 8080 },
        ] } });
        let differ = |ports: Value| differs(&json!({ "spec": { "ports": ports } }), &live, &owned);
        assert!(!differ(json!([{ "port": 80, "targetPort": 8080 }])));
        assert!(differ(json!([{ "port": 80, "targetPort": 9090 }])));
        assert!(differ(json!([])));
        assert!(differ(
            json!([{ "port": 80, "targetPort": 8080 }, { "port": 81 }])
        ));
    }

    #[test]
    fn sets_and_atomic_lists() {
        let owned =
            json!({ "f:metadata": { "f:finalizers": { "v:\"a/b\"": {} } }, "f:spec": { "f:args": {} } });
        let live = json!({ "metadata": { "finalizers": ["x/y", "a/b"] }, "spec": { "args": ["1", "2"] } });
        let same = json!({ "metadata": { "finalizers": ["a/b"] }, "spec": { "args": ["1", "2"] } });
        assert!(!differs(&same, &live, &owned));
        let other = json!({ "metadata": { "finalizers": ["a/b"] }, "spec": { "args": ["2", "1"] } });
        assert!(differs(&other, &live, &owned));
    }

    #[test]
    fn nothing_is_ours_before_the_first_apply() {
        assert!(differs(&desired(), &live(), &json!({})));
        assert!(differs(&desired(), &live(), &Value::Null));
    }
}
