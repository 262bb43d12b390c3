//! Strategic merge against the recorded conversations, and its rules.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::patch::typed::builtin;

fn schema(path: &str) -> Schema {
    if path.contains("/deployments/") {
        builtin("apps", "v1", "Deployment").unwrap()
    } else if path.contains("/services/") {
        builtin("", "v1", "Service").unwrap()
    } else {
        builtin("", "v1", "ConfigMap").unwrap()
    }
}

/// Only what the patched objects have is compared: the rest are defaults.
fn assert_within(part: &Value, whole: &Value, path: &str) {
    match (part, whole) {
        (Value::Object(part), _) => {
            for (key, value) in part {
                let ours = path == ".metadata" && key == "resourceVersion" || key == "generation";
                if !ours {
                    assert_within(value, &whole[key], &format!("{path}.{key}"));
                }
            }
        }
        (Value::Array(part), Value::Array(whole)) => {
            assert_eq!(part.len(), whole.len(), "{path}");
            for (index, (part, whole)) in part.iter().zip(whole).enumerate() {
                assert_within(part, whole, &format!("{path}[{index}]"));
            }
        }
        // An empty map is left out of the answer.
        _ => assert!(part == whole || *part == json!({}), "{path}: {part} {whole}"),
    }
}

#[test]
fn answers_are_those_of_a_real_server() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/patch");
    let mut played = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let recording = fs::read_to_string(entry.unwrap().path()).unwrap();
        let recording = recording
            .replace("${o1.metadata.uid}", "<uid:2>")
            .replace("${o2.metadata.uid}", "<uid:3>");
        let recording: Value = serde_json::from_str(&recording).unwrap();
        let mut live = json!({});
        for step in recording["scenario"]["steps"].as_array().unwrap() {
            let results = recording["results"].as_array().unwrap();
            let Some(answer) = results.iter().find(|result| result["id"] == step["id"]) else {
                continue;
            };
            let path = step["path"].as_str().unwrap();
            let strategic = step["contentType"] == "application/strategic-merge-patch+json";
            if strategic && step["rawBody"].is_null() {
                let result = apply(&live, &step["body"], &schema(path));
                match (answer["code"].as_u64().unwrap(), result) {
                    (200, Ok(object)) => assert_within(&object, &answer["body"], ""),
                    (500, Err(error)) => {
                        assert_eq!(error.code(), 500);
                        assert_eq!(error.message(), answer["body"]["message"].as_str().unwrap());
                    }
                    (422, Ok(_)) => {}
                    (code, result) => panic!("{step}: {code} {result:?}"),
                }
                played += 1;
            }
            if answer["body"]["kind"] != "Status" {
                live = answer["body"].clone();
            }
        }
    }
    assert!(played >= 25, "{played}");
}

fn patched(target: &Value, patch: &Value, kind: &str) -> Result<Value, PatchError> {
    let group = if kind == "Deployment" { "apps" } else { "" };
    apply(target, patch, &builtin(group, "v1", kind).unwrap())
}

#[test]
fn retain_keys_drops_the_rest() {
    let target = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(
        patched(&target, &patch, "Deployment").unwrap(),
        json!({"spec": {"strategy": {"type": "Recreate"}}})
    );
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}});
    let error = patched(&target, &patch, "Deployment").unwrap_err();
    assert_eq!(
        (error.code(), error.message().as_str()),
        (400, "invalid patch format of retainKeys")
    );
}

#[test]
fn lists_without_strategy_are_replaced() {
    let target =
        json!({"spec": {"tolerations": [{"key": "a"}], "containers": [{"name": "a", "args": ["x"]}]}});
    let patch =
        json!({"spec": {"tolerations": [{"key": "b"}], "containers": [{"name": "a", "args": ["y"]}]}});
    assert_eq!(patched(&target, &patch, "Pod").unwrap(), patch);
}

#[test]
fn replacing_a_list_takes_the_plain_elements() {
    let target = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
    let patch = json!({"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}});
    assert_eq!(
        patched(&target, &patch, "Pod").unwrap(),
        json!({"spec": {"containers": [{"name": "c"}]}})
    );
}

#[test]
fn what_is_new_comes_without_nulls_and_directives() {
    let patch = json!({"spec": {"containers": [{"name": "a", "image": null, "env": [{"name": "E", "$patch": "delete"}]}]}});
    assert_eq!(
        patched(&json!({}), &patch, "Pod").unwrap(),
        json!({"spec": {"containers": [{"name": "a", "env": []}]}})
    );
}

#[test]
fn senseless_patches_are_named() {
    let pod = json!({"spec": {"containers": [{"name": "a"}]}, "metadata": {"finalizers": ["x"]}});
    for (patch, code) in [
        (json!({"spec": {"containers": [{"image": "x"}]}}), 500),
        (
            json!({"spec": {"containers": [{"name": "a", "$patch": "what"}]}}),
            500,
        ),
        (json!({"spec": {"containers": ["a"]}}), 500),
        (json!({"metadata": {"finalizers": [{"a": 1}]}}), 500),
        (json!({"metadata": {"finalizers": [["a"]]}}), 500),
        (json!({"spec": {"$setElementOrder/containers": "a"}}), 500),
        (json!({"spec": {"$setElementOrder": []}}), 400),
        (json!({"$deleteFromPrimitiveList": []}), 400),
        (json!([]), 400),
    ] {
        let error = patched(&pod, &patch, "Pod").unwrap_err();
        assert_eq!(error.code(), code, "{patch} {error}");
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("spec"),
        Just("containers"),
        Just("name"),
        Just("ports"),
        Just("metadata"),
        Just("finalizers"),
        Just("$patch"),
        Just("$retainKeys"),
        Just("$setElementOrder/containers"),
        Just("$deleteFromPrimitiveList/finalizers"),
        Just("containerPort"),
        Just("labels"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!("a")),
        Just(json!("b")),
        Just(json!("delete")),
        Just(json!("replace")),
        Just(json!(1)),
        Just(json!(1.5)),
        Just(json!(true)),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics(target in json_value(), patch in json_value()) {
        let _ = patched(&target, &patch, "Pod");
    }

    /// A patch that is applied again changes nothing more.
    #[test]
    fn patches_are_idempotent(names in proptest::collection::vec("[a-d]", 0..5), new in proptest::collection::btree_set("[a-f]", 0..5)) {
        let list = |names: Vec<String>| -> Vec<Value> { names.into_iter().map(|name| json!({"name": name})).collect() };
        let names: std::collections::BTreeSet<_> = names.into_iter().collect();
        let target = json!({"spec": {"containers": list(names.into_iter().collect())}});
        let patch = json!({"spec": {"containers": list(new.into_iter().collect())}});
        let once = patched(&target, &patch, "Pod").unwrap();
        prop_assert_eq!(&patched(&once, &patch, "Pod").unwrap(), &once);
    }
}
