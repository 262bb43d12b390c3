//! `x-kubernetes-list-type` and `x-kubernetes-list-map-keys`, and what they ask of the elements.

use std::collections::HashSet;

use serde_json::Value;

use super::Level;
use super::keywords::{expect_type, unsupported};
use crate::schema::json::{flag, is_set, object, text, texts};
use crate::schema::path::Path;
use crate::status::Cause;

/// The list types, as the server lists them.
const TYPES: [&str; 3] = ["atomic", "set", "map"];

pub(super) fn check(level: &Level, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let list_type = level.get("x-kubernetes-list-type").and_then(Value::as_str);
    let type_path = path.child("x-kubernetes-list-type");
    if let Some(list_type) = list_type {
        let array = expect_type(
            level,
            "array",
            "must be array if x-kubernetes-list-type is specified",
            path,
            causes,
        );
        if array && list_type == "set" {
            set_elements(level, path, causes);
        }
        if !TYPES.contains(&list_type) {
            causes.push(unsupported(&type_path, list_type, &TYPES));
        }
    }
    if is_set(level, "x-kubernetes-list-map-keys") && list_type != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        causes.push(match list_type {
            None => Cause::required(type_path.to_string(), detail),
            Some(other) => Cause::invalid(type_path.to_string(), &other.into(), detail),
        });
    }
    if list_type == Some("map") {
        map_elements(level, path, causes);
    }
    if let Some(list_type @ ("set" | "map")) = list_type {
        identity(level, list_type, path, causes);
    }
}

/// Elements of a set are compared as a whole.
fn set_elements(level: &Level, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let Some(items) = object(level, "items") else {
        return;
    };
    let key = match text(items, "type") {
        "array" if !matches!(text(items, "x-kubernetes-list-type"), "" | "atomic") => {
            "x-kubernetes-list-type"
        }
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => "x-kubernetes-map-type",
        _ => return,
    };
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let field = path.child("items").child(key).to_string();
    causes.push(Cause::invalid(
        field,
        items.get(key).unwrap_or(&Value::Null),
        detail,
    ));
}

/// Elements of a keyed list are objects, and the keys are scalar properties of theirs.
fn map_elements(level: &Level, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let keys_path = path.child("x-kubernetes-list-map-keys");
    if !is_set(level, "x-kubernetes-list-map-keys") {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        causes.push(Cause::required(keys_path.to_string(), detail));
    }
    let items_path = path.child("items");
    let Some(items) = object(level, "items") else {
        causes.push(match level.get("items") {
            Some(value @ Value::Array(_)) => {
                let detail = "must only have a single schema if x-kubernetes-list-type is map";
                Cause::invalid(items_path.to_string(), value, detail)
            }
            _ => Cause::required(
                items_path.to_string(),
                "must have a schema if x-kubernetes-list-type is map",
            ),
        });
        return;
    };
    let kind = text(items, "type");
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        causes.push(Cause::invalid(
            items_path.child("type").to_string(),
            &kind.into(),
            detail,
        ));
        return;
    }
    let keys = level.get("x-kubernetes-list-map-keys").unwrap_or(&Value::Null);
    let mut seen = HashSet::new();
    for key in texts(level, "x-kubernetes-list-map-keys") {
        match object(items, "properties").and_then(|all| object(all, key)) {
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                let field = items_path.child("properties").key(key).child("type").to_string();
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                causes.push(Cause::invalid(field, &kind.into(), detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                causes.push(Cause::invalid(keys_path.to_string(), keys, detail));
            }
        }
        if !seen.insert(key) {
            causes.push(Cause::invalid(
                keys_path.to_string(),
                keys,
                "must not contain duplicate entries",
            ));
        }
    }
}

/// What tells elements apart is always there.
fn identity(level: &Level, list_type: &str, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let Some(items) = object(level, "items") else {
        return;
    };
    let items_path = path.child("items");
    if flag(items, "nullable") {
        let field = items_path.child("nullable").to_string();
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        causes.push(Cause::forbidden(field, &detail));
    }
    if list_type != "map" {
        return;
    }
    let required: HashSet<&str> = texts(items, "required").collect();
    let properties = items_path.child("properties");
    for key in texts(level, "x-kubernetes-list-map-keys") {
        let Some(property) = object(items, "properties").and_then(|all| object(all, key)) else {
            continue;
        };
        let path = properties.key(key);
        if !required.contains(key) && property.get("default").is_none_or(Value::is_null) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            causes.push(Cause::required(path.child("default").to_string(), detail));
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            causes.push(Cause::forbidden(path.child("nullable").to_string(), detail));
        }
    }
}
