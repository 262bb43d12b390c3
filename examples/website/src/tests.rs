//! The whole, on a cluster inside the test whose servers start after a second.

use controller_runtime::{
    prelude::*,
    testing::{Cluster, Fault, When},
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service, networking::v1::Ingress};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{
    operator,
    types::{Website, WebsiteStatus},
};

fn website() -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "shop"},
        "spec": {"replicas": 2, "host": "shop.example.com", "pages": {"index.html": "<h1>Shop</h1>"}},
    })
}

async fn status(cluster: &Cluster) -> WebsiteStatus {
    cluster.get::<Website>("shop").await.status.unwrap()
}

fn holds(status: &WebsiteStatus, kind: &str) -> String {
    let condition = status.conditions.iter().find(|condition| condition.type_ == kind);
    condition
        .map(|condition| condition.status.clone())
        .unwrap_or_default()
}

#[controller_test(run = operator(), workloads = "1s")]
async fn the_status_follows_the_servers(cluster: Cluster) {
    cluster.apply(website()).await;
    cluster.settle().await;
    let starting = status(&cluster).await;
    assert_eq!(
        (starting.ready.as_str(), &*holds(&starting, "Available")),
        ("0/2", "False")
    );
    cluster.advance(Duration::from_secs(2)).await;
    let started = status(&cluster).await;
    assert_eq!(
        (started.ready.as_str(), &*holds(&started, "Available")),
        ("2/2", "True")
    );
    assert_eq!(holds(&started, "Ready"), "True");
}

/// What `cargo controller dev` applies.
#[controller_test(run = operator(), workloads = "1s")]
async fn the_websites_to_try_it_with_are_served(cluster: Cluster) {
    cluster.apply(include_str!("../manifests/10-websites.yaml")).await;
    cluster.advance(Duration::from_secs(2)).await;
    assert_eq!(status(&cluster).await.ready, "3/3");
    let handbook = cluster.get::<Website>("handbook").await;
    assert_eq!(handbook.status.unwrap().ready, "1/1");
}

/// As `kubectl scale` and an autoscaler do it.
#[controller_test(run = operator(), workloads = "1s")]
async fn it_is_scaled_like_a_deployment(cluster: Cluster) {
    cluster.apply(website()).await;
    cluster.advance(Duration::from_secs(2)).await;
    let websites: Api<Website> = Api::default_namespaced(cluster.client());
    let scale = Patch::Merge(json!({"spec": {"replicas": 5}}));
    websites
        .patch_scale("shop", &PatchParams::default(), &scale)
        .await
        .unwrap();
    cluster.advance(Duration::from_secs(2)).await;
    assert_eq!(status(&cluster).await.ready, "5/5");
    let scale = websites.get_scale("shop").await.unwrap().status.unwrap();
    assert_eq!(scale.replicas, 5);
    assert_eq!(scale.selector.as_deref(), Some("example.com/website=shop"));
}

#[controller_test(run = operator())]
async fn parts_come_are_put_right_and_go(cluster: Cluster) {
    cluster.apply(website()).await;
    cluster.settle().await;
    cluster.get::<Ingress>("shop").await;
    cluster
        .patch::<Deployment>("shop", json!({"spec": {"replicas": 0}}))
        .await;
    cluster.delete::<Service>("shop").await;
    cluster.settle().await;
    let servers = cluster.get::<Deployment>("shop").await.spec;
    assert_eq!(servers.replicas, Some(2));
    cluster.get::<Service>("shop").await;

    cluster
        .patch::<Website>("shop", json!({"spec": {"host": null}}))
        .await;
    cluster.settle().await;
    assert!(
        cluster.find::<Ingress>("shop").await.is_none(),
        "no host, no Ingress"
    );
    cluster.delete::<Website>("shop").await;
    cluster.settle().await;
    assert!(
        cluster.find::<Deployment>("shop").await.is_none(),
        "all goes with it"
    );
}

#[controller_test(run = operator(), workloads = "1s")]
async fn nothing_is_written_while_nothing_changes(cluster: Cluster) {
    cluster.apply(website()).await;
    cluster.advance(Duration::from_secs(10)).await;
    let before = cluster.requests().writes().len();
    cluster.advance(Duration::from_secs(3600)).await;
    cluster.stop().await;
    cluster.start(operator()).await;
    cluster.settle().await;
    assert_eq!(cluster.requests().writes().len(), before, "not even by a restart");
}

#[controller_test(run = operator())]
async fn the_printed_roles_are_enough(cluster: Cluster) {
    cluster.fault(When::any(), Fault::RefuseStreamingLists);
    cluster.apply(website()).await;
    cluster.settle().await;
    cluster
        .patch::<Website>("shop", json!({"spec": {"host": null}}))
        .await;
    cluster.settle().await;
    for replicas in [0, 7] {
        let edit = json!({"spec": {"replicas": replicas}});
        cluster.patch::<Deployment>("shop", edit).await;
        cluster.settle().await;
    }
    cluster
        .audit("a website comes and changes")
        .lease_unused_ok()
        .assert_rbac_exact();
}
