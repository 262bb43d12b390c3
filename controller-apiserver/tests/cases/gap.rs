//! What happens between a list and a watch is not lost.

use serde_json::json;

use crate::{Cluster, KINDS, version};

/// kubernetes/kubernetes#141528, #135959: a creation, a change and a deletion between list and watch
/// were lost.
#[tokio::test(start_paused = true)]
async fn a_watch_from_a_list_replays_all_that_happened_since() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        cluster.post(kind.path, kind.object("kept", 0, json!({}))).await;
        cluster.post(kind.path, kind.object("gone", 0, json!({}))).await;
        let (_, list) = cluster.get(kind.path).await;
        cluster.post(kind.path, kind.object("new", 0, json!({}))).await;
        cluster.merge(&kind.item("kept"), kind.change(1)).await;
        cluster.delete(&kind.item("gone"), json!({})).await;
        let since = format!("{}?resourceVersion={}", kind.path, version(&list));
        let watch = cluster.watch(&since).await;
        assert_eq!(
            watch.take().await,
            ["ADDED new", "MODIFIED kept", "DELETED gone"],
            "{kind:?}"
        );
        let (_, later) = cluster.get(kind.path).await;
        assert!(
            version(&later) >= version(&list) + 3,
            "deletions move the collection's version"
        );
        assert_eq!(watch.take().await, [""; 0], "nothing comes twice");
    }
}

/// A list page by page sees one state, and a watch from there goes on without a gap.
#[tokio::test(start_paused = true)]
async fn pages_show_the_state_of_the_first() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        for name in ["a", "b", "c"] {
            cluster.post(kind.path, kind.object(name, 0, json!({}))).await;
        }
        let (_, first) = cluster.get(&format!("{}?limit=2", kind.path)).await;
        cluster.delete(&kind.item("c"), json!({})).await;
        cluster.post(kind.path, kind.object("bb", 0, json!({}))).await;
        let token = first["metadata"]["continue"].as_str().unwrap();
        let (_, second) = cluster
            .get(&format!("{}?limit=2&continue={token}", kind.path))
            .await;
        assert_eq!(second["items"][0]["metadata"]["name"], "c", "{kind:?}");
        assert_eq!(version(&first), version(&second));
        let since = format!("{}?resourceVersion={}", kind.path, version(&first));
        let watch = cluster.watch(&since).await;
        assert_eq!(watch.take().await, ["DELETED c", "ADDED bb"]);
    }
}

/// What is no longer known is said to be so, in both forms, and a fresh list goes on.
#[tokio::test(start_paused = true)]
async fn a_dropped_history_is_410_in_both_forms() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        for name in ["a", "b"] {
            cluster.post(kind.path, kind.object(name, 0, json!({}))).await;
        }
        let (_, list) = cluster.get(&format!("{}?limit=1", kind.path)).await;
        let open = cluster
            .watch(&format!("{}?resourceVersion={}", kind.path, version(&list)))
            .await;
        cluster.settle().await;
        cluster.merge(&kind.item("a"), kind.change(1)).await;
        assert_eq!(open.take().await, ["MODIFIED a"]);
        cluster.0.compact();
        let watch = cluster
            .watch(&format!("{}?resourceVersion={}", kind.path, version(&list)))
            .await;
        let events = watch.take_whole().await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["type"], "ERROR");
        assert_eq!(events[0]["object"]["code"], 410);
        let token = list["metadata"]["continue"].as_str().unwrap();
        let (code, status) = cluster.get(&format!("{}?continue={token}", kind.path)).await;
        assert_eq!((code, status["reason"].as_str()), (410, Some("Expired")));
        let token = status["metadata"]["continue"].as_str().unwrap();
        let (code, rest) = cluster.get(&format!("{}?continue={token}", kind.path)).await;
        assert_eq!(code, 200);
        assert_eq!(rest["items"][0]["metadata"]["name"], "b");
        cluster.merge(&kind.item("b"), kind.change(1)).await;
        assert_eq!(open.take().await, ["MODIFIED b"], "a watch that is open goes on");
    }
}

/// Streaming lists: the objects, the bookmark that ends them, then changes.
#[tokio::test(start_paused = true)]
async fn a_streaming_list_ends_with_its_bookmark() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        cluster.post(kind.path, kind.object("a", 0, json!({}))).await;
        let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let watch = cluster.watch(&format!("{}?{query}", kind.path)).await;
        cluster.post(kind.path, kind.object("b", 0, json!({}))).await;
        let events = watch.take_whole().await;
        let types: Vec<_> = events
            .iter()
            .map(|event| event["type"].as_str().unwrap())
            .collect();
        assert_eq!(types, ["ADDED", "BOOKMARK", "ADDED"], "{kind:?}");
        assert_eq!(
            events[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
            "true"
        );
    }
}

/// A quiet watch is not ended by what happens to other kinds, however much that is; one that sleeps
/// through more of its own than is kept ends, and never skips.
#[tokio::test(start_paused = true)]
async fn a_watch_ends_only_when_its_own_past_is_lost() {
    let server = controller_apiserver::Server::builder().history(20).build();
    let cluster = Cluster(server);
    let [quiet, noisy, _] = KINDS;
    cluster.post(quiet.path, quiet.object("a", 0, json!({}))).await;
    let watch = cluster.watch(quiet.path).await;
    assert_eq!(watch.take().await, ["ADDED a"]);
    for n in 0..50 {
        cluster
            .post(noisy.path, noisy.object(&format!("n-{n}"), 0, json!({})))
            .await;
    }
    cluster.merge(&quiet.item("a"), quiet.change(1)).await;
    assert_eq!(watch.take().await, ["MODIFIED a"]);
    // Nobody reads while more is written than is kept.
    for n in 0..50 {
        let patch = json!({"metadata": {"labels": {"n": n.to_string()}}});
        cluster.merge(&quiet.item("a"), patch).await;
    }
    let events = watch.take().await;
    assert!(events.len() < 50, "{events:?}");
}

/// More events than are taken at once, and none of them selected.
#[tokio::test(start_paused = true)]
async fn what_is_not_selected_hides_nothing_behind_it() {
    let cluster = Cluster::new().await;
    let kind = KINDS[0];
    let watch = cluster.watch(&format!("{}?labelSelector=t", kind.path)).await;
    for n in 0..600 {
        cluster
            .post(kind.path, kind.object(&format!("n-{n}"), 0, json!({})))
            .await;
    }
    cluster
        .post(
            kind.path,
            kind.object("selected", 0, json!({"labels": {"t": ""}})),
        )
        .await;
    assert_eq!(watch.take().await, ["ADDED selected"]);
}

/// Whatever the number of watchers, an event is encoded once: all of them are handed the same bytes.
#[tokio::test(start_paused = true)]
async fn watchers_share_the_bytes_of_an_event() {
    use http_body_util::BodyExt as _;
    for kind in KINDS {
        let cluster = Cluster::new().await;
        let mut bodies = Vec::new();
        for query in [
            "watch=1",
            "watch=1&allowWatchBookmarks=1",
            "watch=1&labelSelector=!x",
        ] {
            let request = http::Request::get(format!("{}?{query}", kind.path))
                .body(http_body_util::Full::new(bytes::Bytes::new()))
                .unwrap();
            let answer = tower::ServiceExt::oneshot(cluster.0.service(), request)
                .await
                .unwrap();
            bodies.push(answer.into_body());
        }
        cluster.post(kind.path, kind.object("a", 0, json!({}))).await;
        cluster.merge(&kind.item("a"), kind.change(1)).await;
        cluster.delete(&kind.item("a"), json!({})).await;
        for word in ["ADDED", "MODIFIED", "DELETED"] {
            let mut places = Vec::new();
            for body in &mut bodies {
                let line = body.frame().await.unwrap().unwrap().into_data().unwrap();
                assert!(
                    line.starts_with(format!("{{\"type\":\"{word}\"").as_bytes()),
                    "{line:?}"
                );
                places.push(line.as_ptr());
            }
            places.dedup();
            assert_eq!(places.len(), 1, "{kind:?} {word}");
        }
    }
}
