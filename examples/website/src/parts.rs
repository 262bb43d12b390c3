//! What a Website is made of. Pure: from the object to its children.

use controller_runtime::prelude::*;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
    networking::v1::Ingress,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};

use crate::types::Website;

const LABEL: &str = "example.com/website";

/// The labels of the servers, as `kubectl get --selector` takes them.
pub(crate) fn selector(website: &Website) -> String {
    format!("{LABEL}={}", website.name_any())
}

pub(crate) fn pages(website: &Website) -> serde_json::Result<ConfigMap> {
    part(website, json!({"data": website.spec.pages}))
}

pub(crate) fn servers(website: &Website) -> serde_json::Result<Deployment> {
    let container = json!({
        "name": "server",
        "image": website.spec.image,
        "ports": [{"containerPort": 80}],
        "volumeMounts": [{"name": "pages", "mountPath": "/usr/share/nginx/html"}],
    });
    let pages = json!({"name": "pages", "configMap": {"name": website.name_any()}});
    let spec = json!({
        "replicas": website.spec.replicas,
        "selector": {"matchLabels": labels(website)},
        "template": {
            "metadata": {"labels": labels(website)},
            "spec": {"containers": [container], "volumes": [pages]},
        },
    });
    part(website, json!({"spec": spec}))
}

pub(crate) fn service(website: &Website) -> serde_json::Result<Service> {
    let spec = json!({"selector": labels(website), "ports": [{"port": 80}]});
    part(website, json!({"spec": spec}))
}

pub(crate) fn ingress(website: &Website) -> serde_json::Result<Option<Ingress>> {
    let Some(host) = &website.spec.host else {
        return Ok(None);
    };
    let service = json!({"service": {"name": website.name_any(), "port": {"number": 80}}});
    let path = json!({"path": "/", "pathType": "Prefix", "backend": service});
    let rule = json!({"host": host, "http": {"paths": [path]}});
    part(website, json!({"spec": {"rules": [rule]}})).map(Some)
}

fn labels(website: &Website) -> Value {
    json!({LABEL: website.name_any()})
}

/// A part is called like its Website.
fn part<T: DeserializeOwned>(website: &Website, mut body: Value) -> serde_json::Result<T> {
    body["metadata"] = json!({"name": website.name_any(), "labels": labels(website)});
    from_value(body)
}
