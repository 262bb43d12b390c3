//! The whole, on a cluster inside the test, with the real definitions and samples of the Gateway API.

use controller_runtime::{
    prelude::*,
    testing::{Cluster, Fault, When},
};
use k8s_openapi::api::core::v1::Namespace;
use serde_json::{from_value, json};

use crate::{
    controller::CONTROLLER,
    operator,
    types::{Gateway, GatewayClass, HTTPRoute, ParentStatus},
};

const DEFINITIONS: [&str; 3] = [
    include_str!("../manifests/00-gatewayclasses.yaml"),
    include_str!("../manifests/00-gateways.yaml"),
    include_str!("../manifests/00-httproutes.yaml"),
];
const SAMPLES: [&str; 4] = [
    include_str!("../manifests/10-class.yaml"),
    include_str!("../manifests/20-basic-http.yaml"),
    include_str!("../manifests/30-cross-namespace-routing.yaml"),
    include_str!("../manifests/40-trouble.yaml"),
];

async fn start(cluster: &Cluster) {
    cluster.apply(DEFINITIONS).await;
    cluster.settle().await;
    cluster.start(operator()).await;
    cluster.apply(SAMPLES).await;
    cluster.settle().await;
}

/// The status and the reason of `Accepted`, for each parent.
async fn accepted(cluster: &Cluster, route: &str) -> Vec<(String, String)> {
    let status = cluster.get::<HTTPRoute>(route).await.status.unwrap_or_default();
    let accepted = |parent: &ParentStatus| {
        let condition = &parent.conditions[0];
        (condition.status.clone(), condition.reason.clone())
    };
    status.parents.iter().map(accepted).collect()
}

async fn attached(cluster: &Cluster, gateway: &str) -> usize {
    let status = cluster.get::<Gateway>(gateway).await.status.unwrap();
    status.listeners[0].attached_routes
}

fn says(status: &str, reason: &str) -> Vec<(String, String)> {
    vec![(status.to_owned(), reason.to_owned())]
}

#[controller_test]
async fn routes_are_told_who_takes_them(cluster: Cluster) {
    start(&cluster).await;
    assert_eq!(accepted(&cluster, "http-app-1").await, says("True", "Accepted"));
    assert_eq!(attached(&cluster, "my-gateway").await, 1);
    for route in ["site-ns/home", "site-ns/login", "store-ns/store"] {
        assert_eq!(
            accepted(&cluster, route).await,
            says("True", "Accepted"),
            "{route}"
        );
    }
    assert_eq!(attached(&cluster, "infra-ns/shared-gateway").await, 3);
    let stranger = accepted(&cluster, "no-external-access/stranger").await;
    assert_eq!(stranger, says("False", "NotAllowedByListeners"));
    let elsewhere = accepted(&cluster, "site-ns/elsewhere").await;
    assert_eq!(elsewhere, says("False", "NoMatchingListenerHostname"));
    assert!(accepted(&cluster, "site-ns/lost").await.is_empty());
}

#[controller_test]
async fn attachment_follows_namespaces_gateways_and_classes(cluster: Cluster) {
    start(&cluster).await;
    let open = json!({"metadata": {"labels": {"shared-gateway-access": "true"}}});
    cluster.patch::<Namespace>("no-external-access", open).await;
    cluster.settle().await;
    let stranger = accepted(&cluster, "no-external-access/stranger").await;
    assert_eq!(stranger, says("True", "Accepted"));
    assert_eq!(attached(&cluster, "infra-ns/shared-gateway").await, 4);

    let nowhere = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "nowhere", "namespace": "site-ns"},
        "spec": {"gatewayClassName": "late", "listeners": [{"name": "http", "protocol": "HTTP", "port": 80}]},
    });
    cluster.apply(nowhere).await;
    cluster.settle().await;
    assert!(
        accepted(&cluster, "site-ns/lost").await.is_empty(),
        "the class is not there"
    );
    let class = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
        "metadata": {"name": "late"}, "spec": {"controllerName": CONTROLLER},
    });
    cluster.apply(class).await;
    cluster.settle().await;
    assert_eq!(accepted(&cluster, "site-ns/lost").await, says("True", "Accepted"));
    cluster.delete::<Gateway>("site-ns/nowhere").await;
    cluster.settle().await;
    assert!(accepted(&cluster, "site-ns/lost").await.is_empty());
}

#[controller_test]
async fn what_other_controllers_say_stays(cluster: Cluster) {
    start(&cluster).await;
    let theirs = json!({"parentRef": {"name": "mesh", "kind": "Service", "group": ""}, "controllerName": "other.io/mesh", "conditions": [
        {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]});
    let theirs: ParentStatus = from_value(theirs).unwrap();
    let mut parents = cluster
        .get::<HTTPRoute>("site-ns/home")
        .await
        .status
        .unwrap()
        .parents;
    parents.push(theirs.clone());
    let routes: Api<HTTPRoute> = Api::namespaced(cluster.client(), "site-ns");
    let patch = kube::api::Patch::Merge(json!({"status": {"parents": parents}}));
    routes
        .patch_status("home", &Default::default(), &patch)
        .await
        .unwrap();
    cluster.delete::<GatewayClass>("shared-gateway-class").await;
    cluster.settle().await;
    let parents = cluster
        .get::<HTTPRoute>("site-ns/home")
        .await
        .status
        .unwrap()
        .parents;
    assert_eq!(parents, [theirs]);
}

#[controller_test]
async fn nothing_is_written_while_nothing_changes(cluster: Cluster) {
    start(&cluster).await;
    let before = cluster.requests().writes().len();
    cluster.advance(Duration::from_secs(3600)).await;
    cluster.stop().await;
    cluster.start(operator()).await;
    cluster.settle().await;
    assert_eq!(cluster.requests().writes().len(), before, "not even by a restart");
}

#[controller_test]
async fn the_printed_roles_are_exact(cluster: Cluster) {
    cluster.fault(When::any(), Fault::RefuseStreamingLists);
    start(&cluster).await;
    cluster
        .audit("the samples are applied")
        .lease_unused_ok()
        .assert_rbac_exact();
}
