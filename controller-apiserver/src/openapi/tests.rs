//! What clients find in the documents.

use super::*;
use crate::registry::custom;

fn definition() -> Value {
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object",
                    "properties": {
                        "size": {"type": "integer"},
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                                 "properties": {"a": {"type": "string"}}},
                        "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    },
                }}}},
            }],
        },
    })
}

fn resources() -> Vec<Arc<Resource>> {
    let mut registry = Registry::new();
    registry.define("widgets.example.com", custom::served(&definition(), 1, 1));
    registry.all().cloned().collect()
}

fn read(resources: &[Arc<Resource>], group: &str, version: &str) -> Value {
    serde_json::from_slice(&document(resources, group, version).unwrap()).unwrap()
}

#[test]
fn every_group_version_has_a_document() {
    let made = Made::of(0, &resources());
    let index: Value = serde_json::from_slice(&made.index).unwrap();
    for (place, entry) in index["paths"].as_object().unwrap() {
        let document: Value = serde_json::from_slice(&made.groups[place]).unwrap();
        assert_eq!(document["openapi"], "3.0.0", "{place}");
        assert!(
            entry["serverRelativeURL"]
                .as_str()
                .unwrap()
                .starts_with(&format!("/openapi/v3/{place}?hash="))
        );
    }
    assert!(index["paths"]["apis/example.com/v1"].is_object());
    assert_eq!(document(&resources(), "no.such", "v1"), None);
}

#[test]
fn a_patch_of_a_custom_resource_knows_dry_run_and_field_validation() {
    let document = read(&resources(), "example.com", "v1");
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "example.com", "version": "v1", "kind": "Widget"})
    );
    let names: Vec<&str> = patch["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|p| p["name"].as_str())
        .collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
}

/// Every `$ref` of every document leads somewhere.
#[test]
fn references_lead_somewhere() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let resources = resources();
    let documents = group_versions(&resources)
        .into_iter()
        .map(|(group, version)| read(&resources, group, version));
    let swagger = swagger::document(documents.clone());
    for document in documents.chain([swagger]) {
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}

#[test]
fn v2_does_not_refuse_what_it_cannot_say() {
    let resources = resources();
    let swagger = swagger::document(std::iter::once(read(&resources, "example.com", "v1")));
    let spec = &swagger["definitions"]["com.example.v1.Widget"]["properties"]["spec"]["properties"];
    assert_eq!(spec["size"], json!({"type": "integer"}));
    assert_eq!(spec["free"].get("properties"), None);
    assert_eq!(spec["port"].get("type"), None);
    let meta = &swagger["definitions"]["com.example.v1.Widget"]["properties"]["metadata"];
    assert_eq!(
        *meta,
        json!({"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"})
    );
}

/// Walks the wire format: every length must fit.
fn walk(mut bytes: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    fn varint(bytes: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first()?;
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        match tag & 7 {
            0 => {
                varint(&mut bytes)?;
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (content, rest) = bytes.split_at_checked(length)?;
                fields.push((tag >> 3, content));
                bytes = rest;
            }
            _ => return None,
        }
    }
    Some(fields)
}

#[test]
fn the_protobuf_form_is_well_formed() {
    let resources = resources();
    let swagger = swagger::document(std::iter::once(read(&resources, "example.com", "v1")));
    let bytes = gnostic::encode(&swagger);
    let document = walk(&bytes).unwrap();
    assert_eq!(document[0], (1, &b"2.0"[..]));
    let definitions = walk(document.iter().find(|(field, _)| *field == 9).unwrap().1).unwrap();
    let names: Vec<&[u8]> = definitions
        .iter()
        .map(|(_, named)| walk(named).unwrap()[0].1)
        .collect();
    assert!(names.contains(&&b"com.example.v1.Widget"[..]));
    assert_eq!(names.len(), swagger["definitions"].as_object().unwrap().len());
}

/// The documents are those of what is served: made once, and anew when a definition came.
#[test]
fn documents_are_made_once_for_what_is_served() {
    let documents = Documents::default();
    let ask = |registry: &Registry| {
        documents.answer(|| registry, "v3", &Method::GET, &HeaderMap::new());
        let made = documents.0.lock().unwrap();
        let made = made.as_ref().unwrap();
        (
            made.index.as_ptr(),
            made.groups.contains_key("apis/example.com/v1"),
        )
    };
    let mut registry = Registry::new();
    let (first, custom) = ask(&registry);
    assert!(!custom);
    assert_eq!(ask(&registry), (first, false));
    registry.define("widgets.example.com", custom::served(&definition(), 1, 1));
    assert!(ask(&registry).1);
    registry.undefine("widgets.example.com");
    assert!(!ask(&registry).1);
}
