//! Kinds whose every change concerns all, and kinds without a namespace beside objects with one.

use controller_runtime::{prelude::*, testing::Cluster};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use serde_json::json;

#[controller(
    name = "everyone",
    watches(Namespace, all, predicates(labels)),
    watches(Secret, map(|_: &Secret| None::<ObjectRef<ConfigMap>>)),
    selector(labels = "app=web"),
    rbac(primary: patch)
)]
async fn count(
    map: Arc<ConfigMap>,
    namespaces: Store<Namespace>,
    secrets: Store<Secret>,
    client: Client,
) -> Result<Action, kube::Error> {
    let here = format!("{} {}", namespaces.snapshot().len(), secrets.snapshot().len());
    let everywhere = secrets.everywhere().snapshot().len();
    let seen = json!({"data": {"seen": format!("{here} {everywhere}")}});
    let maps: Api<ConfigMap> = Api::namespaced(client, &map.namespace().unwrap_or_default());
    maps.patch(
        &map.name_any(),
        &Default::default(),
        &kube::api::Patch::Merge(seen),
    )
    .await?;
    Ok(Action::await_change())
}

async fn seen(cluster: &Cluster, map: &str) -> String {
    cluster.get::<ConfigMap>(map).await.data.unwrap()["seen"].clone()
}

/// A cluster has four namespaces of its own, and the operator one. Stores of kinds without a namespace hide nothing from an object
/// that has one; stores of other kinds show its own namespace.
#[controller_test(run = count::controller())]
async fn a_change_that_concerns_all_wakes_all(cluster: Cluster) {
    let map = |namespace: &str| {
        let metadata = json!({"name": "m", "namespace": namespace, "labels": {"app": "web"}});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    };
    for namespace in ["default", "kube-public"] {
        let metadata = json!({"name": "s", "namespace": namespace});
        cluster
            .apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}))
            .await;
    }
    cluster.apply([map("default"), map("kube-public")]).await;
    cluster.settle().await;
    assert_eq!(seen(&cluster, "default/m").await, "5 1 2");
    let more = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more"}});
    cluster.apply(more).await;
    cluster.settle().await;
    for map in ["default/m", "kube-public/m"] {
        assert_eq!(seen(&cluster, map).await, "6 1 2", "{map}");
    }
    let runs = cluster.reconciles().len();
    cluster
        .patch::<Namespace>("more", json!({"metadata": {"annotations": {"a": "b"}}}))
        .await;
    cluster.settle().await;
    assert_eq!(cluster.reconciles().len(), runs, "its labels are as before");
}
