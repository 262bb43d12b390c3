//! Resources inside of resources: `x-kubernetes-embedded-resource`.
//!
//! Their `metadata` is an `ObjectMeta` whatever the schema says: unknown members are dropped, members
//! of a wrong type make the request bad, and what is left must be well formed. Names are only
//! checked for what cannot be part of a URL.

use serde_json::{Map, Value};

use super::node::Node;
use super::path::Path;
use crate::registry::names;
use crate::status::Cause;

/// The type of a member of `ObjectMeta`.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Text,
    Integer,
    Time,
    Texts,
    TextMap,
    Objects,
}

/// The members of `ObjectMeta`.
const MEMBERS: [(&str, Shape); 15] = [
    ("annotations", Shape::TextMap),
    ("creationTimestamp", Shape::Time),
    ("deletionGracePeriodSeconds", Shape::Integer),
    ("deletionTimestamp", Shape::Time),
    ("finalizers", Shape::Texts),
    ("generateName", Shape::Text),
    ("generation", Shape::Integer),
    ("labels", Shape::TextMap),
    ("managedFields", Shape::Objects),
    ("name", Shape::Text),
    ("namespace", Shape::Text),
    ("ownerReferences", Shape::Objects),
    ("resourceVersion", Shape::Text),
    ("selfLink", Shape::Text),
    ("uid", Shape::Text),
];

/// Brings embedded metadata into form; returns the paths of unknown members that were dropped.
///
/// # Errors
///
/// The first member of a wrong type.
pub(crate) fn coerce_value(value: &mut Value, schema: &Node, path: &Path<'_>) -> Result<Vec<String>, Cause> {
    let mut dropped = Vec::new();
    walk(
        value,
        schema,
        path,
        schema.extensions.embedded_resource,
        &mut dropped,
    )?;
    dropped.sort();
    Ok(dropped)
}

/// As [`coerce_value`], for a whole resource, whose own metadata is another's business.
pub(crate) fn coerce(object: &mut Value, schema: &Node) -> Result<Vec<String>, Cause> {
    let mut dropped = Vec::new();
    walk(object, schema, &Path::Root, false, &mut dropped)?;
    dropped.sort();
    Ok(dropped)
}

fn walk(
    value: &mut Value,
    schema: &Node,
    path: &Path<'_>,
    resource: bool,
    dropped: &mut Vec<String>,
) -> Result<(), Cause> {
    match value {
        Value::Object(map) => {
            if resource {
                coerce_resource(map, path, dropped)?;
            }
            for (key, member) in map {
                if let Some(node) = schema.member(key) {
                    walk(
                        member,
                        node,
                        &path.child(key),
                        node.extensions.embedded_resource,
                        dropped,
                    )?;
                }
            }
        }
        Value::Array(items) => {
            let Some(node) = schema.items.as_deref() else {
                return Ok(());
            };
            for (index, item) in items.iter_mut().enumerate() {
                walk(
                    item,
                    node,
                    &path.index(index),
                    node.extensions.embedded_resource,
                    dropped,
                )?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn coerce_resource(
    map: &mut Map<String, Value>,
    path: &Path<'_>,
    dropped: &mut Vec<String>,
) -> Result<(), Cause> {
    for key in ["apiVersion", "kind"] {
        if let Some(value) = map.get(key)
            && !value.is_string()
        {
            return Err(Cause::invalid(
                path.child(key).to_string(),
                value,
                "must be a string",
            ));
        }
    }
    let path = path.child("metadata");
    match map.get_mut("metadata") {
        None => Ok(()),
        Some(Value::Object(metadata)) => coerce_metadata(metadata, &path, dropped),
        Some(Value::Null) => {
            map.insert("metadata".to_owned(), Value::Object(Map::new()));
            Ok(())
        }
        Some(other) => Err(Cause::invalid(path.to_string(), other, "must be an object")),
    }
}

fn coerce_metadata(
    metadata: &mut Map<String, Value>,
    path: &Path<'_>,
    dropped: &mut Vec<String>,
) -> Result<(), Cause> {
    let mut wrong = None;
    metadata.retain(|key, value| {
        let Some((_, shape)) = MEMBERS.iter().find(|(name, _)| name == key) else {
            dropped.push(path.child(key).to_string());
            return false;
        };
        if !shape.coerce(value) {
            let detail = format!("cannot be read as metadata.{key}");
            wrong.get_or_insert_with(|| Cause::invalid(path.to_string(), value, &detail));
        }
        !is_empty(value)
    });
    wrong.map_or(Ok(()), Err)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

impl Shape {
    /// True if the value has this shape; nulls inside of texts become empty texts.
    fn coerce(self, value: &mut Value) -> bool {
        let text = |value: &mut Value| {
            if value.is_null() {
                *value = Value::String(String::new());
            }
            value.is_string()
        };
        match (self, value) {
            (_, Value::Null) | (Self::Text, Value::String(_)) => true,
            (Self::Integer, Value::Number(number)) => number.is_i64(),
            (Self::Time, Value::String(time)) => time.parse::<jiff::Timestamp>().is_ok(),
            (Self::Texts, Value::Array(items)) => items.iter_mut().all(text),
            (Self::TextMap, Value::Object(map)) => map.values_mut().all(text),
            (Self::Objects, Value::Array(items)) => items.iter().all(Value::is_object),
            _ => false,
        }
    }
}

/// What is wrong with resources inside of `object`, which is a resource itself.
pub(crate) fn validate(object: &Value, schema: &Node, causes: &mut Vec<Cause>) {
    check(object, schema, &Path::Root, false, causes);
}

/// As [`validate`], for any part of a resource.
pub(crate) fn validate_value(value: &Value, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    check(value, schema, path, schema.extensions.embedded_resource, causes);
}

fn check(value: &Value, schema: &Node, path: &Path<'_>, resource: bool, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(map) => {
            if resource {
                check_resource(map, path, causes);
            }
            for (key, member) in map {
                let (node, path) = match schema.properties.get(key) {
                    Some(node) => (node, path.child(key)),
                    None => match schema.values() {
                        Some(node) => (node, path.key(key)),
                        None => continue,
                    },
                };
                check(member, node, &path, node.extensions.embedded_resource, causes);
            }
        }
        Value::Array(items) => {
            let Some(node) = schema.items.as_deref() else {
                return;
            };
            for (index, item) in items.iter().enumerate() {
                check(
                    item,
                    node,
                    &path.index(index),
                    node.extensions.embedded_resource,
                    causes,
                );
            }
        }
        _ => {}
    }
}

fn check_resource(map: &Map<String, Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    for key in ["apiVersion", "kind"] {
        if map
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
        {
            causes.push(Cause::required(path.child(key).to_string(), ""));
        }
    }
    if let Some(version) = map
        .get("apiVersion")
        .filter(|v| v.as_str().is_some_and(|v| v.matches('/').count() > 1))
    {
        let field = path.child("apiVersion").to_string();
        causes.push(Cause::invalid(
            field,
            version,
            &format!("unexpected GroupVersion string: {version}"),
        ));
    }
    if let Some(kind) = map
        .get("kind")
        .and_then(Value::as_str)
        .filter(|kind| !kind.is_empty())
        && let problems = names::label_1035(&kind.to_lowercase())
        && !problems.is_empty()
    {
        let detail = format!(
            "may have mixed case, but should otherwise match: {}",
            problems.join(",")
        );
        causes.push(Cause::invalid(
            path.child("kind").to_string(),
            &kind.into(),
            &detail,
        ));
    }
    if let Some(metadata) = map.get("metadata").and_then(Value::as_object) {
        check_metadata(metadata, &path.child("metadata"), causes);
    }
}

fn check_metadata(metadata: &Map<String, Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let mut report = |key: &str, value: &Value, problems: Vec<String>| {
        let field = path.child(key).to_string();
        causes.extend(
            problems
                .iter()
                .map(|problem| Cause::invalid(field.clone(), value, problem)),
        );
    };
    let map = |key: &str| metadata.get(key).and_then(Value::as_object).into_iter().flatten();
    for key in ["name", "generateName"] {
        if let Some(name) = metadata.get(key) {
            report(key, name, names::path_segment(name.as_str().unwrap_or_default()));
        }
    }
    for (key, value) in map("labels") {
        report("labels", &key.as_str().into(), names::qualified(key));
        report(
            "labels",
            value,
            names::label_value(value.as_str().unwrap_or_default()),
        );
    }
    for (key, _) in map("annotations") {
        report(
            "annotations",
            &key.as_str().into(),
            names::qualified(&key.to_lowercase()),
        );
    }
    for finalizer in metadata
        .get("finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        report(
            "finalizers",
            finalizer,
            names::qualified(finalizer.as_str().unwrap_or_default()),
        );
    }
}
