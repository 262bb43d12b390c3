//! Generation and resourceVersion move as on a server.

use serde_json::json;

use crate::{Cluster, KINDS, WIDGET, generation, version};

/// kubernetes-sigs/controller-runtime#1857: generation stood still, or moved on status.
#[tokio::test(start_paused = true)]
async fn generation_counts_changes_of_the_desired_state() {
    let cluster = Cluster::new().await;
    let path = WIDGET.item("a");
    let made = cluster
        .post(
            WIDGET.path,
            WIDGET.object("a", 0, json!({"finalizers": ["x.io/f"]})),
        )
        .await;
    assert_eq!(generation(&made), Some(1));
    let (_, changed) = cluster.merge(&path, WIDGET.change(1)).await;
    assert_eq!(generation(&changed), Some(2));
    let (_, labelled) = cluster
        .merge(
            &path,
            json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}),
        )
        .await;
    assert_eq!(generation(&labelled), Some(2));
    let (_, status) = cluster
        .merge(&format!("{path}/status"), json!({"status": {"phase": "x"}}))
        .await;
    assert_eq!(generation(&status), Some(2));
    let (_, deleted) = cluster.delete(&path, json!({})).await;
    assert_eq!(generation(&deleted), Some(3), "the deletion is desired state too");
    let (_, again) = cluster.delete(&path, json!({})).await;
    assert_eq!(generation(&again), Some(3));
    assert_eq!(version(&again), version(&deleted));
}

/// kubernetes-sigs/controller-runtime#3581: a write that changes nothing moves nothing, and versions
/// rise over the whole server.
#[tokio::test(start_paused = true)]
async fn only_changes_move_the_version_and_all_kinds_share_it() {
    let cluster = Cluster::new().await;
    let mut last = 0;
    for round in 0..2 {
        for kind in KINDS {
            let path = kind.item("a");
            let object = if round == 0 {
                cluster.post(kind.path, kind.object("a", 0, json!({}))).await
            } else {
                cluster.merge(&path, kind.change(1)).await.1
            };
            assert!(version(&object) > last, "{kind:?}");
            last = version(&object);
            let watch = cluster
                .watch(&format!("{}?resourceVersion={last}", kind.path))
                .await;
            assert_eq!(version(&cluster.put(&path, object.clone()).await.1), last);
            assert_eq!(version(&cluster.merge(&path, json!({})).await.1), last);
            assert_eq!(version(&cluster.merge(&path, kind.change(round)).await.1), last);
            let (_, patched) = cluster
                .send("PATCH", &path, "application/json-patch+json", &json!([]))
                .await;
            assert_eq!(version(&patched), last);
            assert_eq!(watch.take().await, [""; 0], "no event either");
            assert_eq!(generation(&object).is_some(), kind.counts);
        }
    }
}
