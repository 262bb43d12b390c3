//! The OpenAPI v3 document of a group version of custom resources.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::paths;
use crate::codec::types::document as builtin;
use crate::registry::Resource;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// The document of all resources of one group version.
pub(super) fn document(resources: &[&Arc<Resource>]) -> Value {
    let mut schemas = meta_schemas();
    let mut paths = Map::new();
    for resource in resources {
        schemas.insert(schema_name(resource, &resource.kind), kind(resource));
        schemas.insert(schema_name(resource, &resource.list_kind), list(resource));
        paths.extend(paths::of(resource));
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

/// The schemas every document refers to.
fn meta_schemas() -> Map<String, Value> {
    let text = builtin("coordination.k8s.io/v1").unwrap_or_default();
    let mut document: Value = serde_json::from_str(text).unwrap_or_default();
    let schemas = match document["components"]["schemas"].take() {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    };
    schemas
        .into_iter()
        .filter(|(name, _)| name.starts_with("io.k8s.apimachinery."))
        .collect()
}

/// `com.example.v1.Widget` for the group `example.com`.
pub(super) fn schema_name(resource: &Resource, kind: &str) -> String {
    let mut parts: Vec<&str> = resource.group.split('.').rev().collect();
    parts.extend([resource.version.as_str(), kind]);
    parts.join(".")
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn group_version_kind(resource: &Resource, kind: &str) -> Value {
    json!([{"group": resource.group, "version": resource.version, "kind": kind}])
}

fn meta(name: &str) -> Value {
    json!({"allOf": [reference(&format!("{META}{name}"))]})
}

/// The schema of the definition, and what every object has.
fn kind(resource: &Resource) -> Value {
    let written = resource.custom.as_ref().map(|custom| custom.openapi.clone());
    let mut schema = written.filter(Value::is_object).unwrap_or_else(|| json!({}));
    schema["type"] = "object".into();
    let properties = &mut schema["properties"];
    if !properties.is_object() {
        *properties = json!({});
    }
    properties["apiVersion"] = json!({"type": "string"});
    properties["kind"] = json!({"type": "string"});
    properties["metadata"] = meta("ObjectMeta");
    schema["x-kubernetes-group-version-kind"] = group_version_kind(resource, &resource.kind);
    schema
}

fn list(resource: &Resource) -> Value {
    let item = reference(&schema_name(resource, &resource.kind));
    json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": meta("ListMeta"),
            "items": {"type": "array", "items": item},
        },
        "x-kubernetes-group-version-kind": group_version_kind(resource, &resource.list_kind),
    })
}
