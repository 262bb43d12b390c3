//! The documents are complete, and the schemas say what the documents say.

use serde_json::json;

use super::*;

#[test]
fn every_document_is_read() {
    for (group, version) in builtin::all() {
        let document = document(group, version).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for kinds in schemas
            .values()
            .filter_map(|schema| schema["x-kubernetes-group-version-kind"].as_array())
        {
            for kind in kinds {
                let (group, kind) = (kind["group"].as_str().unwrap(), kind["kind"].as_str().unwrap());
                let _ = builtin(group, version, kind);
            }
        }
    }
}

fn list_at<'a>(schema: &'a Schema, path: &[&str]) -> &'a List {
    let mut ty = schema.root();
    for part in path {
        let map = ty.map.as_ref().or_else(|| {
            let list = ty.list.as_ref()?;
            schema.get(list.element).map.as_ref()
        });
        ty = schema.get(map.unwrap().member(part).unwrap());
    }
    ty.list.as_ref().unwrap()
}

#[test]
fn list_types_and_defaults_of_keys_are_known() {
    let pod = builtin("", "v1", "Pod").unwrap();
    let ports = list_at(&pod, &["spec", "containers", "ports"]);
    assert_eq!(
        ports.kind,
        ListKind::Map(vec!["containerPort".to_owned(), "protocol".to_owned()])
    );
    let port = pod.get(ports.element).map.as_ref().unwrap();
    assert_eq!(port.fields["protocol"].default, Some(json!("TCP")));
    assert_eq!(list_at(&pod, &["metadata", "finalizers"]).kind, ListKind::Set);
    assert_eq!(list_at(&pod, &["spec", "tolerations"]).kind, ListKind::Atomic);
}

#[test]
fn custom_resources_get_object_metadata_and_their_own_lists() {
    let schema = Schema::custom(&json!({
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}},
            "spec": {"type": "object", "properties": {
                "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "plain": {"type": "array", "items": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "port": {"x-kubernetes-int-or-string": true},
            }},
        },
    }));
    assert_eq!(list_at(&schema, &["spec", "set"]).kind, ListKind::Set);
    assert_eq!(list_at(&schema, &["spec", "plain"]).kind, ListKind::Atomic);
    assert_eq!(
        list_at(&schema, &["metadata", "ownerReferences"]).kind,
        ListKind::Map(vec!["uid".to_owned()])
    );
    let spec = schema.get(schema.root().map.as_ref().unwrap().member("spec").unwrap());
    let spec = spec.map.as_ref().unwrap();
    assert_eq!(spec.member("no"), None);
    let free = schema.get(spec.member("free").unwrap());
    assert!(free.map.as_ref().unwrap().member("anything").is_some());
}

/// A schema that contains itself ends: `JSONSchemaProps` has `properties` of its own type.
#[test]
fn recursive_definitions_end() {
    let crd = builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition").unwrap();
    let step = |ty: &Type, part: &str| crd.get(ty.map.as_ref().unwrap().member(part).unwrap()).clone();
    let spec = step(crd.root(), "spec");
    let versions = step(&spec, "versions").list.unwrap().element;
    let mut schema = step(&step(crd.get(versions), "schema"), "openAPIV3Schema");
    for _ in 0..60 {
        schema = step(&step(&schema, "properties"), "a");
    }
    assert!(schema.map.unwrap().member("type").is_some());
}

#[test]
fn empty_objects_hold_what_go_always_writes() {
    let empty = |group, kind| builtin(group, "v1", kind).unwrap().empty();
    assert_eq!(empty("", "ConfigMap"), json!({"metadata": {}}));
    assert_eq!(
        empty("apps", "Deployment"),
        json!({
            "metadata": {},
            "spec": {"selector": null, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": null}}},
            "status": {},
        })
    );
    let set = empty("apps", "StatefulSet");
    assert_eq!(set["spec"]["serviceName"], "");
    assert_eq!(set["status"], json!({"replicas": 0, "availableReplicas": 0}));
    assert_eq!(empty("", "Service")["status"], json!({"loadBalancer": {}}));
}
