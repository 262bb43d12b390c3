//! Reading and writing objects as JSON: the few paths every part of the server needs.

use serde_json::{Map, Value};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// `metadata`, if it is an object.
pub(crate) fn meta(object: &Value) -> Option<&Object> {
    object.get("metadata")?.as_object()
}

/// `metadata`, made if it is missing or null.
pub(crate) fn meta_mut(object: &mut Value) -> &mut Object {
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = Value::Object(Object::new());
    }
    match metadata {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// A text of `metadata`; empty if missing.
pub(crate) fn meta_str<'a>(object: &'a Value, field: &str) -> &'a str {
    meta(object)
        .and_then(|meta| meta.get(field)?.as_str())
        .unwrap_or_default()
}

/// A list of texts of `metadata`.
pub(crate) fn meta_list<'a>(object: &'a Value, field: &str) -> Vec<&'a str> {
    meta(object)
        .and_then(|meta| meta.get(field)?.as_array())
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// The object carries a `deletionTimestamp`.
pub(crate) fn is_terminating(object: &Value) -> bool {
    meta(object).is_some_and(|meta| meta.get("deletionTimestamp").is_some_and(|t| !t.is_null()))
}

/// A dotted path, as `spec.nodeName`.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, part| value.get(part))
}

/// A text at a dotted path; empty if missing.
pub(crate) fn str_at<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Moves a member from one object to another, or removes it where the source has none.
pub(crate) fn carry(from: &Value, to: &mut Value, member: &str) {
    match from.get(member) {
        Some(value) => to[member] = value.clone(),
        None => {
            if let Some(map) = to.as_object_mut() {
                map.remove(member);
            }
        }
    }
}
