//! Defaulting, and what becomes of null.
//!
//! A null of a field that is not nullable stands for absence: it takes the default, or goes.
//! In an array it stays (nothing may shift), unless there is a default, and validation refuses it.
//! Source: API documentation, "Defaulting and Nullable".

use serde_json::{Map, Value};

use super::node::Node;

/// Drops nulls that stand for absence and fills in defaults.
pub(crate) fn default(value: &mut Value, schema: &Node) {
    match value {
        Value::Object(map) => default_map(map, schema),
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else {
                return;
            };
            for item in items {
                if item.is_null()
                    && schema.drops_null()
                    && let Some(default) = &schema.default
                {
                    *item = default.clone();
                }
                default(item, schema);
            }
        }
        _ => {}
    }
}

fn default_map(map: &mut Map<String, Value>, schema: &Node) {
    map.retain(|key, member| {
        let Some(schema) = schema.member(key) else {
            return true;
        };
        if member.is_null() && schema.drops_null() {
            match &schema.default {
                Some(default) => *member = default.clone(),
                None => return false,
            }
        }
        true
    });
    for (name, property) in &schema.properties {
        if let Some(default) = &property.default
            && !map.contains_key(name)
        {
            map.insert(name.clone(), default.clone());
        }
    }
    for (key, member) in map {
        if let Some(schema) = schema.member(key) {
            default(member, schema);
        }
    }
}

/// Makes every whole float an integer, as a round trip through the server does: `1.0` becomes `1`.
///
/// Beyond 2^53 a float says no longer which integer is meant, and stays one.
pub fn normalize_numbers(value: &mut Value) {
    /// The largest distance from zero up to which every integer has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_991.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() <= EXACT {
                #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
                let whole = float as i64;
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_numbers),
        Value::Object(map) => map.values_mut().for_each(normalize_numbers),
        _ => {}
    }
}
