//! Validation of values.
//!
//! Every keyword is checked, and every failure reported, with the reason and field the server uses.
//! A failure in a value that did not change since the old object is dropped (KEP-4008); elements of
//! lists are compared only where a key tells which belong together.

use serde_json::{Map, Value};

use super::node::{Additional, ListType, Node};
use super::path::Path;
use crate::status::Cause;

/// Everything that is wrong with `new`.
pub(crate) fn validate(new: &Value, old: Option<&Value>, schema: &Node) -> Vec<Cause> {
    let mut causes = Vec::new();
    value(new, old, schema, &Path::Root, &mut causes);
    causes
}

fn value(new: &Value, old: Option<&Value>, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let before = causes.len();
    type_of(new, schema, path, causes);
    allowed(new, schema, path, causes);
    if !new.is_null() {
        combinators(new, schema, path, causes);
    }
    match new {
        Value::String(text) => string(text, new, schema, path, causes),
        Value::Number(_) => number(new, schema, path, causes),
        Value::Array(items) => array(items, old, schema, path, causes),
        Value::Object(map) => object(map, old, schema, path, causes),
        Value::Null | Value::Bool(_) => {}
    }
    if causes.len() > before && old == Some(new) {
        causes.truncate(before);
    }
}

/// The name of the type of a value, as the server names it.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn type_of(value: &Value, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let wanted = if schema.extensions.int_or_string {
        "integer,string"
    } else {
        schema.type_name.as_str()
    };
    let found = type_name(value);
    let fits = wanted.is_empty()
        || wanted
            .split(',')
            .any(|one| one == found || (one == "number" && found == "integer"))
        || (value.is_null() && schema.nullable);
    if !fits {
        causes.push(Cause::new(
            "FieldValueTypeInvalid",
            path.to_string(),
            format!("Invalid value: {found:?}: {path} in body must be of type {wanted}: {found:?}"),
        ));
    }
}

fn allowed(value: &Value, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let all = &schema.limits.allowed;
    if all.is_empty() || (!value.is_null() && all.contains(value)) {
        return;
    }
    let names: Vec<String> = all
        .iter()
        .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
        .map(|one| format!("{one:?}"))
        .collect();
    causes.push(Cause::new(
        "FieldValueNotSupported",
        path.to_string(),
        format!(
            "Unsupported value: {value}: supported values: {}",
            names.join(", ")
        ),
    ));
}

fn invalid(path: &Path<'_>, value: &Value, detail: &str, causes: &mut Vec<Cause>) {
    causes.push(Cause::invalid(
        path.to_string(),
        value,
        &format!("{path} in body {detail}"),
    ));
}

/// A failure that the server does not attach to a field.
fn unattached(detail: String) -> Cause {
    Cause::new(
        "FieldValueInvalid",
        "<nil>",
        format!("Invalid value: \"\": {detail}"),
    )
}

fn string(text: &str, value: &Value, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let limits = &schema.limits;
    let length = text.chars().count();
    if let Some(max) = limits.max_length
        && above(length, max)
    {
        let message = format!("Too long: may not be more than {max} bytes");
        causes.push(Cause::new("FieldValueTooLong", path.to_string(), message));
        return;
    }
    if let Some(min) = limits.min_length
        && below(length, min)
    {
        return invalid(
            path,
            value,
            &format!("should be at least {min} chars long"),
            causes,
        );
    }
    if let Some(pattern) = &limits.pattern
        && !pattern.is_match(text)
    {
        return invalid(path, value, &format!("should match '{pattern}'"), causes);
    }
    if !super::format::matches(&limits.format, text) {
        let detail = format!("{path} in body must be of type {}: {value}", limits.format);
        causes.push(Cause::new(
            "FieldValueTypeInvalid",
            path.to_string(),
            format!("Invalid value: {value}: {detail}"),
        ));
    }
}

fn above(count: usize, max: i64) -> bool {
    usize::try_from(max).is_ok_and(|max| count > max) || max < 0
}

fn below(count: usize, min: i64) -> bool {
    usize::try_from(min).is_ok_and(|min| count < min)
}

fn number(value: &Value, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let limits = &schema.limits;
    let float = value.as_f64().unwrap_or_default();
    if let Some(factor) = limits.multiple_of
        && factor != 0.0
        && (float / factor).fract() != 0.0
    {
        invalid(path, value, &format!("should be a multiple of {factor}"), causes);
    }
    if let Some(max) = limits.maximum {
        if limits.exclusive_maximum && float >= max {
            invalid(path, value, &format!("should be less than {max}"), causes);
        } else if float > max {
            invalid(
                path,
                value,
                &format!("should be less than or equal to {max}"),
                causes,
            );
        }
    }
    if let Some(min) = limits.minimum {
        if limits.exclusive_minimum && float <= min {
            invalid(path, value, &format!("should be greater than {min}"), causes);
        } else if float < min {
            invalid(
                path,
                value,
                &format!("should be greater than or equal to {min}"),
                causes,
            );
        }
    }
    range(value, schema, path, causes);
}

/// Does the number fit the type and format?
fn range(value: &Value, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let integer = schema.type_name == "integer" || schema.extensions.int_or_string;
    let format = schema.limits.format.as_str();
    let float = value.as_f64().unwrap_or_default();
    let fits = match (integer, format) {
        (true, "int32") => value.as_i64().is_some_and(|i| i32::try_from(i).is_ok()),
        (true, _) => value.is_i64() || (float.fract() == 0.0 && float.abs() < 9.2e18),
        (false, "float" | "float32") => float.abs() <= f64::from(f32::MAX),
        (false, _) => true,
    };
    if fits {
        return;
    }
    let kind = if integer { "integer" } else { "number" };
    causes.push(unattached(if format.is_empty() {
        format!("Checked value must be of type {kind} (default format) in {path}")
    } else {
        format!("Checked value must be of type {kind} with format {format} in {path}")
    }));
}

fn array(items: &[Value], old: Option<&Value>, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if let Some(node) = &schema.items {
        let old = old.and_then(Value::as_array);
        for (index, item) in items.iter().enumerate() {
            let before = old.and_then(|old| correlated(item, old, schema));
            value(item, before, node, &path.index(index), causes);
        }
    }
    let whole = || Value::Array(items.to_vec());
    if let Some(min) = schema.limits.min_items
        && below(items.len(), min)
    {
        invalid(
            path,
            &items.len().into(),
            &format!("should have at least {min} items"),
            causes,
        );
    }
    if let Some(max) = schema.limits.max_items
        && above(items.len(), max)
    {
        let message = format!("Too many: {}: must have at most {max} items", items.len());
        causes.push(Cause::new("FieldValueTooMany", path.to_string(), message));
    }
    if schema.limits.unique_items && (1..items.len()).any(|i| items[..i].contains(&items[i])) {
        invalid(path, &whole(), "shouldn't contain duplicates", causes);
    }
}

/// The element of the old list with the same keys; only keyed lists say which belong together.
fn correlated<'a>(item: &Value, old: &'a [Value], schema: &Node) -> Option<&'a Value> {
    let keys = &schema.extensions.list_map_keys;
    if schema.extensions.list_type != ListType::Map || keys.is_empty() {
        return None;
    }
    old.iter()
        .find(|other| keys.iter().all(|key| other.get(key) == item.get(key)))
}

fn object(
    map: &Map<String, Value>,
    old: Option<&Value>,
    schema: &Node,
    path: &Path<'_>,
    causes: &mut Vec<Cause>,
) {
    let limits = &schema.limits;
    if let Some(min) = limits.min_properties
        && below(map.len(), min)
    {
        return invalid(
            path,
            &map.len().into(),
            &format!("should have at least {min} properties"),
            causes,
        );
    }
    if let Some(max) = limits.max_properties
        && above(map.len(), max)
    {
        let message = format!("Too many: {}: must have at most {max} items", map.len());
        causes.push(Cause::new("FieldValueTooMany", path.to_string(), message));
        return;
    }
    for (key, member) in map {
        let old = old.and_then(|old| old.get(key));
        match (schema.properties.get(key), &schema.additional) {
            (Some(node), _) => value(member, old, node, &path.child(key), causes),
            (None, Some(Additional::Schema(node))) => value(member, old, node, &path.child(key), causes),
            (None, Some(Additional::Allowed(false))) => {
                invalid(
                    &path.child(key),
                    &Value::String(String::new()),
                    "is a forbidden property",
                    causes,
                );
            }
            (None, _) => {}
        }
    }
    for name in limits.required.iter().filter(|name| !map.contains_key(*name)) {
        causes.push(Cause::required(path.child(name).to_string(), ""));
    }
}

fn passes(new: &Value, schema: &Node, path: &Path<'_>) -> Result<(), Vec<Cause>> {
    let mut causes = Vec::new();
    value(new, None, schema, path, &mut causes);
    if causes.is_empty() { Ok(()) } else { Err(causes) }
}

fn combinators(new: &Value, schema: &Node, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let any: Vec<_> = schema.any_of.iter().map(|one| passes(new, one, path)).collect();
    if !any.is_empty() && any.iter().all(Result::is_err) {
        causes.push(unattached(format!(
            "\"{path}\" must validate at least one schema (anyOf)"
        )));
        causes.extend(best(any));
    }
    let one: Vec<_> = schema.one_of.iter().map(|one| passes(new, one, path)).collect();
    match one.iter().filter(|result| result.is_ok()).count() {
        0 if !one.is_empty() => {
            causes.push(unattached(format!(
                "\"{path}\" must validate one and only one schema (oneOf). Found none valid"
            )));
            causes.extend(best(one));
        }
        0 | 1 => {}
        several => causes.push(unattached(format!(
            "\"{path}\" must validate one and only one schema (oneOf). Found {several} valid alternatives"
        ))),
    }
    let all: Vec<_> = schema
        .all_of
        .iter()
        .filter_map(|one| passes(new, one, path).err())
        .collect();
    if !all.is_empty() {
        causes.extend(all.into_iter().flatten());
        causes.push(unattached(format!(
            "\"{path}\" must validate all the schemas (allOf)"
        )));
    }
    if let Some(not) = &schema.not
        && passes(new, not, path).is_ok()
    {
        causes.push(unattached(format!(
            "\"{path}\" must not validate the schema (not)"
        )));
    }
}

/// The failures of the alternative that failed last, among those that came furthest.
fn best(results: Vec<Result<(), Vec<Cause>>>) -> Vec<Cause> {
    results
        .into_iter()
        .filter_map(Result::err)
        .next()
        .unwrap_or_default()
}
