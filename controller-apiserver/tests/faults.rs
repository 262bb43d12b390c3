//! Every fault on demand: what a client sees of it, and what it leaves behind.

#![allow(clippy::unwrap_used, reason = "a test with helpers")]

use std::time::Duration;

use bytes::Bytes;
use controller_apiserver::{Fault, Server, Verb, When};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

type Answer = Result<Response<controller_apiserver::Body>, tower::BoxError>;

async fn send(server: &Server, method: &str, path: &str, body: Value) -> Answer {
    let bytes = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Full::new(Bytes::from(bytes)))?;
    server.service().oneshot(request).await
}

async fn json_of(answer: Answer) -> (u16, Value) {
    let response = answer.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn create(server: &Server, name: &str) -> Answer {
    send(server, "POST", MAPS, json!({"metadata": {"name": name}})).await
}

async fn get(server: &Server, path: &str) -> (u16, Value) {
    json_of(send(server, "GET", path, Value::Null).await).await
}

async fn server_with(names: &[&str]) -> Server {
    let server = Server::new();
    for name in names {
        create(&server, name).await.unwrap();
    }
    server
}

/// The lines of a watch until it ends, or an hour is over.
async fn lines(server: &Server, query: &str) -> Vec<String> {
    let path = format!("{MAPS}?watch=true&{query}");
    let mut body = send(server, "GET", &path, Value::Null).await.unwrap().into_body();
    let mut lines = Vec::new();
    let hour = tokio::time::sleep(Duration::from_secs(3600));
    tokio::pin!(hour);
    loop {
        tokio::select! {
            biased;
            frame = body.frame() => match frame {
                Some(frame) => {
                    let bytes = frame.unwrap().into_data().unwrap();
                    lines.push(String::from_utf8(bytes.to_vec()).unwrap());
                }
                None => return lines,
            },
            () = &mut hour => {
                lines.push("(still open)".to_owned());
                return lines;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_have_the_codes_and_reasons_clients_know() {
    for (code, reason) in [
        (409, "Conflict"),
        (410, "Expired"),
        (413, "RequestEntityTooLarge"),
        (422, "Invalid"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ] {
        let server = Server::new();
        server
            .faults()
            .inject(When::verb(Verb::Create).skip(1).times(1), Fault::status(code));
        create(&server, "before").await.unwrap();
        let (given, status) = json_of(create(&server, "a").await).await;
        assert_eq!((given, status["reason"].as_str()), (code, Some(reason)));
        assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 404, "no effect");
        assert_eq!(json_of(create(&server, "a").await).await.0, 201, "once only");
        let journal = server.journal();
        assert_eq!(journal.entries()[1].fault, "answer");
    }
}

#[tokio::test(start_paused = true)]
async fn connections_are_cut_before_or_after_the_effect() {
    for (fault, effect) in [(Fault::Disconnect, 404), (Fault::LoseAnswer, 200)] {
        let server = Server::new();
        server.faults().inject(When::verb(Verb::Create), fault);
        assert!(create(&server, "a").await.is_err());
        assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, effect);
    }
    for (fault, effect) in [(Fault::Hang, 404), (Fault::HangAfter, 200)] {
        let server = Server::new();
        server.faults().inject(When::verb(Verb::Create), fault);
        let hour = Duration::from_secs(3600);
        assert!(tokio::time::timeout(hour, create(&server, "a")).await.is_err());
        assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, effect);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_can_be_late_or_stall() {
    let server = server_with(&["a"]).await;
    let slow = server.faults().inject(
        When::verb(Verb::Get).name("a"),
        Fault::Delay(Duration::from_secs(7)),
    );
    let before = server.now();
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 200);
    assert_eq!(server.now().duration_since(before).as_secs(), 7);
    server.faults().remove(slow);
    server.faults().inject(When::verb(Verb::Get), Fault::StallBody);
    let response = send(&server, "GET", &format!("{MAPS}/a"), Value::Null)
        .await
        .unwrap();
    let whole = tokio::time::timeout(Duration::from_secs(3600), response.into_body().collect()).await;
    assert!(whole.is_err(), "the body never ends");
    server.settle().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn streams_end_early_in_every_way() {
    let query =
        "timeoutSeconds=60&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    for (fault, expected) in [
        (Fault::Cut { after: 1 }, vec!["ADDED"]),
        (Fault::Truncate { after: 1 }, vec!["ADDED", "cut"]),
        (
            Fault::ErrorEvent {
                after: 1,
                status: controller_apiserver::status::ApiError::expired("too old"),
            },
            vec!["ADDED", "ERROR"],
        ),
        (Fault::NoBookmarks, vec!["ADDED", "ADDED"]),
        (Fault::Silent, vec!["(still open)"]),
        (Fault::Garbage { at: 1 }, vec!["ADDED", "garbage", "BOOKMARK"]),
        (
            Fault::DelayEvents(Duration::from_secs(5)),
            vec!["ADDED", "ADDED", "BOOKMARK"],
        ),
    ] {
        let server = server_with(&["a", "b"]).await;
        server
            .faults()
            .inject(When::verb(Verb::Watch).resource("configmaps"), fault.clone());
        let seen: Vec<_> = lines(&server, query)
            .await
            .iter()
            .map(|line| match serde_json::from_str::<Value>(line) {
                Ok(event) if event["object"]["data"] == 7 => "garbage".to_owned(),
                Ok(event) => event["type"].as_str().unwrap().to_owned(),
                Err(_) if line.starts_with('(') => line.clone(),
                Err(_) => "cut".to_owned(),
            })
            .collect();
        assert_eq!(seen, expected, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_can_ignore_its_own_timeout() {
    let server = server_with(&["a"]).await;
    server.faults().inject(When::verb(Verb::Watch), Fault::NoTimeout);
    let seen = lines(&server, "timeoutSeconds=60").await;
    assert_eq!(seen.last().unwrap(), "(still open)");
}

#[tokio::test(start_paused = true)]
async fn lists_can_be_small_forgetful_expired_stale_and_undecodable() {
    let server = server_with(&["a", "b", "c"]).await;
    let when = || When::verb(Verb::List).times(1);
    server.faults().inject(when(), Fault::SmallPages(2));
    let (_, page) = get(&server, MAPS).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    let next = format!(
        "{MAPS}?continue={}",
        page["metadata"]["continue"].as_str().unwrap()
    );
    server.faults().inject(when(), Fault::ExpireContinue);
    assert_eq!(get(&server, &next).await.0, 410);
    assert_eq!(get(&server, &next).await.0, 200);
    server.faults().inject(when(), Fault::ForgetContinue);
    let (_, page) = get(&server, &format!("{MAPS}?limit=1")).await;
    assert!(page["metadata"].get("continue").is_none());
    server.faults().inject(when(), Fault::Garbage { at: 1 });
    let (_, list) = get(&server, MAPS).await;
    assert_eq!(list["items"][1]["data"], 7);
    assert_eq!(list["items"][1]["metadata"]["name"], "b");
    server.faults().inject(when(), Fault::StaleReads(1));
    let (_, list) = get(&server, MAPS).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 2, "c is not there yet");
    server
        .faults()
        .inject(When::verb(Verb::Get).times(1), Fault::StaleReads(1));
    assert_eq!(get(&server, &format!("{MAPS}/c")).await.0, 404);
    assert_eq!(get(&server, &format!("{MAPS}/c")).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn streaming_lists_can_be_unknown() {
    let server = server_with(&["a"]).await;
    server
        .faults()
        .inject(When::verb(Verb::Watch), Fault::RefuseStreamingLists);
    let streaming = format!("{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    assert_eq!(get(&server, &streaming).await.0, 422);
    assert_eq!(
        lines(&server, "timeoutSeconds=1").await.len(),
        1,
        "plain watches work"
    );
}

#[tokio::test(start_paused = true)]
async fn settling_tells_what_still_moves() {
    let server = Server::new();
    let guard = server.on_settle("a queue with work", || true);
    let error = server.settle().await.unwrap_err();
    assert_eq!(error.moving(), ["a queue with work"]);
    drop(guard);
    server.settle().await.unwrap();
    // A watch that nobody reads cannot be at rest.
    create(&server, "a").await.unwrap();
    let unread = send(
        &server,
        "GET",
        &format!("{MAPS}?watch=true&resourceVersion=0"),
        Value::Null,
    )
    .await;
    create(&server, "b").await.unwrap();
    let error = server.settle().await.unwrap_err();
    assert!(error.to_string().contains("watch of configmaps"), "{error}");
    drop(unread);
    server.settle().await.unwrap();
}
