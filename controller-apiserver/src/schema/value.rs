//! Values against keywords.
//!
//! Every keyword is checked, and every failure reported, with the reason and field the server uses.
//! A failure in a value that did not change is dropped (KEP-4008); see [`Node::same_element`] for
//! which elements of lists belong together.

use serde_json::{Map, Number, Value};

use super::combine::{self, Matches};
use super::format;
use super::node::{Additional, ListType, Node};
use super::path::Path;
use crate::status::Cause;

/// Everything that is wrong with `new`.
pub(crate) fn check(new: &Value, old: Option<&Value>, schema: &Node, path: &Path<'_>) -> Vec<Cause> {
    let mut checks = Checks::default();
    checks.value(new, old, schema, path);
    checks.causes
}

/// The outcome of the checks of one value and what is below it.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) causes: Vec<Cause>,
    /// How many checks were made; among alternatives that all fail, the one with the most is told.
    pub(super) matches: Matches,
}

impl Checks {
    pub(super) fn value(&mut self, new: &Value, old: Option<&Value>, schema: &Node, path: &Path<'_>) {
        let before = self.causes.len();
        self.type_of(new, schema, path);
        if !new.is_null() {
            combine::check(new, schema, path, self);
        }
        match new {
            Value::String(text) => self.string(text, new, schema, path),
            Value::Number(number) => self.number(number, new, schema, path),
            _ => {}
        }
        if let Value::Array(items) = new {
            self.array(items, old, schema, path);
        }
        self.allowed(new, schema, path);
        if let Value::Object(map) = new {
            self.object(map, old, schema, path);
        }
        // Of the validators that apply to a value, each counts, and so does the schema itself.
        self.matches += if new.is_null() {
            0
        } else {
            2 + combine::applying(new, schema)
        };
        if self.causes.len() > before && old == Some(new) {
            self.causes.truncate(before);
        }
    }

    /// Adds a failure; one that is there already is not told twice.
    pub(super) fn add(&mut self, cause: Cause) {
        if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }

    fn invalid(&mut self, path: &Path<'_>, value: &Value, detail: &str) {
        self.add(Cause::invalid(
            path.to_string(),
            value,
            &format!("{path} in body {detail}"),
        ));
    }

    /// A failure that the server does not attach to a field.
    pub(super) fn unattached(&mut self, detail: &str) {
        self.add(Cause::new(
            "FieldValueInvalid",
            "<nil>",
            format!("Invalid value: \"\": {detail}"),
        ));
    }

    fn type_of(&mut self, value: &Value, schema: &Node, path: &Path<'_>) {
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
        if fits {
            self.matches += 1;
        } else {
            let message =
                format!("Invalid value: {found:?}: {path} in body must be of type {wanted}: {found:?}");
            self.add(Cause::new("FieldValueTypeInvalid", path.to_string(), message));
        }
    }

    fn allowed(&mut self, value: &Value, schema: &Node, path: &Path<'_>) {
        let all = &schema.limits.allowed;
        if all.is_empty() || all.iter().any(|one| !value.is_null() && same(one, value)) {
            return;
        }
        let names: Vec<String> = all
            .iter()
            .map(|one| {
                format!(
                    "{:?}",
                    one.as_str().map_or_else(|| one.to_string(), str::to_owned)
                )
            })
            .collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            names.join(", ")
        );
        self.add(Cause::new("FieldValueNotSupported", path.to_string(), message));
    }

    fn string(&mut self, text: &str, value: &Value, schema: &Node, path: &Path<'_>) {
        let limits = &schema.limits;
        let length = text.chars().count();
        match (limits.max_length, limits.min_length, &limits.pattern) {
            (Some(max), ..) if above(length, max) => {
                let message = format!("Too long: may not be more than {max} bytes");
                self.add(Cause::new("FieldValueTooLong", path.to_string(), message));
            }
            (_, Some(min), _) if below(length, min) => {
                self.invalid(path, value, &format!("should be at least {min} chars long"));
            }
            (.., Some((source, pattern))) if !pattern.is_match(text) => {
                self.invalid(path, value, &format!("should match '{source}'"));
            }
            _ => {}
        }
        if !format::matches(&limits.format, text) {
            let detail = format!("{path} in body must be of type {}: {value}", limits.format);
            let message = format!("Invalid value: {value}: {detail}");
            self.add(Cause::new("FieldValueTypeInvalid", path.to_string(), message));
        }
    }

    fn number(&mut self, number: &Number, value: &Value, schema: &Node, path: &Path<'_>) {
        let limits = &schema.limits;
        let float = number.as_f64().unwrap_or_default();
        self.range(number, schema, path);
        if let Some(factor) = limits.multiple_of
            && !is_multiple(number, factor)
        {
            self.invalid(path, value, &format!("should be a multiple of {factor}"));
        }
        if let Some(max) = limits.maximum {
            if limits.exclusive_maximum && float >= max {
                self.invalid(path, value, &format!("should be less than {max}"));
            } else if float > max {
                self.invalid(path, value, &format!("should be less than or equal to {max}"));
            }
        }
        if let Some(min) = limits.minimum {
            if limits.exclusive_minimum && float <= min {
                self.invalid(path, value, &format!("should be greater than {min}"));
            } else if float < min {
                self.invalid(path, value, &format!("should be greater than or equal to {min}"));
            }
        }
    }

    /// Does the number fit the type and format?
    fn range(&mut self, number: &Number, schema: &Node, path: &Path<'_>) {
        let format = schema.limits.format.as_str();
        let float = number.as_f64().unwrap_or_default();
        let whole = number.as_i64().is_some() || (float.fract() == 0.0 && float.abs() < 9.2e18);
        let fits = match (schema.type_name.as_str(), format) {
            ("integer", "int32") => whole && float.abs() <= 2_147_483_648.0 && float < 2_147_483_648.0,
            ("integer", _) => whole,
            (_, "float" | "float32") => float.abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if fits {
            return;
        }
        let kind = &schema.type_name;
        let wanted = if format.is_empty() {
            "(default format)".to_owned()
        } else {
            format!("with format {format}")
        };
        self.unattached(&format!(
            "Checked value must be of type {kind} {wanted} in {path}"
        ));
    }

    fn array(&mut self, items: &[Value], old: Option<&Value>, schema: &Node, path: &Path<'_>) {
        if let Some(node) = &schema.items {
            let keyed = schema.extensions.list_type == ListType::Map;
            let old = old.filter(|_| keyed).and_then(Value::as_array);
            for (index, item) in items.iter().enumerate() {
                let before = old.and_then(|old| schema.same_element(item, old));
                self.value(item, before, node, &path.index(index));
            }
        }
        let limits = &schema.limits;
        if let Some(min) = limits.min_items
            && below(items.len(), min)
        {
            self.invalid(
                path,
                &items.len().into(),
                &format!("should have at least {min} items"),
            );
        }
        if let Some(max) = limits.max_items
            && above(items.len(), max)
        {
            self.too_many(path, items.len(), max);
        }
        if limits.unique_items && (1..items.len()).any(|i| items[..i].contains(&items[i])) {
            self.invalid(
                path,
                &Value::String(String::new()),
                "shouldn't contain duplicates",
            );
        }
    }

    fn too_many(&mut self, path: &Path<'_>, count: usize, max: i64) {
        let message = format!("Too many: {count}: must have at most {max} items");
        self.add(Cause::new("FieldValueTooMany", path.to_string(), message));
    }

    fn object(&mut self, map: &Map<String, Value>, old: Option<&Value>, schema: &Node, path: &Path<'_>) {
        let limits = &schema.limits;
        if let Some(min) = limits.min_properties
            && below(map.len(), min)
        {
            return self.invalid(
                path,
                &map.len().into(),
                &format!("should have at least {min} properties"),
            );
        }
        if let Some(max) = limits.max_properties
            && above(map.len(), max)
        {
            return self.too_many(path, map.len(), max);
        }
        for (key, member) in map {
            let before = old.and_then(|old| old.get(key));
            match (schema.properties.get(key), &schema.additional) {
                (Some(node), _) => self.value(member, before, node, &path.child(key)),
                (None, Some(Additional::Schema(node))) => self.value(member, before, node, &path.child(key)),
                (None, Some(Additional::Allowed(false))) => {
                    let detail = format!("{} in body is a forbidden property", path.child(key));
                    self.add(Cause::invalid(path.to_string(), &key.as_str().into(), &detail));
                }
                (None, _) => {}
            }
        }
        for name in limits.required.iter().filter(|name| !map.contains_key(*name)) {
            self.add(Cause::required(path.child(name).to_string(), ""));
        }
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

/// Equality of a value and an entry of an enumeration: `1.0` and `1` are the same.
fn same(allowed: &Value, value: &Value) -> bool {
    match (allowed, value) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => allowed == value,
    }
}

fn is_multiple(number: &Number, factor: f64) -> bool {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a factor of integers is an integer"
    )]
    let whole = factor as i64;
    match number.as_i64() {
        Some(value) if whole != 0 => value.checked_rem(whole).unwrap_or(0) == 0 && whole > 0,
        Some(_) => true,
        None if factor <= 0.0 => false,
        None => {
            let value = number.as_f64().unwrap_or_default();
            let times = if factor < 1.0 {
                1.0 / factor * value
            } else {
                value / factor
            };
            (times - times.round()).abs() < 1e-9 * times.abs().max(1.0)
        }
    }
}

fn above(count: usize, max: i64) -> bool {
    usize::try_from(max).map_or(true, |max| count > max)
}

fn below(count: usize, min: i64) -> bool {
    usize::try_from(min).is_ok_and(|min| count < min)
}
