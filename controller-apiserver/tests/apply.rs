//! Server-side apply through the whole server: the corner cases of field managers
//! (kubernetes-sigs/controller-runtime#3430, #3403, #2341), and the same questions to every kind an operator applies.

#![allow(clippy::unwrap_used, reason = "a test")]

use bytes::Bytes;
use controller_apiserver::Server;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

async fn send(server: &Server, method: &str, path: &str, media: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", media)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let response = server.service().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn apply(server: &Server, path: &str, manager: &str, body: &Value) -> (u16, Value) {
    let separator = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{separator}fieldManager={manager}");
    send(server, "PATCH", &path, "application/apply-patch+yaml", body).await
}

fn map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_apply_creates_then_changes_nothing_then_meets_others() {
    let server = Server::new();
    let mine = map(&json!({"k": "1", "l": "1"}));
    let (code, created) = apply(&server, MAP, "me", &mine).await;
    assert_eq!(code, 201);
    let before = server.revision();
    let (code, again) = apply(&server, MAP, "me", &mine).await;
    assert_eq!((code, version(&again)), (200, version(&created)));
    assert_eq!(server.revision(), before, "nothing was written");

    let theirs = map(&json!({"k": "2"}));
    let (code, refusal) = apply(&server, MAP, "they", &theirs).await;
    assert_eq!((code, &refusal["reason"]), (409, &json!("Conflict")));
    assert_eq!(refusal["details"]["causes"][0]["field"], ".data.k");
    let (code, taken) = apply(&server, &format!("{MAP}?force=true"), "they", &theirs).await;
    assert_eq!((code, &taken["data"]), (200, &json!({"k": "2", "l": "1"})));

    let (code, dropped) = apply(&server, MAP, "me", &map(&json!({}))).await;
    assert_eq!(
        (code, &dropped["data"]),
        (200, &json!({"k": "2"})),
        "only what was mine alone"
    );
}

#[tokio::test(start_paused = true)]
async fn an_apply_with_what_only_a_server_says_is_refused() {
    let server = Server::new();
    let (_, first) = apply(&server, MAP, "me", &map(&json!({"k": "1"}))).await;
    let (_, second) = apply(&server, MAP, "me", &map(&json!({"k": "2"}))).await;
    assert_ne!(version(&first), version(&second));

    let mut managed = map(&json!({"k": "3"}));
    managed["metadata"]["managedFields"] = second["metadata"]["managedFields"].clone();
    assert_eq!(apply(&server, MAP, "me", &managed).await.0, 400);

    let mut old = map(&json!({"k": "3"}));
    old["metadata"]["resourceVersion"] = version(&first).into();
    assert_eq!(apply(&server, MAP, "me", &old).await.0, 409);
    old["metadata"]["resourceVersion"] = version(&second).into();
    assert_eq!(apply(&server, MAP, "me", &old).await.0, 200);

    let mut nameless = map(&json!({}));
    nameless.as_object_mut().unwrap().remove("apiVersion");
    assert_eq!(apply(&server, MAP, "me", &nameless).await.0, 400);
    let other = map(&json!({}));
    let wrong = format!("{MAP}bc");
    let (code, refusal) = apply(&server, &wrong, "me", &other).await;
    assert_eq!(code, 400, "another name in the path: {refusal}");
}

#[tokio::test(start_paused = true)]
async fn status_and_object_have_owners_of_their_own() {
    let server = Server::new();
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let labels = json!({"app": "web"});
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
    }});
    assert_eq!(apply(&server, path, "me", &web).await.0, 201);
    let status = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "status": {"conditions": [{"type": "Available", "status": "True", "reason": "R", "message": "m"}]}});
    let (code, applied) = apply(&server, &format!("{path}/status"), "me", &status).await;
    assert_eq!(code, 200);
    assert_eq!(applied["status"]["conditions"][0]["type"], "Available");
    assert_eq!(applied["metadata"]["generation"], 1);
    let owners = applied["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(owners.len(), 2);
    assert!(owners.iter().any(|owner| owner["subresource"] == "status"));
    let (code, same) = apply(&server, path, "me", &web).await;
    assert_eq!(code, 200);
    assert_eq!(
        same["status"], applied["status"],
        "the object's apply leaves the status alone"
    );
}

/// Objects as operators apply them: without defaults inside lists that are replaced as a whole, for
/// those conflict with themselves on a real server as well.
fn kinds() -> Vec<(&'static str, Value)> {
    let labels = json!({"a": "b"});
    let pod = json!({"containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "value": "1"}]}]});
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    let job = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}});
    let selector = json!({"matchLabels": labels});
    vec![
        (
            "v1/services",
            json!({"spec": {"ports": [{"name": "h", "port": 80}], "selector": labels}}),
        ),
        ("v1/secrets", json!({"data": {"k": "dg=="}})),
        ("v1/serviceaccounts", json!({"imagePullSecrets": [{"name": "x"}]})),
        (
            "apps/v1/deployments",
            json!({"spec": {"selector": selector, "template": template}}),
        ),
        (
            "apps/v1/daemonsets",
            json!({"spec": {"selector": selector, "template": template}}),
        ),
        (
            "apps/v1/statefulsets",
            json!({"spec": {"serviceName": "s", "selector": selector, "template": template}}),
        ),
        (
            "batch/v1/cronjobs",
            json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}}}),
        ),
        (
            "networking.k8s.io/v1/ingresses",
            json!({"spec": {"rules": [{"host": "x", "http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}},
            ]}}]}}),
        ),
        (
            "networking.k8s.io/v1/networkpolicies",
            json!({"spec": {"podSelector": selector}}),
        ),
        (
            "policy/v1/poddisruptionbudgets",
            json!({"spec": {"minAvailable": 1, "selector": selector}}),
        ),
        (
            "autoscaling/v2/horizontalpodautoscalers",
            json!({"spec": {"maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}}}),
        ),
        (
            "coordination.k8s.io/v1/leases",
            json!({"spec": {"holderIdentity": "x", "leaseDurationSeconds": 15}}),
        ),
        (
            "rbac.authorization.k8s.io/v1/roles",
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
    ]
}

async fn kind_of(server: &Server, root: &str, plural: &str) -> String {
    let (_, list) = send(server, "GET", root, "", &Value::Null).await;
    let mut resources = list["resources"].as_array().unwrap().iter();
    let found = resources.find(|resource| resource["name"] == plural).unwrap();
    found["kind"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn every_kind_is_applied_by_the_same_rules() {
    let server = Server::new();
    for (place, body) in kinds() {
        let (api_version, plural) = place.rsplit_once('/').unwrap();
        let root = if api_version == "v1" {
            "/api/v1".to_owned()
        } else {
            format!("/apis/{api_version}")
        };
        let path = format!("{root}/namespaces/default/{plural}/a");
        let mut config = body;
        config["apiVersion"] = api_version.into();
        config["kind"] = kind_of(&server, &root, plural).await.into();
        config["metadata"] = json!({"name": "a"});
        let (code, created) = apply(&server, &path, "me", &config).await;
        assert_eq!(code, 201, "{place}: {created}");
        let (code, again) = apply(&server, &path, "me", &config).await;
        assert_eq!(
            (code, version(&again)),
            (200, version(&created)),
            "{place}: again"
        );

        let (code, shared) = apply(&server, &path, "they", &config).await;
        assert_eq!(code, 200, "{place}: what both want is no conflict: {shared}");
        assert_eq!(
            shared["metadata"]["managedFields"].as_array().unwrap().len(),
            2,
            "{place}"
        );
        let (code, back) = send(&server, "PUT", &path, "application/json", &shared).await;
        assert_eq!(
            (code, version(&back)),
            (200, version(&shared)),
            "{place}: put back as it was read"
        );

        config["metadata"]["labels"] = json!({"x": "1"});
        assert_eq!(apply(&server, &path, "they", &config).await.0, 200, "{place}");
        let patch = json!({"metadata": {"labels": {"x": "2"}}});
        let (code, _) = send(
            &server,
            "PATCH",
            &path,
            "application/strategic-merge-patch+json",
            &patch,
        )
        .await;
        assert_eq!(code, 200, "{place}: patched");
        let (code, refusal) = apply(&server, &path, "they", &config).await;
        assert_eq!(code, 409, "{place}: another changed it: {refusal}");
        let forced = format!("{path}?force=true");
        let (code, won) = apply(&server, &forced, "they", &config).await;
        assert_eq!(
            (code, &won["metadata"]["labels"]["x"]),
            (200, &json!("1")),
            "{place}"
        );

        config["metadata"].as_object_mut().unwrap().remove("labels");
        let (code, dropped) = apply(&server, &path, "they", &config).await;
        assert_eq!(
            (code, &dropped["metadata"]["labels"]["x"]),
            (200, &Value::Null),
            "{place}"
        );
        assert_eq!(dropped["spec"], created["spec"], "{place}: nothing else went");
    }
}

/// What an applier gives up below a map that it still names leaves the map, empty: as 1.36.2 does it. An
/// empty list of type `set` names nothing.
#[tokio::test(start_paused = true)]
async fn a_map_that_is_applied_empty_stays_when_its_fields_go() {
    let server = Server::new();
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let list = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let spec =
        json!({"type": "object", "properties": {"map": map, "list": list, "size": {"type": "integer"}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.io"},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "required": ["spec"], "properties": {"spec": spec},
            }}}]},
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, made) = send(&server, "POST", path, "application/json", &definition).await;
    assert_eq!(code, 201, "{made}");
    let path = "/apis/x.io/v1/namespaces/default/widgets/a";
    let widget = |spec: Value| json!({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec});
    let full = widget(json!({"map": {"a": "1"}, "list": ["x"], "size": 1}));
    for (emptied, left) in [
        (
            json!({"map": {}, "list": [], "size": 1}),
            json!({"map": {}, "size": 1}),
        ),
        (json!({"size": 1}), json!({"size": 1})),
        (json!({}), json!({})),
    ] {
        assert!(apply(&server, path, "me", &full).await.0 < 300);
        let (code, answer) = apply(&server, path, "me", &widget(emptied.clone())).await;
        assert_eq!((code, &answer["spec"]), (200, &left), "{emptied}");
    }
}

/// Events are one store with two views: who owns a field in one owns it in the other.
#[tokio::test(start_paused = true)]
async fn fields_of_events_have_owners_across_both_groups() {
    let server = Server::new();
    let core = "/api/v1/namespaces/default/events/a";
    let new = "/apis/events.k8s.io/v1/namespaces/default/events/a";
    let event = |version: &str, object: &str, text: (&str, &str)| {
        let mut event = json!({"apiVersion": version, "kind": "Event", "metadata": {"name": "a"}});
        event[object] = json!({"kind": "Pod", "name": "p", "namespace": "default"});
        event[text.0] = text.1.into();
        event
    };
    let mine = event("v1", "involvedObject", ("message", "m"));
    let (code, created) = apply(&server, core, "me", &mine).await;
    assert_eq!(code, 201, "{created}");
    let theirs = event("events.k8s.io/v1", "regarding", ("note", "n"));
    let (code, refusal) = apply(&server, new, "they", &theirs).await;
    assert_eq!((code, &refusal["reason"]), (409, &json!("Conflict")), "{refusal}");
    assert_eq!(
        refusal["details"]["causes"][0]["field"], ".message",
        "in the words of who owns it"
    );

    let (code, again) = apply(&server, core, "me", &mine).await;
    assert_eq!((code, version(&again)), (200, version(&created)));
    let (_, seen) = send(&server, "GET", new, "application/json", &Value::Null).await;
    assert_eq!(seen["metadata"]["managedFields"][0]["apiVersion"], "v1");
}

/// A write of the object does not take its status away from who wrote that, in whatever version it is.
#[tokio::test(start_paused = true)]
async fn a_status_keeps_its_owner_under_writes_in_another_version() {
    let server = Server::new();
    let path =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers/a");
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}});
    assert_eq!(apply(&server, &path("v2"), "user", &scaler).await.0, 201);
    let merge = "application/merge-patch+json";
    let status = json!({"status": {"desiredReplicas": 2}});
    let (code, _) = send(
        &server,
        "PATCH",
        &format!("{}/status?fieldManager=scaler", path("v2")),
        merge,
        &status,
    )
    .await;
    assert_eq!(code, 200);
    for version in ["v1", "v2"] {
        let patch = json!({"metadata": {"labels": {"by": version}}, "status": {"desiredReplicas": 9}});
        let main = format!("{}?fieldManager=user", path(version));
        let (code, patched) = send(&server, "PATCH", &main, merge, &patch).await;
        assert_eq!((code, &patched["status"]["desiredReplicas"]), (200, &json!(2)));
        let owners = patched["metadata"]["managedFields"].as_array().unwrap();
        let owner = owners.iter().find(|owner| owner["manager"] == "scaler").unwrap();
        assert_eq!(
            owner["fieldsV1"]["f:status"]["f:desiredReplicas"],
            json!({}),
            "{version}"
        );
    }
}
