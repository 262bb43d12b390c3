//! The whole, on a cluster inside the test.

use controller_runtime::{
    prelude::*,
    testing::{Cluster, Fault, When},
};
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota};
use serde_json::json;

use crate::{operator, types::NamespaceQuota};

const NAMESPACES: &str = include_str!("../manifests/10-namespaces.yaml");
const QUOTAS: &str = include_str!("../manifests/20-quotas.yaml");

async fn places(cluster: &Cluster) -> Vec<String> {
    let quotas = cluster.list::<ResourceQuota>().await;
    let place = |quota: &ResourceQuota| format!("{}/{}", quota.namespace().unwrap(), quota.name_any());
    quotas.iter().map(place).collect()
}

#[controller_test(run = operator())]
async fn quotas_follow_the_labels_of_namespaces(cluster: Cluster) {
    cluster.apply(NAMESPACES).await;
    cluster.apply(QUOTAS).await;
    cluster.settle().await;
    assert_eq!(
        places(&cluster).await,
        ["team-a/small", "team-b/small", "team-c/large"]
    );
    let small = cluster.get::<NamespaceQuota>("small").await;
    assert_eq!(small.status.unwrap().namespaces, 2);

    cluster
        .patch::<Namespace>("team-b", json!({"metadata": {"labels": {"size": "large"}}}))
        .await;
    cluster.delete::<Namespace>("team-a").await;
    cluster.settle().await;
    assert_eq!(places(&cluster).await, ["team-b/large", "team-c/large"]);

    cluster.delete::<NamespaceQuota>("large").await;
    cluster.settle().await;
    assert!(places(&cluster).await.is_empty(), "they go with their owner");
}

#[controller_test(run = operator())]
async fn a_quota_that_someone_edits_or_deletes_is_put_right(cluster: Cluster) {
    cluster.apply(NAMESPACES).await;
    cluster.apply(QUOTAS).await;
    cluster.settle().await;
    cluster
        .patch::<ResourceQuota>("team-a/small", json!({"spec": {"hard": {"pods": "1000"}}}))
        .await;
    cluster.delete::<ResourceQuota>("team-b/small").await;
    cluster.settle().await;
    for namespace in ["team-a", "team-b"] {
        let quota = cluster.get::<ResourceQuota>(&format!("{namespace}/small")).await;
        assert_eq!(quota.spec.unwrap().hard.unwrap()["pods"].0, "10", "{namespace}");
    }
}

#[controller_test(run = operator())]
async fn no_quota_is_for_every_namespace(cluster: Cluster) {
    cluster.apply(QUOTAS).await;
    cluster.settle().await;
    let everywhere = cluster.get::<NamespaceQuota>("everywhere").await;
    let ready = everywhere.status.unwrap().conditions.remove(0);
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "NoLabels")
    );
    assert!(places(&cluster).await.is_empty());
}

#[controller_test(run = operator())]
async fn the_printed_roles_are_exact(cluster: Cluster) {
    cluster.fault(When::any(), Fault::RefuseStreamingLists);
    cluster.apply(NAMESPACES).await;
    cluster.apply(QUOTAS).await;
    cluster.settle().await;
    for pods in ["1000", "2000"] {
        let edit = json!({"spec": {"hard": {"pods": pods}}});
        cluster.patch::<ResourceQuota>("team-a/small", edit).await;
        cluster.settle().await;
    }
    cluster
        .patch::<Namespace>("team-a", json!({"metadata": {"labels": {"size": null}}}))
        .await;
    cluster.settle().await;
    let audit = cluster.audit("namespaces come, change and go");
    audit.lease_unused_ok().assert_rbac_exact();
}
