//! Whatever comes in, an answer goes out: no panic, bounded memory, a clear refusal.

#![allow(clippy::unwrap_used, reason = "a test with helpers")]

use std::{collections::BTreeSet, fmt::Write as _};

use bytes::Bytes;
use controller_apiserver::Server;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::ServiceExt as _;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Sends bytes; the code and the `Status` or object of the answer.
async fn send(server: &Server, method: &str, path: &str, media: &str, body: Vec<u8>) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", media)
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let response = server.service().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    if path.contains("watch") && code == 200 {
        return (code, Value::Null);
    }
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn play<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(work)
}

fn media() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "application/json",
        "application/yaml",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "text/plain",
        "",
    ])
}

fn method() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"])
}

fn path() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec![
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "default",
        "configmaps",
        "deployments",
        "pods",
        "status",
        "scale",
        "watch",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        "%2F",
        "%zz",
        "..",
        "a",
        "",
    ]);
    let query = prop::sample::select(vec![
        "",
        "?watch=1&timeoutSeconds=1",
        "?limit=-1",
        "?limit=x",
        "?labelSelector=a%20in%20(",
        "?continue=eyJ2",
        "?fieldSelector=a",
        "?resourceVersion=99999999999999999999",
        "?dryRun=All&fieldManager=x",
        "?propagationPolicy=Nonsense",
        "?fieldValidation=Strict",
    ]);
    (prop::collection::vec(segment, 0..8), query)
        .prop_map(|(segments, query)| format!("/{}{query}", segments.join("/")))
}

/// Any JSON, of moderate size, with the words that mean something.
fn value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "metadata",
        "name",
        "spec",
        "kind",
        "apiVersion",
        "v1",
        "ConfigMap",
        "data",
        "finalizers",
        "$patch",
        "delete",
        "op",
        "add",
        "path",
        "/metadata",
        "ownerReferences",
        "uid",
        "generateName",
        "a",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..5)
                .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_request_is_answered(method in method(), path in path(), media in media(), value in value()) {
        play(async {
            let server = Server::new();
            let map = json!({"metadata": {"name": "a"}, "data": {"k": "v"}}).to_string().into_bytes();
            send(&server, "POST", MAPS, "application/json", map).await;
            let (code, _) = send(&server, method, &path, media, value.to_string().into_bytes()).await;
            prop_assert!((200..600).contains(&code));
            server.settle().await.unwrap();
            Ok(())
        })?;
    }

    #[test]
    fn any_body_on_an_object_is_answered_and_leaves_an_object(media in media(), value in value()) {
        play(async {
            let server = Server::new();
            let item = format!("{MAPS}/a?fieldManager=x");
            let map = json!({"metadata": {"name": "a"}, "data": {"k": "v"}}).to_string().into_bytes();
            send(&server, "POST", MAPS, "application/json", map).await;
            for method in ["PATCH", "PUT", "POST", "DELETE"] {
                let (code, answer) = send(&server, method, &item, media, value.to_string().into_bytes()).await;
                prop_assert!((200..600).contains(&code));
                if code >= 400 {
                    prop_assert_eq!(&answer["kind"], "Status", "{} {}", method, answer);
                    prop_assert_eq!(&answer["code"], code);
                }
                let (code, object) = send(&server, "GET", &item, "", Vec::new()).await;
                prop_assert!(code == 404 || object["metadata"]["name"] == "a", "{}", object);
            }
            Ok(())
        })?;
    }

    #[test]
    fn any_bytes_are_answered(media in media(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        play(async {
            let server = Server::new();
            for method in ["POST", "PATCH"] {
                let (code, _) = send(&server, method, MAPS, media, bytes.clone()).await;
                prop_assert!((400..500).contains(&code), "{}", code);
            }
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_are_bounded_in_size_and_depth() {
    let server = Server::new();
    let huge = vec![b' '; (3 << 20) + 1];
    let (code, status) = send(&server, "POST", MAPS, "application/json", huge).await;
    assert_eq!(
        (code, status["reason"].as_str()),
        (413, Some("RequestEntityTooLarge"))
    );
    for (media, open, close) in [
        ("application/json", "{\"a\":", "}"),
        ("application/json", "[", "]"),
        ("application/yaml", "{\"a\": ", "}"),
    ] {
        for depth in [200, 100_000] {
            let body = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let (code, status) = send(&server, "POST", MAPS, media, body.into_bytes()).await;
            assert_eq!(code, 400, "{media} {depth} {status}");
        }
    }
    // A YAML document that would grow to gigabytes.
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for n in 1..40 {
        writeln!(bomb, "a{n}: &a{n} [*a{}, *a{}]", n - 1, n - 1).unwrap();
    }
    let (code, _) = send(&server, "POST", MAPS, "application/yaml", bomb.into_bytes()).await;
    assert_eq!(code, 400);
}

#[tokio::test(start_paused = true)]
async fn thousands_of_idle_watches_are_cheap_and_end_together() {
    let server = Server::new();
    let mut bodies = Vec::new();
    for _ in 0..5_000 {
        let request = Request::get(format!("{MAPS}?watch=true"))
            .body(Full::new(Bytes::new()))
            .unwrap();
        bodies.push(server.service().oneshot(request).await.unwrap().into_body());
    }
    // One piece of memory for all: what a watch costs does not grow with what is written.
    for name in ["a", "b", "c"] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "x".repeat(10_000)}});
        let (code, _) = send(
            &server,
            "POST",
            MAPS,
            "application/json",
            map.to_string().into_bytes(),
        )
        .await;
        assert_eq!(code, 201);
        let mut pieces = BTreeSet::new();
        for body in &mut bodies {
            let line = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(line.len() > 10_000);
            pieces.insert(line.as_ptr());
        }
        assert_eq!(
            pieces.len(),
            1,
            "encoded once, and shared by {} watches",
            bodies.len()
        );
    }
    server.close_watches();
    for body in bodies {
        assert!(body.collect().await.unwrap().to_bytes().is_empty());
    }
}
