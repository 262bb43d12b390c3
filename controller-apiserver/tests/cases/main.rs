//! Reports from people who met a fake server that was too kind, or too strict, each as a test of its
//! whole kind: over several resources, built in and custom.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    clippy::format_push_string,
    clippy::needless_pass_by_ref_mut,
    missing_docs,
    unreachable_pub,
    reason = "a test, in several files"
)]

mod account;
mod conversion;
mod deletion;
mod gap;
mod garbage;
mod generation;
mod health;
mod parameters;
mod rules;
mod selectors;
mod status;
mod steady;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use controller_apiserver::Server;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// A server and a plain client of it.
#[derive(Clone, Debug)]
pub struct Cluster(pub Server);

/// A resource to try things on.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub path: &'static str,
    pub api_version: &'static str,
    pub kind: &'static str,
    /// A field of the desired state, or of the content, with two values.
    pub field: &'static str,
    pub values: [&'static str; 2],
    /// Objects have a generation.
    pub counts: bool,
    pub has_status: bool,
}

pub const CONFIG_MAP: Kind = Kind {
    path: "/api/v1/namespaces/default/configmaps",
    api_version: "v1",
    kind: "ConfigMap",
    field: "data",
    values: [r#"{"k":"1"}"#, r#"{"k":"2"}"#],
    counts: false,
    has_status: false,
};

pub const LEASE: Kind = Kind {
    path: "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    api_version: "coordination.k8s.io/v1",
    kind: "Lease",
    field: "spec",
    values: [r#"{"holderIdentity":"a"}"#, r#"{"holderIdentity":"b"}"#],
    counts: false,
    has_status: false,
};

pub const WIDGET: Kind = Kind {
    path: "/apis/x.io/v1/namespaces/default/widgets",
    api_version: "x.io/v1",
    kind: "Widget",
    field: "spec",
    values: [r#"{"size":1}"#, r#"{"size":2}"#],
    counts: true,
    has_status: true,
};

pub const KINDS: [Kind; 3] = [CONFIG_MAP, LEASE, WIDGET];

impl Kind {
    pub fn item(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    pub fn object(&self, name: &str, version: usize, metadata: Value) -> Value {
        let mut object = json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata});
        object["metadata"]["name"] = name.into();
        object[self.field] = self.value(version);
        object
    }

    pub fn value(&self, version: usize) -> Value {
        serde_json::from_str(self.values[version]).unwrap()
    }

    pub fn change(&self, version: usize) -> Value {
        let mut patch = json!({});
        patch[self.field] = self.value(version);
        patch
    }
}

impl Cluster {
    /// A server with Widgets, which have a status subresource.
    pub async fn new() -> Self {
        let cluster = Self(Server::new());
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.x.io"},
            "spec": {
                "group": "x.io", "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                    }}},
                }],
            },
        });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        cluster.post(path, definition).await;
        cluster
    }

    pub async fn send(&self, method: &str, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let bytes = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .body(Full::new(Bytes::from(bytes)))
            .unwrap();
        let response = self.0.service().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, "application/json", &Value::Null).await
    }

    /// GET with what is accepted as an answer.
    pub async fn get_as(&self, path: &str, accept: &str) -> (u16, Value) {
        let request = Request::get(path)
            .header("Accept", accept)
            .body(Full::new(Bytes::new()))
            .unwrap();
        let response = self.0.service().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Creates an object, and expects that to work.
    pub async fn post(&self, path: &str, body: Value) -> Value {
        let (code, answer) = self.send("POST", path, "application/json", &body).await;
        assert_eq!(code, 201, "{answer}");
        answer
    }

    pub async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.send("PUT", path, "application/json", &body).await
    }

    pub async fn merge(&self, path: &str, patch: Value) -> (u16, Value) {
        self.send("PATCH", path, "application/merge-patch+json", &patch)
            .await
    }

    pub async fn delete(&self, path: &str, options: Value) -> (u16, Value) {
        self.send("DELETE", path, "application/json", &options).await
    }

    pub async fn settle(&self) {
        self.0.settle().await.unwrap();
    }

    /// Opens a watch that gathers its events.
    pub async fn watch(&self, path: &str) -> Events {
        let separator = if path.contains('?') { '&' } else { '?' };
        let request = Request::get(format!("{path}{separator}watch=true"))
            .body(Full::new(Bytes::new()))
            .unwrap();
        let mut body = self.0.service().oneshot(request).await.unwrap().into_body();
        let events: Arc<Mutex<Vec<Value>>> = Arc::default();
        let gathered = Arc::clone(&events);
        tokio::spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                let event = serde_json::from_slice(&frame.into_data().unwrap()).unwrap();
                gathered.lock().unwrap().push(event);
            }
        });
        Events {
            cluster: self.clone(),
            events,
        }
    }
}

/// The events of a watch.
#[derive(Debug)]
pub struct Events {
    cluster: Cluster,
    events: Arc<Mutex<Vec<Value>>>,
}

impl Events {
    /// What came since the last look, as `TYPE name`.
    pub async fn take(&self) -> Vec<String> {
        self.take_whole()
            .await
            .iter()
            .map(|event| {
                let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-");
                format!("{} {name}", event["type"].as_str().unwrap())
            })
            .collect()
    }

    /// What came since the last look.
    pub async fn take_whole(&self) -> Vec<Value> {
        self.cluster.settle().await;
        std::mem::take(&mut *self.events.lock().unwrap())
    }
}

pub fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

pub fn generation(object: &Value) -> Option<i64> {
    object["metadata"]["generation"].as_i64()
}
