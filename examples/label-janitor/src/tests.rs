//! The whole, on a cluster inside the test.

use controller_runtime::{
    prelude::*,
    testing::{Cluster, Fault, When},
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use serde_json::json;

use crate::{KINDS, operator};

const OBJECTS: &str = include_str!("../manifests/10-objects.yaml");

fn labels(object: &impl ResourceExt) -> Vec<String> {
    let labels = object.labels().iter();
    labels.map(|(key, value)| format!("{key}={value}")).collect()
}

#[controller_test(run = operator(KINDS).unwrap())]
async fn the_old_label_is_renamed_on_all_kinds(cluster: Cluster) {
    cluster.apply(OBJECTS).await;
    cluster.settle().await;
    let settings = cluster.get::<ConfigMap>("settings").await;
    assert_eq!(labels(&settings), ["example.com/team=carts", "tier=front"]);
    assert_eq!(settings.data.unwrap()["color"], "green", "all else stays");
    assert_eq!(
        labels(&cluster.get::<Deployment>("web").await),
        ["example.com/team=carts"]
    );
    assert_eq!(
        labels(&cluster.get::<ConfigMap>("tidy").await),
        ["example.com/team=stock"]
    );

    cluster
        .patch::<ConfigMap>("tidy", json!({"metadata": {"labels": {"team": "stock"}}}))
        .await;
    cluster.settle().await;
    assert_eq!(
        labels(&cluster.get::<ConfigMap>("tidy").await),
        ["example.com/team=stock"]
    );
}

#[controller_test(run = operator(KINDS).unwrap())]
async fn a_contradiction_is_told_and_the_new_label_stays(cluster: Cluster) {
    cluster.apply(OBJECTS).await;
    cluster.settle().await;
    assert_eq!(
        labels(&cluster.get::<ConfigMap>("torn").await),
        ["example.com/team=stock"]
    );
    let told = cluster.events().await;
    assert_eq!((told.len(), told[0].reason.as_str()), (1, "Contradiction"));
}

/// What is in order is not even watched.
#[controller_test(run = operator("v1/ConfigMap").unwrap())]
async fn only_what_carries_the_old_label_is_read_and_written(cluster: Cluster) {
    cluster.apply(OBJECTS).await;
    cluster.settle().await;
    let seen: Vec<_> = cluster
        .reconciles()
        .iter()
        .map(|one| one.object.name.clone())
        .collect();
    assert!(!seen.contains(&"tidy".to_owned()), "{seen:?}");
    let before = cluster.requests().len();
    cluster
        .patch::<ConfigMap>("tidy", json!({"data": {"color": "red"}}))
        .await;
    cluster.settle().await;
    assert_eq!(cluster.requests().len(), before);
}

#[controller_test(run = operator("v1/ConfigMap").unwrap())]
async fn the_printed_roles_are_exact(cluster: Cluster) {
    cluster.fault(When::any(), Fault::RefuseStreamingLists);
    cluster.apply(OBJECTS).await;
    cluster.settle().await;
    cluster
        .patch::<ConfigMap>("torn", json!({"metadata": {"labels": {"team": "carts"}}}))
        .await;
    cluster.settle().await;
    let audit = cluster.audit("labels are put in order");
    audit.lease_unused_ok().assert_rbac_exact();
}

#[test]
fn a_mistake_in_the_kinds_is_told() {
    let mistake = operator("v1/ConfigMap, Deployment").unwrap_err();
    assert!(mistake.contains("\"Deployment\" is no kind"), "{mistake}");
}
