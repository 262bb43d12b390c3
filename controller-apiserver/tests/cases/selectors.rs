//! Selectors hold for watches as they do for lists.

use serde_json::json;

use crate::{Cluster, KINDS, version};

/// kubernetes/kubernetes#106754, kubernetes-client/python#2228: unmatched objects streamed through,
/// and leaving a selection was no event.
#[tokio::test(start_paused = true)]
async fn leaving_a_selection_is_a_deletion_and_coming_back_an_addition() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        let label = |value: &str| json!({"metadata": {"labels": {"t": value}}});
        let a = cluster
            .post(kind.path, kind.object("a", 0, json!({"labels": {"t": "x"}})))
            .await;
        cluster.post(kind.path, kind.object("other", 0, json!({}))).await;
        let since = format!(
            "{}?labelSelector=t%3Dx&resourceVersion={}",
            kind.path,
            version(&a)
        );
        let watch = cluster.watch(&since).await;
        assert_eq!(watch.take().await, [""; 0]);

        let (_, left) = cluster.merge(&kind.item("a"), label("y")).await;
        let events = watch.take_whole().await;
        assert_eq!(events[0]["type"], "DELETED", "{kind:?}");
        let shown = &events[0]["object"];
        assert_eq!(shown["metadata"]["labels"]["t"], "x", "the object as it was");
        assert_eq!(version(shown), version(&left), "at the revision of the change");

        cluster.merge(&kind.item("a"), kind.change(1)).await;
        cluster.merge(&kind.item("other"), kind.change(1)).await;
        assert_eq!(watch.take().await, [""; 0], "what is outside changes in silence");

        cluster.merge(&kind.item("a"), label("x")).await;
        assert_eq!(watch.take().await, ["ADDED a"]);
        cluster.merge(&kind.item("a"), kind.change(0)).await;
        assert_eq!(watch.take().await, ["MODIFIED a"]);
        cluster.delete(&kind.item("a"), json!({})).await;
        cluster.delete(&kind.item("other"), json!({})).await;
        assert_eq!(watch.take().await, ["DELETED a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn one_object_can_be_watched_by_name() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        let watch = cluster
            .watch(&format!("{}?fieldSelector=metadata.name%3Da", kind.path))
            .await;
        for name in ["b", "a"] {
            cluster.post(kind.path, kind.object(name, 0, json!({}))).await;
        }
        assert_eq!(watch.take().await, ["ADDED a"], "{kind:?}");
    }
}
