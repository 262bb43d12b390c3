//! The rules for keywords, level by level: what is not supported at all, and what goes with what.

use serde_json::Value;

use super::{Level, lists, validations};
use crate::schema::json::{flag, is_set, items, members, object, objects, text};
use crate::schema::path::Path;
use crate::status::Cause;

/// The types of JSON a schema can ask for, as the server lists them.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Keywords of JSON schema that a kind's schema cannot use.
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

/// What is known of the surroundings of a level.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    /// Why there may be no default here.
    no_default: Option<String>,
    /// The level describes part of `apiVersion`, `kind` or `metadata` of a resource.
    inside_meta: bool,
    /// The highest level above whose old and new elements cannot be told apart.
    pub(super) uncorrelatable: Option<String>,
    /// The level is reached by fields, not by a junctor, and the structure is sound: rules are compiled.
    pub(super) compile: bool,
    /// The level describes a resource.
    root: bool,
}

impl Surroundings {
    /// True if the level describes a resource, whose type and name rules can see.
    pub(super) fn is_resource(&self, level: &Level) -> bool {
        self.root || flag(level, "x-kubernetes-embedded-resource")
    }

    fn without_rules(&self) -> Self {
        Self {
            compile: false,
            root: false,
            ..self.clone()
        }
    }
}

/// What was found: failures of keywords, and of rules, which are only looked at where keywords are right.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) keywords: Vec<Cause>,
    pub(super) rules: Vec<Cause>,
}

pub(super) fn check(level: &Level, path: &Path<'_>, sound: bool, causes: &mut Vec<Cause>) {
    let around = Surroundings {
        compile: sound,
        root: true,
        ..Surroundings::default()
    };
    let found = walk(level, path, &around);
    causes.extend(found.keywords);
    causes.extend(found.rules);
}

/// True if a keyword in use prevents reading the schema as a structure.
pub(super) fn has_unsupported(level: &Level) -> bool {
    let here = UNSUPPORTED.iter().any(|key| is_set(level, key))
        || level.get("items").is_some_and(Value::is_array)
        || level.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false));
    let single = ["items", "not", "additionalProperties"];
    let lists = ["allOf", "anyOf", "oneOf"];
    here || single
        .iter()
        .filter_map(|key| object(level, key))
        .any(has_unsupported)
        || lists
            .iter()
            .flat_map(|key| objects(level, key))
            .any(|(_, one)| has_unsupported(one))
        || members(level, "properties").any(|(_, property)| has_unsupported(property))
}

fn walk(level: &Level, path: &Path<'_>, around: &Surroundings) -> Found {
    let mut found = Found::default();
    forbidden(level, path, around, &mut found.keywords);
    below(level, path, around, &mut found);
    lists::check(level, path, &mut found.keywords);
    validations::check(level, path, around, &mut found);
    found
}

fn forbidden(level: &Level, path: &Path<'_>, around: &Surroundings, causes: &mut Vec<Cause>) {
    let mut forbid = |key: &str, detail: &str| {
        causes.push(Cause::forbidden(path.child(key).to_string(), detail));
    };
    if let Some(reason) = &around.no_default
        && level.get("default").is_some_and(|value| !value.is_null())
    {
        forbid("default", &format!("must not be set {reason}"));
    }
    for key in UNSUPPORTED {
        if is_set(level, key) {
            forbid(key, &format!("{key} is not supported"));
        }
    }
    if text(level, "type") == "null" {
        forbid(
            "type",
            "type cannot be set to null, use nullable as an alternative",
        );
    }
    if !items(level, "items").is_empty() {
        forbid("items", "items must be a schema object and not an array");
    }
    if around.inside_meta && flag(level, "x-kubernetes-embedded-resource") {
        forbid(
            "x-kubernetes-embedded-resource",
            "must not be used inside of resource meta",
        );
    }
    if flag(level, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        forbid("uniqueItems", detail);
    }
    if is_set(level, "properties")
        && matches!(
            level.get("additionalProperties"),
            Some(Value::Bool(false) | Value::Object(_))
        )
    {
        forbid(
            "additionalProperties",
            "additionalProperties and properties are mutual exclusive",
        );
    }
    let kind = text(level, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        causes.push(unsupported(&path.child("type"), kind, &TYPES));
    }
    if level.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let field = path.child("x-kubernetes-preserve-unknown-fields").to_string();
        causes.push(Cause::invalid(
            field,
            &Value::Bool(false),
            "must be true or undefined",
        ));
    }
    map_type(level, path, causes);
}

fn map_type(level: &Level, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if !level.contains_key("x-kubernetes-map-type") {
        return;
    }
    expect_type(
        level,
        "object",
        "must be object if x-kubernetes-map-type is specified",
        path,
        causes,
    );
    let map_type = text(level, "x-kubernetes-map-type");
    let known = ["atomic", "granular"];
    if !known.contains(&map_type) {
        causes.push(unsupported(
            &path.child("x-kubernetes-map-type"),
            map_type,
            &known,
        ));
    }
}

/// `type` must be `wanted`; false if it is not.
pub(super) fn expect_type(
    level: &Level,
    wanted: &str,
    detail: &str,
    path: &Path<'_>,
    causes: &mut Vec<Cause>,
) -> bool {
    let field = || path.child("type").to_string();
    match text(level, "type") {
        kind if kind == wanted => return true,
        "" => causes.push(Cause::required(field(), detail)),
        kind => causes.push(Cause::invalid(field(), &kind.into(), detail)),
    }
    false
}

/// `FieldValueNotSupported`.
pub(super) fn unsupported(path: &Path<'_>, value: &str, known: &[&str]) -> Cause {
    let known: Vec<String> = known.iter().map(|one| format!("{one:?}")).collect();
    let message = format!(
        "Unsupported value: {value:?}: supported values: {}",
        known.join(", ")
    );
    Cause::new("FieldValueNotSupported", path.to_string(), message)
}

fn below(level: &Level, path: &Path<'_>, around: &Surroundings, found: &mut Found) {
    let mut go = |level: &Level, path: &Path<'_>, around: &Surroundings| {
        let inner = walk(level, path, around);
        found.keywords.extend(inner.keywords);
        found.rules.extend(inner.rules);
    };
    if let Some(values) = object(level, "additionalProperties") {
        let mut inner = Surroundings {
            root: false,
            ..around.clone()
        };
        if around.inside_meta {
            let reason = "inside additionalProperties applying to object metadata";
            inner.no_default.get_or_insert_with(|| reason.to_owned());
        }
        go(values, &path.child("additionalProperties"), &inner);
    }
    let properties = path.child("properties");
    for (name, property) in members(level, "properties") {
        let mut inner = Surroundings {
            root: false,
            ..around.clone()
        };
        if around.is_resource(level) && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
            inner.inside_meta = true;
            if around.root {
                inner.no_default = Some(format!("in top-level {name}"));
            }
        }
        go(property, &properties.key(name), &inner);
    }
    let plain = around.without_rules();
    if let Some(not) = object(level, "not") {
        go(not, &path.child("not"), &plain);
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        let path = path.child(key);
        for (index, one) in objects(level, key) {
            go(one, &path.index(index), &plain);
        }
    }
    if let Some(items) = object(level, "items") {
        let mut inner = Surroundings {
            root: false,
            ..around.clone()
        };
        if text(level, "x-kubernetes-list-type") != "map" {
            inner.uncorrelatable.get_or_insert_with(|| path.to_string());
        }
        go(items, &path.child("items"), &inner);
    }
}
