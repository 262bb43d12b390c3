//! The paths of a custom resource in its OpenAPI v3 document.
//!
//! kubectl looks here whether a PATCH of a kind knows `dryRun` and `fieldValidation`.

use serde_json::{Map, Value, json};

use super::custom::schema_name;
use crate::registry::Resource;

/// Paths and their operations.
pub(super) fn of(resource: &Resource) -> Map<String, Value> {
    let root = format!("/apis/{}/{}", resource.group, resource.version);
    let across = format!("{root}/{}", resource.plural);
    let collection = if resource.namespaced {
        format!("{root}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        across.clone()
    };
    let item = format!("{collection}/{{name}}");
    let mut paths = Map::new();
    if resource.namespaced {
        paths.insert(across, operations(resource, &["list"], &[]));
    }
    let scope: &[&str] = if resource.namespaced { &["namespace"] } else { &[] };
    paths.insert(
        collection,
        operations(resource, &["list", "post", "deletecollection"], scope),
    );
    let place: &[&str] = if resource.namespaced {
        &["name", "namespace"]
    } else {
        &["name"]
    };
    paths.insert(
        item.clone(),
        operations(resource, &["get", "put", "patch", "delete"], place),
    );
    for subresource in &resource.subresources {
        let path = format!("{item}/{}", subresource.name);
        paths.insert(path, operations(resource, &["get", "put", "patch"], place));
    }
    paths
}

fn operations(resource: &Resource, actions: &[&str], place: &[&str]) -> Value {
    let mut path = Map::new();
    for action in actions {
        let method = match *action {
            "list" => "get",
            "deletecollection" => "delete",
            same => same,
        };
        path.insert(method.to_owned(), operation(resource, action, place.len()));
    }
    let parameters: Vec<Value> = place
        .iter()
        .map(|name| parameter(name, "path", "string"))
        .collect();
    path.insert("parameters".to_owned(), parameters.into());
    path.into()
}

fn operation(resource: &Resource, action: &str, depth: usize) -> Value {
    let kind = match action {
        "list" => &resource.list_kind,
        _ => &resource.kind,
    };
    let object = json!({"$ref": format!("#/components/schemas/{}", schema_name(resource, kind))});
    let content = |schema: &Value| json!({"application/json": {"schema": schema}, "application/yaml": {"schema": schema}});
    let mut operation = json!({
        "operationId": format!("{action}{depth}{}", schema_name(resource, kind)),
        "parameters": parameters(action),
        "responses": {"200": {"description": "OK", "content": content(&object)}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind":
            {"group": resource.group, "version": resource.version, "kind": resource.kind},
    });
    match action {
        "post" | "put" => operation["requestBody"] = json!({"content": content(&object)}),
        "patch" => {
            let patch = json!({"schema": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"}});
            operation["requestBody"] = json!({"content": {
                "application/apply-patch+yaml": patch,
                "application/json-patch+json": patch,
                "application/merge-patch+json": patch,
            }});
        }
        _ => {}
    }
    operation
}

fn parameters(action: &str) -> Vec<Value> {
    let names: &[(&str, &str)] = match action {
        "list" => &[
            ("allowWatchBookmarks", "boolean"),
            ("continue", "string"),
            ("fieldSelector", "string"),
            ("labelSelector", "string"),
            ("limit", "integer"),
            ("resourceVersion", "string"),
            ("resourceVersionMatch", "string"),
            ("sendInitialEvents", "boolean"),
            ("timeoutSeconds", "integer"),
            ("watch", "boolean"),
        ],
        "post" | "put" => &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
        ],
        "patch" => &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
            ("force", "boolean"),
        ],
        "delete" | "deletecollection" => &[
            ("dryRun", "string"),
            ("gracePeriodSeconds", "integer"),
            ("propagationPolicy", "string"),
        ],
        _ => &[("resourceVersion", "string")],
    };
    names
        .iter()
        .map(|(name, kind)| parameter(name, "query", kind))
        .collect()
}

fn parameter(name: &str, place: &str, kind: &str) -> Value {
    let mut parameter = json!({"name": name, "in": place, "schema": {"type": kind, "uniqueItems": true}});
    if place == "path" {
        parameter["required"] = true.into();
    }
    parameter
}
