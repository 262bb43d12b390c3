//! The mistakes made in real samples, through the server: whatever way an object comes, it is refused, and the answer names what is wrong.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{Broken, Mistake, definitions, first_mistakes, samples};
use crate::Server;

async fn send(server: &Server, method: &str, path: &str, media: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", media)
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request");
    let response = server.service().oneshot(request).await.expect("an answer");
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Where the objects of a sample's kind are, by `apiVersion` and `kind`.
fn paths() -> BTreeMap<(String, String), (String, bool)> {
    let mut paths = BTreeMap::new();
    for (_, definition) in definitions() {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        for version in spec["versions"].as_array().expect("versions") {
            let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            let place = (text(&spec["names"]["plural"]), spec["scope"] == "Namespaced");
            paths.insert((api_version, text(&spec["names"]["kind"])), place);
        }
    }
    paths
}

fn path_of(object: &Value, paths: &BTreeMap<(String, String), (String, bool)>) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (plural, namespaced) = &paths[&(text("apiVersion"), text("kind"))];
    let group = text("apiVersion");
    if *namespaced {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        format!("/apis/{group}/namespaces/{namespace}/{plural}")
    } else {
        format!("/apis/{group}/{plural}")
    }
}

/// What is amiss with a refusal; nothing when it says what is wrong, and where.
fn amiss(broken: &Broken, how: &str, (code, answer): (u16, Value)) -> Option<String> {
    let causes = answer["details"]["causes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let told = causes
        .iter()
        .any(|cause| cause["reason"] == broken.reason && cause["field"] == broken.field.as_str());
    let message = answer["message"].as_str().unwrap_or_default();
    let name = broken.field.rsplit('.').next().unwrap_or_default();
    let named = message.contains(name.split('[').next().unwrap_or_default());
    // What does not fit the kind at all is told in a sentence, before the object is validated.
    let untyped =
        how == "apply" && code == 500 && message.starts_with("failed to create typed patch object") && named;
    let refused = match broken.mistake {
        Mistake::UnknownField => (code == 400 && named) || untyped,
        // An element too many is one twice here.
        Mistake::WrongType | Mistake::Duplicate | Mistake::TooMany => (code == 422 && told) || untyped,
        _ => code == 422 && told,
    };
    (!refused).then(|| {
        format!(
            "{how}: {:?} at {}: {code} {message}",
            broken.mistake, broken.field
        )
    })
}

#[tokio::test(start_paused = true)]
async fn each_mistake_is_refused_however_the_object_comes() {
    let server = Server::new();
    let install = definitions().into_iter().map(|(_, definition)| definition);
    server.install(install).await.expect("the definitions");
    let paths = paths();
    let mut wrong = Vec::new();
    let mut made: BTreeMap<Mistake, usize> = BTreeMap::new();
    for (name, sample, schema) in samples() {
        let path = path_of(&sample, &paths);
        if let Some(namespace) = sample["metadata"]["namespace"].as_str() {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            send(
                &server,
                "POST",
                "/api/v1/namespaces",
                "application/json",
                &namespace,
            )
            .await;
        }
        for broken in first_mistakes(&sample, &schema) {
            let object = &broken.object;
            let object_name = object["metadata"]["name"].as_str().expect("a name");
            let strict = "fieldValidation=Strict";
            let post = send(
                &server,
                "POST",
                &format!("{path}?{strict}"),
                "application/json",
                object,
            )
            .await;
            let item = format!("{path}/{object_name}?fieldManager=samples&{strict}");
            let apply = send(&server, "PATCH", &item, "application/apply-patch+yaml", object).await;
            for told in [amiss(&broken, "create", post), amiss(&broken, "apply", apply)] {
                wrong.extend(told.map(|told| format!("{name}: {told}")));
            }
            *made.entry(broken.mistake).or_default() += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {made:?}: {wrong:#?}", wrong.len());
    assert!(
        made.len() == 9 && made.values().all(|count| *count > 3),
        "{made:?}"
    );
}
