//! The mistakes made in real samples, through the server: whatever way an object comes, it is refused, and the answer names what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::broken_rules::{BrokenRule, broken_rules};
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

/// A server with the definitions, and with the namespaces of the samples.
async fn prepared() -> Server {
    let server = Server::new();
    let install = definitions().into_iter().map(|(_, definition)| definition);
    server.install(install).await.expect("the definitions");
    for (_, sample, _) in samples() {
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
    }
    server
}

#[tokio::test(start_paused = true)]
async fn each_mistake_is_refused_however_the_object_comes() {
    let server = prepared().await;
    let paths = paths();
    let mut wrong = Vec::new();
    let mut made: BTreeMap<Mistake, usize> = BTreeMap::new();
    for (name, sample, schema) in samples() {
        let path = path_of(&sample, &paths);
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

/// Nothing, when the rule is told where it is broken, and with its reason.
fn untold(broken: &BrokenRule, how: &str, (code, answer): &(u16, Value)) -> Option<String> {
    let causes = answer["details"]["causes"].as_array();
    let told = causes.into_iter().flatten().any(|cause| {
        let message = cause["message"].as_str().unwrap_or_default();
        cause["reason"] == "FieldValueInvalid"
            && cause["field"] == broken.field.as_str()
            && message.contains(&broken.message)
    });
    (*code != 422 || !told).then(|| format!("{how}: {}: {}: {answer}", broken.field, broken.message))
}

/// Rules broken in objects that are created, applied, and written over sound ones.
#[tokio::test(start_paused = true)]
async fn each_broken_rule_is_told_however_the_object_comes() {
    let server = prepared().await;
    let paths = paths();
    let json = "application/json";
    let mut wrong = Vec::new();
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, sample, _) in samples() {
        let path = path_of(&sample, &paths);
        let item = format!("{path}/{}", sample["metadata"]["name"].as_str().expect("a name"));
        let kind = sample["kind"].as_str().expect("a kind").to_owned();
        let told = told.entry(kind).or_default();
        let mut broken = broken_rules(&sample);
        // Every rule once, and at least one in every sample.
        let new = |broken: &BrokenRule| !told.contains(&broken.message);
        if broken.iter().any(new) {
            broken.retain(new);
        } else {
            broken.truncate(1);
        }
        for broken in &broken {
            let created = send(&server, "POST", &path, json, &broken.object).await;
            let apply = format!("{item}?fieldManager=samples");
            let applied = send(
                &server,
                "PATCH",
                &apply,
                "application/apply-patch+yaml",
                &broken.object,
            )
            .await;
            wrong.extend(untold(broken, "create", &created).map(|why| format!("{name}: {why}")));
            wrong.extend(untold(broken, "apply", &applied).map(|why| format!("{name}: {why}")));
        }
        let (code, sound) = send(&server, "POST", &path, json, &sample).await;
        assert_eq!(code, 201, "{name}: {sound}");
        for mut broken in broken {
            broken.object["metadata"]["resourceVersion"] = sound["metadata"]["resourceVersion"].clone();
            let put = send(&server, "PUT", &item, json, &broken.object).await;
            wrong.extend(untold(&broken, "put", &put).map(|why| format!("{name}: {why}")));
            told.insert(broken.message);
        }
        send(&server, "DELETE", &item, json, &json!({})).await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    told.retain(|_, rules| !rules.is_empty());
    let kinds: Vec<(&str, usize)> = told
        .iter()
        .map(|(kind, rules)| (kind.as_str(), rules.len()))
        .collect();
    let least = [
        ("BackendTLSPolicy", 6),
        ("GRPCRoute", 8),
        ("Gateway", 5),
        ("HTTPRoute", 32),
        ("ListenerSet", 2),
        ("TCPRoute", 3),
        ("TLSRoute", 4),
        ("UDPRoute", 3),
    ];
    let enough = least
        .iter()
        .zip(&kinds)
        .all(|(least, kind)| least.0 == kind.0 && least.1 <= kind.1);
    assert!(enough && kinds.len() == least.len(), "{told:#?}");
}

/// A rule that compares with what was before: the one kind with nothing else to break.
#[tokio::test(start_paused = true)]
async fn a_class_keeps_its_controller() {
    let server = prepared().await;
    let path = "/apis/gateway.networking.k8s.io/v1/gatewayclasses";
    for (name, mut sample, _) in samples() {
        if sample["kind"] != "GatewayClass" {
            continue;
        }
        let (_, made) = send(&server, "POST", path, "application/json", &sample).await;
        let item = format!("{path}/{}", made["metadata"]["name"].as_str().expect("a name"));
        sample["metadata"] = made["metadata"].clone();
        sample["spec"]["controllerName"] = json!("example.com/another");
        let put = send(&server, "PUT", &item, "application/json", &sample).await;
        let broken = BrokenRule {
            object: sample,
            field: "spec.controllerName".to_owned(),
            message: "field is immutable".to_owned(),
        };
        assert_eq!(untold(&broken, "put", &put), None, "{name}");
        send(&server, "DELETE", &item, "application/json", &json!({})).await;
    }
}
