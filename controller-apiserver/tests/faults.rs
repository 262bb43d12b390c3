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

/// The headers promised more than comes: the write is done, and its answer no whole object.
#[tokio::test(start_paused = true)]
async fn a_connection_is_cut_in_the_middle_of_an_answer() {
    let server = Server::new();
    server
        .faults()
        .inject(When::verb(Verb::Create).times(1), Fault::CutBody);
    let response = create(&server, "a").await.unwrap();
    assert_eq!(response.status(), 201);
    let mut body = response.into_body();
    let half = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(!half.is_empty() && serde_json::from_slice::<Value>(&half).is_err());
    assert!(body.frame().await.unwrap().is_err());
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 200);
    assert_eq!(server.journal().entries()[0].fault, "cut-body");
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

/// What hits only sometimes hits the same requests for the same seed, and about as often as said.
#[tokio::test(start_paused = true)]
async fn chance_follows_the_seed() {
    async fn hits(seed: u64) -> Vec<bool> {
        let server = Server::builder().seed(seed).build();
        server
            .faults()
            .inject(When::verb(Verb::List).chance(0.3), Fault::status(503));
        let mut hits = Vec::new();
        for _ in 0..200 {
            hits.push(get(&server, MAPS).await.0 == 503);
        }
        assert_eq!(get(&server, "/api/v1/namespaces/default").await.0, 200);
        hits
    }
    let first = hits(1).await;
    assert_eq!(first, hits(1).await);
    assert_ne!(first, hits(2).await);
    let count = first.iter().filter(|hit| **hit).count();
    assert!((35..90).contains(&count), "{count} of 200");
}

/// A server that was restored from a backup: later writes never were, and what clients read since is from a future
/// that does not come.
#[tokio::test(start_paused = true)]
async fn an_earlier_revision_is_restored() {
    let server = server_with(&["kept", "gone"]).await;
    let definition = json!({
        "metadata": {"name": "widgets.x.io"},
        "spec": {
            "group": "x.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let backup = server.revision();
    let (_, before) = get(&server, MAPS).await;
    let watch = send(&server, "GET", &format!("{MAPS}?watch=1"), Value::Null).await;
    create(&server, "later").await.unwrap();
    send(&server, "DELETE", &format!("{MAPS}/gone"), Value::Null)
        .await
        .unwrap();
    send(&server, "POST", definitions, definition).await.unwrap();
    assert_eq!(get(&server, "/apis/x.io/v1").await.0, 200);
    let late = server.revision();

    server.restore(backup).unwrap();
    let lines = watch.unwrap().into_body().collect().await.unwrap().to_bytes();
    assert!(lines.is_empty(), "the watch ended");
    let (_, after) = get(&server, MAPS).await;
    assert_eq!(after, before);
    assert_eq!(
        get(&server, "/apis/x.io/v1").await.0,
        404,
        "the definition never was"
    );
    let (code, status) = get(&server, &format!("{MAPS}?resourceVersion={late}")).await;
    assert_eq!((code, status["reason"].as_str()), (504, Some("Timeout")));
    create(&server, "later").await.unwrap();
    assert_eq!(server.revision(), backup + 1);

    server.compact();
    let error = server.restore(backup).unwrap_err();
    assert_eq!((error.asked, error.oldest), (backup, backup + 1));
}

/// A definition is accepted at once and established when the server gets to it.
#[tokio::test(start_paused = true)]
async fn definitions_can_be_established_late() {
    let server = Server::new();
    server.hold_definitions(true);
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = json!({
        "metadata": {"name": "widgets.x.io"},
        "spec": {
            "group": "x.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let conditions = async || {
        let (_, definition) = get(&server, &format!("{path}/widgets.x.io")).await;
        let list = definition["status"]["conditions"].as_array().unwrap().clone();
        list.iter()
            .map(|condition| {
                format!(
                    "{} {}",
                    condition["type"].as_str().unwrap(),
                    condition["status"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    send(&server, "POST", path, definition).await.unwrap();
    server.settle().await.unwrap();
    assert_eq!(conditions().await, ["NamesAccepted True", "Established False"]);
    let widgets = "/apis/x.io/v1/namespaces/default/widgets";
    assert_eq!(get(&server, widgets).await.0, 404);
    server.hold_definitions(false);
    assert_eq!(conditions().await, ["NamesAccepted True", "Established True"]);
    assert_eq!(get(&server, widgets).await.0, 200);
}

/// Every fault by its word, over HTTP, as tests in other languages inject it.
#[tokio::test(start_paused = true)]
async fn every_fault_has_a_word_on_the_admin_path() {
    let server = server_with(&["a"]).await;
    let faults = [
        json!({"type": "answer", "code": 429, "retryAfterSeconds": 7}),
        json!({"type": "delay", "milliseconds": 10}),
        json!({"type": "hang"}),
        json!({"type": "disconnect"}),
        json!({"type": "lose-answer"}),
        json!({"type": "hang-after"}),
        json!({"type": "cut", "after": 1}),
        json!({"type": "silent"}),
        json!({"type": "truncate", "after": 1}),
        json!({"type": "error-event", "after": 1, "code": 410}),
        json!({"type": "garbage", "at": 0}),
        json!({"type": "no-bookmarks"}),
        json!({"type": "no-timeout"}),
        json!({"type": "delay-events", "milliseconds": 10}),
        json!({"type": "refuse-streaming-lists"}),
        json!({"type": "small-pages", "size": 1}),
        json!({"type": "expire-continue"}),
        json!({"type": "forget-continue"}),
        json!({"type": "stale-reads", "revisions": 1}),
        json!({"type": "stall-body"}),
        json!({"type": "cut-body"}),
    ];
    for fault in &faults {
        let script = json!({"when": {"verb": "patch", "resource": "nothing"}, "fault": fault});
        let (code, answer) = json_of(send(&server, "POST", "/-/faults", script).await).await;
        assert_eq!(code, 201, "{fault}: {answer}");
    }
    let (_, all) = get(&server, "/-/faults").await;
    let words = |list: &Value| -> Vec<Value> {
        let list = list.as_array().unwrap();
        list.iter().map(|fault| fault["type"].clone()).collect()
    };
    assert_eq!(
        words(&all),
        faults
            .iter()
            .map(|fault| fault["type"].clone())
            .collect::<Vec<_>>()
    );
    let first = format!("/-/faults/{}", all[0]["id"]);
    assert_eq!(
        json_of(send(&server, "DELETE", &first, Value::Null).await)
            .await
            .0,
        200
    );
    assert_eq!(words(&get(&server, "/-/faults").await.1).len(), faults.len() - 1);
    send(&server, "DELETE", "/-/faults", Value::Null).await.unwrap();
    assert_eq!(get(&server, "/-/faults").await.1, json!([]));

    let script = json!({"when": {"verb": "get", "name": "a", "times": 1}, "fault": faults[0]});
    send(&server, "POST", "/-/faults", script).await.unwrap();
    let refused = send(&server, "GET", &format!("{MAPS}/a"), Value::Null)
        .await
        .unwrap();
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"7".parse().unwrap())
    );
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 200);
    let journal = send(&server, "GET", "/-/journal", Value::Null).await.unwrap();
    let lines = journal.into_body().collect().await.unwrap().to_bytes();
    let lines = String::from_utf8(lines.to_vec()).unwrap();
    assert_eq!(lines.lines().count(), server.journal().len());
    assert!(lines.contains("\"fault\":\"answer\""), "{lines}");
}

#[tokio::test(start_paused = true)]
async fn the_admin_path_moves_the_server_and_refuses_nonsense() {
    let server = server_with(&["a"]).await;
    let post = async |path: &str, body: Value| {
        let (code, answer) = json_of(send(&server, "POST", path, body).await).await;
        (code, answer["message"].as_str().unwrap_or_default().to_owned())
    };
    let (now, revision) = (server.now(), server.revision());
    assert_eq!(post("/-/clock", json!({"jumpSeconds": -60})).await.0, 200);
    assert_eq!(server.now(), now - jiff::SignedDuration::from_secs(60));
    assert_eq!(post("/-/restore", json!({"revision": revision - 1})).await.0, 200);
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.0, 404);
    for (path, body) in [
        ("/-/compact", json!(null)),
        ("/-/close-watches", json!(null)),
        ("/-/definitions", json!({"hold": true})),
    ] {
        assert_eq!(post(path, body).await.0, 200, "{path}");
    }
    for (path, body, words) in [
        ("/-/restore", json!({"revision": 1}), "compacted"),
        ("/-/clock", json!({"jump": 1}), "unknown field"),
        ("/-/faults", json!({"fault": {"type": "explode"}}), "explode"),
        ("/-/faults", json!({"fault": {"type": "cut"}}), "after"),
        (
            "/-/faults",
            json!({"when": {"verb": "peek"}, "fault": {"type": "hang"}}),
            "peek",
        ),
        (
            "/-/faults",
            json!({"when": {"chance": 2}, "fault": {"type": "hang"}}),
            "probability",
        ),
    ] {
        let (code, message) = post(path, body.clone()).await;
        assert!(
            code == 400 && message.contains(words),
            "{path} {body}: {code} {message}"
        );
    }
    assert_eq!(get(&server, "/-/nothing").await.0, 404);
}

/// Who is not an administrator has no business there.
#[tokio::test(start_paused = true)]
async fn the_admin_path_needs_the_right_to_it() {
    use controller_apiserver::access::User;
    let server = Server::new();
    for (user, expected) in [(User::admin(), 200), (User::new("dev", ["developers"]), 403)] {
        let request = Request::get("/-/journal").body(Full::new(Bytes::new())).unwrap();
        let answer = server.service_as(user).oneshot(request).await.unwrap();
        assert_eq!(answer.status(), expected);
    }
}
