//! Reading JSON that is known to be of the right shape, or treated as absent.

use serde_json::{Map, Value};

/// A string member, or the empty string.
pub(crate) fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The strings of a list member.
pub(crate) fn texts<'a>(map: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a str> {
    items(map, key).iter().filter_map(Value::as_str)
}

/// A boolean member, or false.
pub(crate) fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// A member that is an object.
pub(crate) fn object<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
    map.get(key).and_then(Value::as_object)
}

/// The members of an object member.
pub(crate) fn members<'a>(
    map: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Map<String, Value>)> {
    let all = object(map, key).into_iter().flatten();
    all.filter_map(|(name, value)| value.as_object().map(|value| (name, value)))
}

/// The elements of a list member.
pub(crate) fn items<'a>(map: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    map.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The elements of a list member that are objects, with their index.
pub(crate) fn objects<'a>(
    map: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (usize, &'a Map<String, Value>)> {
    let all = items(map, key).iter().enumerate();
    all.filter_map(|(index, value)| value.as_object().map(|value| (index, value)))
}

/// True if the member is there and neither null, false, empty text, an empty list nor an empty map.
pub(crate) fn is_set(map: &Map<String, Value>, key: &str) -> bool {
    match map.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        Some(_) => true,
    }
}
