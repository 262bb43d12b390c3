//! JSON merge patch, RFC 7386.
//!
//! Objects are merged, everything else is replaced, `null` removes. A `null` as an element of an
//! array stays: only members of objects can be removed.

use serde_json::{Map, Value};

use super::PatchError;

/// Merges `patch` into `target`.
///
/// ```
/// use controller_apiserver::patch::merge;
/// use serde_json::json;
///
/// let mut target = json!({"data": {"a": "1", "b": "2"}});
/// merge::apply(&mut target, &json!({"data": {"a": null, "c": "3"}})).unwrap();
/// assert_eq!(target, json!({"data": {"b": "2", "c": "3"}}));
/// ```
///
/// # Errors
///
/// [`PatchError::Malformed`] if the patch is not an object; the target is then untouched.
pub fn apply(target: &mut Value, patch: &Value) -> Result<(), PatchError> {
    match patch {
        Value::Object(_) => {
            merge(target, patch);
            Ok(())
        }
        Value::Null => Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
        other => Err(PatchError::Malformed(format!(
            "error decoding patch: {}",
            PatchError::not_a(other, "value of type map[string]interface {}")
        ))),
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = without_nulls(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(object) = target else {
        return;
    };
    for (key, value) in members {
        match value {
            Value::Null => drop(object.remove(key)),
            _ => merge(object.entry(key.as_str()).or_insert(Value::Null), value),
        }
    }
}

/// A copy in which no object has a `null` member: objects inside arrays are pruned as well.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Value::Array(elements) => elements.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(mut target: Value, patch: &Value) -> Value {
        apply(&mut target, patch).unwrap();
        target
    }

    #[test]
    fn the_examples_of_the_rfc_hold() {
        for (target, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            assert_eq!(merged(target.clone(), &patch), result, "{target} + {patch}");
        }
    }

    #[test]
    fn nulls_inside_array_elements_are_pruned_and_null_elements_stay() {
        assert_eq!(
            merged(json!({"a": 1}), &json!({"a": [{"b": null, "c": 1}, null]})),
            json!({"a": [{"c": 1}, null]})
        );
    }

    #[test]
    fn what_is_no_object_is_no_patch() {
        for (patch, message) in [
            (json!(null), "Invalid JSON Patch"),
            (
                json!([]),
                "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            (
                json!("x"),
                "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
            ),
        ] {
            let mut target = json!({"a": 1});
            let error = apply(&mut target, &patch).unwrap_err();
            assert_eq!((error.code(), error.message().as_str()), (400, message));
            assert_eq!(target, json!({"a": 1}));
        }
    }
}
