//! Owned objects wake their owners, whatever scope and version those have, and nobody else.

use std::time::Duration;

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace, Secret},
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api, Resource,
    api::{DeleteParams, PostParams},
};
use serde_json::json;

use super::world::{Seen, World, a_while, drive, noting};
use crate::{Config, Controller};

/// An owner reference without the controller flag.
fn owned_by<K: Resource<DynamicType = ()>>(owner: &K) -> OwnerReference {
    OwnerReference {
        controller: None,
        block_owner_deletion: None,
        ..owner.controller_owner_ref(&()).unwrap()
    }
}

/// kube-rs/kube#293, kubernetes-sigs/controller-runtime#214: a cluster-scoped owner was looked for in the namespace of its child.
#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_owner_runs_once_for_each_change_of_a_child_in_any_namespace() {
    let world = World::new();
    let seen = Seen::default();
    let parent = world.namespace("parent").await;
    let namespaces = ["one", "two", "three"];
    for namespace in namespaces {
        world.namespace(namespace).await;
    }
    let controller = Controller::new(
        Api::<Namespace>::all(world.controllers_client()),
        Default::default(),
    )
    .owns(Api::<Secret>::all(world.controllers_client()), Default::default());
    let _running = drive(noting(controller, &seen));
    a_while().await;
    seen.take();
    for namespace in namespaces {
        world
            .create::<Secret>(namespace, "child", vec![owned_by(&parent)])
            .await;
        a_while().await;
        assert_eq!(seen.take(), ["parent"], "made in {namespace}");
        world.label::<Secret>(namespace, "child", "changed").await;
        a_while().await;
        assert_eq!(seen.take(), ["parent"], "changed in {namespace}");
        let secrets = world.secrets(namespace);
        secrets.delete("child", &DeleteParams::default()).await.unwrap();
        a_while().await;
        assert_eq!(seen.take(), ["parent"], "deleted in {namespace}");
    }
}

/// What Kubernetes forbids is logged, and no stranger of the same name is taken for the owner.
#[cfg(feature = "cli")]
#[tokio::test(start_paused = true)]
async fn an_owner_in_another_namespace_is_logged_and_wakes_nobody() {
    let (logs, seen) = (crate::logs::Logs::capture(), Seen::default());
    let world = World::new();
    world.namespace("two").await;
    let owner = world.map("web").await;
    world.create::<ConfigMap>("two", "web", Vec::new()).await;
    let client = world.controllers_client();
    let controller = Controller::new(Api::<ConfigMap>::all(client.clone()), Default::default())
        .owns(Api::<Secret>::all(client.clone()), Default::default())
        .owns(Api::<Namespace>::all(client), Default::default());
    let _running = drive(noting(controller, &seen));
    a_while().await;
    seen.take();
    world
        .create::<Secret>("two", "child", vec![owned_by(&owner)])
        .await;
    let child = json!({ "metadata": { "name": "cluster-scoped", "ownerReferences": [owned_by(&owner)] } });
    let child: Namespace = serde_json::from_value(child).unwrap();
    let namespaces = Api::<Namespace>::all(world.client.clone());
    namespaces.create(&PostParams::default(), &child).await.unwrap();
    a_while().await;
    assert!(seen.take().is_empty());
    let text = logs.text();
    let told = text.matches("points into another namespace").count();
    assert!(told >= 2, "each of both is told:\n{text}");
}

/// google/knative-gcp#1399, RedHatInsights/clowder#118: children of yesterday's version, without the controller flag, with two owners.
#[tokio::test(start_paused = true)]
async fn children_of_an_older_version_without_a_flag_and_with_two_owners_wake_all_of_them() {
    let world = World::new();
    let seen = Seen::default();
    let deployments = Api::<Deployment>::namespaced(world.client.clone(), "default");
    let mut owners = Vec::new();
    for name in ["one", "two"] {
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": { "selector": { "matchLabels": { "app": name } }, "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            } },
        }))
        .unwrap();
        let made = deployments
            .create(&PostParams::default(), &deployment)
            .await
            .unwrap();
        owners.push(OwnerReference {
            api_version: "apps/v1beta1".to_owned(),
            ..owned_by(&made)
        });
    }
    let client = world.controllers_client();
    let controller = Controller::new(Api::<Deployment>::all(client.clone()), Default::default())
        .owns(Api::<Secret>::all(client), Default::default());
    let _running = drive(noting(controller, &seen));
    a_while().await;
    seen.take();
    world.create::<Secret>("default", "child", owners).await;
    a_while().await;
    assert_eq!(seen.take(), ["one", "two"]);
}

/// kube-rs/kube#1265: one parent with a hundred children at the start is one run or two, not a hundred.
#[tokio::test(start_paused = true)]
async fn a_parent_with_a_hundred_children_runs_once_or_twice_at_the_start() {
    for debounce in [Duration::ZERO, Duration::from_secs(1)] {
        let world = World::new();
        let seen = Seen::default();
        let parent = world.map("parent").await;
        for number in 0..100 {
            world
                .create::<Secret>("default", &format!("child-{number}"), vec![owned_by(&parent)])
                .await;
        }
        let client = world.controllers_client();
        let controller = Controller::new(Api::<ConfigMap>::all(client.clone()), Default::default())
            .owns(Api::<Secret>::all(client), Default::default())
            .with_config(Config::default().debounce(debounce));
        let _running = drive(noting(controller, &seen));
        a_while().await;
        let runs = seen.take().len();
        assert!((1..=2).contains(&runs), "{runs} runs");
    }
}
