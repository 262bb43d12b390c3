//! Tables: what `kubectl get` shows.

use serde_json::{Value, json};

use crate::registry::Resource;
use crate::view;

/// The table of one object.
pub(crate) fn of_object(resource: &Resource, object: &Value) -> Value {
    let mut table = of_list(resource, std::slice::from_ref(object));
    table["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
    table
}

/// The table of a list.
pub(crate) fn of_list(_resource: &Resource, objects: &[Value]) -> Value {
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            json!({
                "cells": [object["metadata"]["name"], object["metadata"]["creationTimestamp"]],
                "object": view::partial(object),
            })
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {},
        "columnDefinitions": [
            {"name": "Name", "type": "string", "format": "name", "priority": 0, "description": ""},
            {"name": "Age", "type": "date", "format": "", "priority": 0, "description": ""},
        ],
        "rows": rows,
    })
}

/// Empties the cells of a bookmark's row.
pub(crate) fn blank(table: &mut Value) {
    let Some(cells) = table["rows"][0]["cells"].as_array_mut() else {
        return;
    };
    for (index, cell) in cells.iter_mut().enumerate() {
        *cell = if index == 0 { "".into() } else { Value::Null };
    }
}

/// A bookmark of a built-in kind is an empty object of its type.
pub(crate) fn empty_object(_resource: &Resource, object: Value) -> Value {
    object
}
