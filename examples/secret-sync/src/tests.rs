//! The whole, on a cluster inside the test.

use controller_runtime::{
    prelude::*,
    testing::{Cluster, Fault, Verb, When},
};
use k8s_openapi::{
    ByteString,
    api::core::v1::{Namespace, Secret},
};
use serde_json::json;

use crate::{operator, types::SecretSync};

const NAMESPACES: &str = include_str!("../manifests/10-namespaces.yaml");
const SYNCS: &str = include_str!("../manifests/20-registry.yaml");

/// `namespace: value` of every Secret of this name.
async fn values(cluster: &Cluster) -> Vec<String> {
    let secrets = cluster.list::<Secret>().await;
    let value = |secret: &Secret| {
        let ByteString(value) = secret.data.as_ref().unwrap()["password"].clone();
        format!(
            "{}: {}",
            secret.namespace().unwrap(),
            String::from_utf8(value).unwrap()
        )
    };
    secrets
        .iter()
        .filter(|secret| secret.name_any() == "registry")
        .map(value)
        .collect()
}

async fn start(cluster: &Cluster) {
    cluster.apply(NAMESPACES).await;
    cluster.apply(SYNCS).await;
    cluster.settle().await;
}

#[controller_test(run = operator())]
async fn copies_follow_the_secret_and_the_labels(cluster: Cluster) {
    start(&cluster).await;
    assert_eq!(
        values(&cluster).await,
        ["platform: one", "team-a: one", "team-b: one"]
    );
    cluster
        .patch::<Secret>("platform/registry", json!({"stringData": {"password": "two"}}))
        .await;
    cluster
        .patch::<Namespace>("team-b", json!({"metadata": {"labels": {"pulls": null}}}))
        .await;
    cluster
        .apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-d", "labels": {"pulls": "yes"}}}))
        .await;
    cluster.settle().await;
    assert_eq!(
        values(&cluster).await,
        ["platform: two", "team-a: two", "team-d: two"]
    );
    let sync = cluster.get::<SecretSync>("platform/registry").await;
    assert_eq!(sync.status.unwrap().copies, 2);
}

#[controller_test(run = operator())]
async fn a_copy_that_someone_edits_or_deletes_is_put_right(cluster: Cluster) {
    start(&cluster).await;
    cluster
        .patch::<Secret>("team-a/registry", json!({"stringData": {"password": "mine"}}))
        .await;
    cluster.delete::<Secret>("team-b/registry").await;
    cluster.settle().await;
    assert_eq!(
        values(&cluster).await,
        ["platform: one", "team-a: one", "team-b: one"]
    );
}

/// Also when the server has trouble at first; and the original stays.
#[controller_test(run = operator())]
async fn copies_go_before_their_sync_goes(cluster: Cluster) {
    start(&cluster).await;
    cluster.fault(
        When::verb(Verb::Delete).resource("secrets").times(1),
        Fault::status(500),
    );
    cluster.delete::<SecretSync>("platform/registry").await;
    cluster.settle().await;
    assert!(
        cluster.find::<SecretSync>("platform/registry").await.is_some(),
        "it waits for its copies"
    );
    cluster.advance(Duration::from_secs(60)).await;
    assert!(cluster.find::<SecretSync>("platform/registry").await.is_none());
    assert_eq!(values(&cluster).await, ["platform: one"]);
}

#[controller_test(run = operator())]
async fn what_is_somebody_elses_is_left_alone(cluster: Cluster) {
    cluster.apply(NAMESPACES).await;
    let own = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry", "namespace": "team-a"},
        "stringData": {"password": "own"},
    });
    cluster.apply(own).await;
    cluster.apply(SYNCS).await;
    cluster.settle().await;
    assert!(values(&cluster).await.contains(&"team-a: own".to_owned()));
    let sync = cluster.get::<SecretSync>("platform/registry").await;
    let ready = &sync.status.unwrap().conditions[0];
    assert_eq!(ready.reason, "InTheWay");
    assert!(ready.message.contains("team-a/registry"), "{}", ready.message);
}

#[controller_test(run = operator())]
async fn the_printed_roles_are_exact(cluster: Cluster) {
    cluster.fault(When::any(), Fault::RefuseStreamingLists);
    start(&cluster).await;
    cluster.delete::<SecretSync>("platform/registry").await;
    cluster.settle().await;
    cluster
        .audit("copies come and go")
        .lease_unused_ok()
        .assert_rbac_exact();
}
