//! A watch whose reader is slower than the writer: its end and its bookmarks come all the same.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{CONFIG_MAP, Cluster, version};

/// What a reader gets who takes one event while two are written, at most `steps` times; and whether the stream ended.
async fn read_slowly(query: &str, step: Duration, steps: u64) -> (Vec<Value>, bool) {
    let cluster = Cluster::new().await;
    cluster
        .post(CONFIG_MAP.path, CONFIG_MAP.object("a", 0, json!({})))
        .await;
    let request = Request::get(format!("{}?watch=true&{query}", CONFIG_MAP.path))
        .body(Full::new(Bytes::new()))
        .unwrap();
    let mut body = cluster.0.service().oneshot(request).await.unwrap().into_body();
    let mut events = Vec::new();
    for number in 0..steps {
        for half in 0..2 {
            let labels = json!({"metadata": {"labels": {"n": format!("{number}-{half}")}}});
            cluster.merge(&CONFIG_MAP.item("a"), labels).await;
        }
        tokio::time::advance(step).await;
        let Some(Ok(frame)) = body.frame().await else {
            return (events, true);
        };
        events.push(serde_json::from_slice(&frame.into_data().unwrap()).unwrap());
    }
    (events, false)
}

#[tokio::test(start_paused = true)]
async fn the_end_comes_in_time_behind_a_steady_writer() {
    let (events, ended) = read_slowly("timeoutSeconds=5", Duration::from_millis(100), 200).await;
    assert!(ended, "{} events", events.len());
    assert!(
        (45..=51).contains(&events.len()),
        "{} events in 5 s",
        events.len()
    );
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_behind_a_steady_writer_and_promise_nothing_too_early() {
    let (events, _) = read_slowly("allowWatchBookmarks=true", Duration::from_secs(1), 600).await;
    let versions: Vec<_> = events.iter().map(|event| version(&event["object"])).collect();
    assert!(versions.is_sorted(), "{versions:?}");
    let bookmarks = events.iter().filter(|event| event["type"] == "BOOKMARK").count();
    assert!((2..=10).contains(&bookmarks), "{bookmarks} in 10 minutes");
}
