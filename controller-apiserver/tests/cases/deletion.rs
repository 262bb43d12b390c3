//! The life of an object between its deletion and its end.

use serde_json::json;

use crate::{Cluster, KINDS, generation};

/// kubernetes-sigs/controller-runtime#1399, #2184, #2316: finalizers and deletionTimestamp.
#[tokio::test(start_paused = true)]
async fn the_last_finalizer_releases_the_object_however_it_goes() {
    for kind in KINDS {
        for way in ["put", "merge", "json"] {
            let cluster = Cluster::new().await;
            let path = kind.item("a");
            let made = cluster
                .post(
                    kind.path,
                    kind.object("a", 0, json!({"finalizers": ["x.io/a", "x.io/b"]})),
                )
                .await;
            let watch = cluster.watch(kind.path).await;
            assert_eq!(watch.take().await, ["ADDED a"]);
            let (code, marked) = cluster.delete(&path, json!({})).await;
            assert_eq!(code, 200);
            assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{kind:?}");
            assert_eq!(generation(&marked), generation(&made).map(|n| n + 1));
            let (_, again) = cluster.delete(&path, json!({})).await;
            assert_eq!(again, marked, "the second deletion changes nothing");
            assert_eq!(watch.take().await, ["MODIFIED a"]);

            let (code, changed) = cluster.merge(&path, kind.change(1)).await;
            assert_eq!(code, 200, "a terminating object can change: {changed}");
            let added = json!({"metadata": {"finalizers": ["x.io/a", "x.io/b", "x.io/c"]}});
            assert_eq!(
                cluster.merge(&path, added).await.0,
                422,
                "but gets no new finalizer"
            );
            let (code, kept) = cluster
                .merge(&path, json!({"metadata": {"deletionTimestamp": null}}))
                .await;
            assert_eq!(code, 200);
            assert!(
                kept["metadata"]["deletionTimestamp"].is_string(),
                "and stays marked"
            );

            cluster
                .merge(&path, json!({"metadata": {"finalizers": ["x.io/b"]}}))
                .await;
            let code = match way {
                "put" => {
                    let (_, mut object) = cluster.get(&path).await;
                    object["metadata"]["finalizers"] = json!([]);
                    cluster.put(&path, object).await.0
                }
                "merge" => {
                    let none = json!({"metadata": {"finalizers": null}});
                    cluster.merge(&path, none).await.0
                }
                _ => {
                    let remove = json!([{"op": "remove", "path": "/metadata/finalizers/0"}]);
                    let (code, _) = cluster
                        .send("PATCH", &path, "application/json-patch+json", &remove)
                        .await;
                    code
                }
            };
            assert_eq!(code, 200, "{kind:?} {way}");
            assert_eq!(cluster.get(&path).await.0, 404, "gone with the last finalizer");
            let events = watch.take().await;
            assert_eq!(events.last().unwrap(), "DELETED a", "{kind:?} {way}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_sets_the_mark_but_a_deletion() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        let marked = json!({"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5});
        let made = cluster.post(kind.path, kind.object("a", 0, marked)).await;
        assert!(made["metadata"].get("deletionTimestamp").is_none(), "{kind:?}");
        let mut put = made.clone();
        put["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
        assert_eq!(cluster.put(&kind.item("a"), put).await.0, 422);
        let (code, gone) = cluster.delete(&kind.item("a"), json!({})).await;
        assert_eq!((code, gone["status"].as_str()), (200, Some("Success")));
        assert_eq!(cluster.get(&kind.item("a")).await.0, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_can_be_bound_to_uid_and_version() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        let made = cluster.post(kind.path, kind.object("a", 0, json!({}))).await;
        let other = json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}});
        assert_eq!(cluster.delete(&kind.item("a"), other).await.0, 409);
        let stale = json!({"preconditions": {"resourceVersion": "1"}});
        assert_eq!(cluster.delete(&kind.item("a"), stale).await.0, 409);
        let right = json!({"preconditions": {
            "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"],
        }});
        assert_eq!(cluster.delete(&kind.item("a"), right).await.0, 200);
    }
}

/// Nothing depends on an Event, so no finalizer stands for its dependents.
#[tokio::test(start_paused = true)]
async fn an_event_goes_at_once_whatever_becomes_of_dependents() {
    for policy in ["Foreground", "Orphan", "Background"] {
        let cluster = Cluster::new().await;
        let path = "/api/v1/namespaces/default/events";
        let object = json!({"kind": "Pod", "name": "p", "namespace": "default"});
        let event = json!({"metadata": {"name": "a"}, "involvedObject": object});
        cluster.post(path, event).await;
        let item = format!("{path}/a");
        let (code, answer) = cluster.delete(&item, json!({"propagationPolicy": policy})).await;
        assert_eq!(
            (code, &answer["kind"]),
            (200, &json!("Status")),
            "{policy}: {answer}"
        );
        assert_eq!(cluster.get(&item).await.0, 404);
    }
}
