//! The structural rules: every field is specified outside of `allOf`, `anyOf`, `oneOf` and `not`,
//! with a type, and these only restrict values.

use serde_json::Value;

use super::Level;
use crate::schema::json::{flag, is_set, members, object, objects, text};
use crate::schema::path::Path;
use crate::status::Cause;

/// Which kind of place a level describes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    Field,
}

pub(super) fn check(level: &Level, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let before = causes.len();
    structural(level, Place::Root, path, causes);
    complete(level, Some(level), path, path, causes);
    causes[before..].sort_by(|a, b| (&a.field, &a.message).cmp(&(&b.field, &b.message)));
}

fn structural(level: &Level, place: Place, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if text(level, "type") == "array" && !level.contains_key("items") {
        causes.push(Cause::required(
            path.child("items").to_string(),
            "must be specified",
        ));
    }
    if let Some(items) = object(level, "items") {
        structural(items, Place::Item, &path.child("items"), causes);
    }
    let properties = path.child("properties");
    for (name, property) in members(level, "properties") {
        structural(property, Place::Field, &properties.key(name), causes);
    }
    if level
        .get("additionalProperties")
        .is_some_and(|value| !value.is_null())
    {
        let path = path.child("additionalProperties");
        if place == Place::Root {
            causes.push(Cause::forbidden(path.to_string(), "must not be used at the root"));
        }
        if let Some(values) = object(level, "additionalProperties") {
            structural(values, Place::Field, &path, causes);
        }
    }
    extensions(level, path, causes);
    let junctors = Junctors {
        any_of: is_int_or_string(level),
        all_of: first_all_of_is_int_or_string(level),
    };
    values(level, junctors, path, causes);
    types(level, place, path, causes);
    metadata(level, place, path, causes);
}

fn extensions(level: &Level, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if !flag(level, "x-kubernetes-int-or-string") {
        return;
    }
    for key in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if flag(level, key) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            causes.push(Cause::invalid(
                path.child(key).to_string(),
                &Value::Bool(true),
                detail,
            ));
        }
    }
}

fn types(level: &Level, place: Place, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let kind = text(level, "type");
    let field = path.child("type").to_string();
    let embedded = flag(level, "x-kubernetes-embedded-resource");
    let free =
        flag(level, "x-kubernetes-int-or-string") || flag(level, "x-kubernetes-preserve-unknown-fields");
    if embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(match kind {
            "" => Cause::required(field, detail),
            other => Cause::invalid(field, &other.into(), detail),
        });
    } else if kind.is_empty() && !free {
        let detail = match place {
            Place::Root => "must not be empty at the root",
            Place::Item => "must not be empty for specified array items",
            Place::Field => "must not be empty for specified object fields",
        };
        causes.push(Cause::required(field, detail));
    }
    if place == Place::Root && !kind.is_empty() && kind != "object" {
        let field = path.child("type").to_string();
        causes.push(Cause::invalid(field, &kind.into(), "must be object at the root"));
    }
    if embedded && level.contains_key("additionalProperties") {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        causes.push(Cause::forbidden(
            path.child("additionalProperties").to_string(),
            detail,
        ));
    }
    if embedded && !flag(level, "x-kubernetes-preserve-unknown-fields") && !is_set(level, "properties") {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        causes.push(Cause::required(path.child("properties").to_string(), detail));
    }
}

/// The schema of a resource may say little about `apiVersion`, `kind` and `metadata`.
fn metadata(level: &Level, place: Place, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let resource = place == Place::Root || flag(level, "x-kubernetes-embedded-resource");
    if !resource {
        return;
    }
    let properties = path.child("properties");
    for (name, property) in members(level, "properties") {
        let wanted = match name.as_str() {
            "kind" | "apiVersion" => "string",
            "metadata" => "object",
            _ => continue,
        };
        let kind = text(property, "type");
        if kind != wanted {
            let field = properties.key(name).child("type").to_string();
            causes.push(Cause::invalid(field, &kind.into(), &format!("must be {wanted}")));
        }
    }
    let Some(metadata) = object(level, "properties").and_then(|all| object(all, "metadata")) else {
        return;
    };
    if place == Place::Root && !restricts_names_only(metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        causes.push(Cause::forbidden(properties.key("metadata").to_string(), detail));
    }
}

fn restricts_names_only(metadata: &Level) -> bool {
    let names = members(metadata, "properties").all(|(name, _)| name == "name" || name == "generateName");
    let rest = metadata
        .keys()
        .all(|key| matches!(key.as_str(), "type" | "properties" | "default") || !is_set(metadata, key));
    names && rest
}

/// Which junctors hold the integer-or-string pattern, in which alone types may appear.
#[derive(Clone, Copy, Default)]
struct Junctors {
    any_of: bool,
    all_of: bool,
}

fn is_int_or_string(level: &Level) -> bool {
    let kinds: Vec<_> = objects(level, "anyOf").collect();
    kinds.len() == 2
        && kinds
            .iter()
            .zip(["integer", "string"])
            .all(|((_, one), kind)| one.len() == 1 && text(one, "type") == kind)
}

fn first_all_of_is_int_or_string(level: &Level) -> bool {
    objects(level, "allOf")
        .next()
        .is_some_and(|(_, first)| is_int_or_string(first))
}

fn values(level: &Level, skip: Junctors, path: &Path<'_>, causes: &mut Vec<Cause>) {
    for key in ["anyOf", "allOf", "oneOf"] {
        if key == "anyOf" && skip.any_of {
            continue;
        }
        let path = path.child(key);
        for (index, one) in objects(level, key) {
            let inner = Junctors {
                any_of: key == "allOf" && index == 0 && skip.all_of,
                all_of: false,
            };
            nested(one, inner, &path.index(index), causes);
        }
    }
    if let Some(not) = object(level, "not") {
        nested(not, Junctors::default(), &path.child("not"), causes);
    }
    let pattern = text(level, "pattern");
    if let Err(error) = super::super::pattern::compile(pattern) {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        causes.push(Cause::invalid(
            path.child("pattern").to_string(),
            &pattern.into(),
            &detail,
        ));
    }
}

/// What a level under a junctor must not say.
const FORBIDDEN: [(&str, &str); 11] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

fn nested(level: &Level, skip: Junctors, path: &Path<'_>, causes: &mut Vec<Cause>) {
    values(level, skip, path, causes);
    if let Some(items) = object(level, "items") {
        nested(items, Junctors::default(), &path.child("items"), causes);
    }
    let properties = path.child("properties");
    for (name, property) in members(level, "properties") {
        nested(property, Junctors::default(), &properties.key(name), causes);
    }
    for (key, detail) in FORBIDDEN {
        let there = matches!(key, "additionalProperties" | "default");
        if is_set(level, key) || (there && level.get(key).is_some_and(|value| !value.is_null())) {
            causes.push(Cause::forbidden(path.child(key).to_string(), detail));
        }
    }
    for key in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if level.contains_key(key) {
            causes.push(Cause::forbidden(
                path.child(key).to_string(),
                "must be undefined to be structural",
            ));
        }
    }
    if object(level, "properties").is_some_and(|all| all.contains_key("metadata")) {
        let field = properties.key("metadata").to_string();
        causes.push(Cause::forbidden(
            field,
            "must not be specified in a nested context",
        ));
    }
}

/// Every field that a junctor of the root names is specified outside of it.
fn complete(level: &Level, spec: Option<&Level>, at: &Path<'_>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if let Some(not) = object(level, "not") {
        complete_nested(not, spec, at, &path.child("not"), causes);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let path = path.child(key);
        for (index, one) in objects(level, key) {
            complete_nested(one, spec, at, &path.index(index), causes);
        }
    }
}

fn complete_nested(
    level: &Level,
    spec: Option<&Level>,
    at: &Path<'_>,
    path: &Path<'_>,
    causes: &mut Vec<Cause>,
) {
    let Some(spec) = spec else {
        causes.push(Cause::required(
            at.to_string(),
            &format!("because it is defined in {path}"),
        ));
        return;
    };
    complete(level, Some(spec), at, path, causes);
    if let Some(items) = object(level, "items") {
        complete_nested(
            items,
            object(spec, "items"),
            &at.child("items"),
            &path.child("items"),
            causes,
        );
    }
    let (at, path) = (at.child("properties"), path.child("properties"));
    for (name, property) in members(level, "properties") {
        let spec = object(spec, "properties").and_then(|all| object(all, name));
        complete_nested(property, spec, &at.key(name), &path.key(name), causes);
    }
}
