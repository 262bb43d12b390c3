//! Defaults that no recorded conversation shows, and that no object is broken by them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::apply;

fn defaulted(group: &str, kind: &str, mut object: Value) -> Value {
    apply(group, "v1", kind, &mut object);
    object
}

#[test]
fn images_are_pulled_anew_where_their_tag_moves() {
    for (image, policy) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("host:5000/nginx", "Always"),
        ("host:5000/nginx:1.2", "IfNotPresent"),
        ("nginx@sha256:00", "IfNotPresent"),
        ("nginx:latest@sha256:00", "IfNotPresent"),
    ] {
        let pod = defaulted("", "Pod", json!({"spec": {"containers": [{"image": image}]}}));
        assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], policy, "{image}");
    }
}

#[test]
fn what_is_given_stays() {
    let given = json!({"spec": {"replicas": 0, "strategy": {"type": "Recreate"}, "revisionHistoryLimit": 0}});
    let spec = defaulted("apps", "Deployment", given.clone())["spec"].clone();
    assert_eq!(spec["replicas"], 0);
    assert_eq!(spec["strategy"], given["spec"]["strategy"]);
    assert_eq!(spec["revisionHistoryLimit"], 0);
}

#[test]
fn limits_stand_in_for_requests_of_pods_only() {
    let spec = json!({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}}]});
    let pod = defaulted("", "Pod", json!({"spec": spec}));
    let requests = json!({"cpu": "500m", "memory": "1Gi"});
    assert_eq!(pod["spec"]["containers"][0]["resources"]["requests"], requests);
    let set = defaulted(
        "apps",
        "ReplicaSet",
        json!({"spec": {"template": {"spec": spec}}}),
    );
    let container = &set["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["resources"]["requests"], json!({"cpu": "500m"}));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 4, |inner| {
        let key = prop::sample::select(vec![
            "spec",
            "template",
            "containers",
            "volumes",
            "ports",
            "strategy",
            "rollingUpdate",
            "metadata",
            "labels",
            "resources",
            "limits",
            "requests",
            "livenessProbe",
            "httpGet",
            "webhooks",
            "rules",
            "subjects",
            "status",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..5).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    /// Defaults never panic, and a second time change nothing.
    #[test]
    fn defaults_are_idempotent(value in any_value()) {
        for (group, kind) in [
            ("", "Pod"), ("", "Service"), ("apps", "Deployment"), ("apps", "StatefulSet"), ("batch", "Job"),
            ("batch", "CronJob"), ("", "ReplicationController"), ("storage.k8s.io", "CSIDriver"),
            ("networking.k8s.io", "NetworkPolicy"), ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
("", "PersistentVolumeClaim"),
        ] {
            let once = defaulted(group, kind, value.clone());
            prop_assert_eq!(defaulted(group, kind, once.clone()), once);
        }
    }
}
