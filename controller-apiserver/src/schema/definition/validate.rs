//! What is wrong with a definition.
//!
//! The server validates an internal form in which what all versions have in common stands once,
//! above them: their causes name `spec.validation` and the like then, and so do ours.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::{Object, approval, conversion, names, spec, version};
use crate::registry::names as rules_of_names;
use crate::schema::format;
use crate::schema::json::{flag, object, objects, text};
use crate::schema::path::Path;
use crate::schema::rules::{self, Setting};
use crate::status::Cause;

/// What is wrong with a new definition, its name aside from its form.
pub(crate) fn validate_create(definition: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = spec(definition);
    let name = &definition["metadata"]["name"];
    let names = object(&spec, "names");
    let wanted = format!(
        "{}.{}",
        names.map_or("", |names| text(names, "plural")),
        text(&spec, "group")
    );
    if name.as_str() != Some(&wanted) {
        causes.push(Cause::invalid(
            "metadata.name",
            name,
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    validate_spec(&spec, &mut causes);
    validate_stored(definition, &mut causes);
    approval::validate(definition, None, &mut causes);
    if flag(&spec, "preserveUnknownFields") {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        causes.push(Cause::invalid(
            "spec.preserveUnknownFields",
            &Value::Bool(true),
            detail,
        ));
    }
    causes
}

pub(super) fn validate_spec(spec: &Object, causes: &mut Vec<Cause>) {
    let path = Path::Base("spec");
    group(text(spec, "group"), &path.child("group"), causes);
    let scope = text(spec, "scope");
    match scope {
        "Cluster" | "Namespaced" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        other => causes.push(Cause::not_supported(
            "spec.scope",
            &other.into(),
            "\"Cluster\", \"Namespaced\"",
        )),
    }
    versions(spec, &path, causes);
    let empty = Object::new();
    names::validate_spec(
        object(spec, "names").unwrap_or(&empty),
        &path.child("names"),
        causes,
    );
    common(spec, &path, causes);
    conversion::validate(spec, &path, causes);
    if causes.is_empty() {
        causes.extend(not_converted(spec));
    }
}

fn group(group: &str, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let problems = rules_of_names::subdomain(group);
    if group.is_empty() {
        causes.push(Cause::required(path.to_string(), ""));
    } else if !problems.is_empty() {
        causes.push(Cause::invalid(
            path.to_string(),
            &group.into(),
            &problems.join(","),
        ));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        causes.push(Cause::invalid(path.to_string(), &group.into(), detail));
    }
}

/// The part that all versions have in common; none if they differ, or one has none.
fn shared<'a>(spec: &'a Object, key: &str) -> Option<&'a Value> {
    let mut all =
        objects(spec, "versions").map(|(_, version)| version.get(key).filter(|value| is_given(value)));
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

fn is_given(value: &Value) -> bool {
    !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty())
}

fn schema_of(holder: &Value) -> Option<&Value> {
    holder.get("openAPIV3Schema").filter(|schema| schema.is_object())
}

fn has_status(holder: &Object) -> bool {
    object(holder, "subresources").is_some_and(|all| object(all, "status").is_some())
}

fn versions(spec: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let path = path.child("versions");
    let all: Vec<_> = objects(spec, "versions").collect();
    let mut seen = HashSet::new();
    let mut unique = true;
    for (index, one) in &all {
        let path = path.index(*index);
        names::required_label(one.get("name").unwrap_or(&"".into()), &path.child("name"), causes);
        unique &= seen.insert(text(one, "name"));
        let schema = one.get("schema").and_then(schema_of);
        if schema.is_none() {
            let field = path.child("schema").child("openAPIV3Schema").to_string();
            causes.push(Cause::required(field, ""));
        }
        version::deprecation(one, &path, causes);
        if shared(spec, "schema").is_none()
            && let Some(schema) = schema
        {
            let setting = Setting {
                status: has_status(one),
            };
            let path = path.child("schema");
            causes.extend(rules::check(schema, &path.child("openAPIV3Schema"), setting));
        }
        if shared(spec, "subresources").is_none() {
            version::subresources(one, &path, causes);
        }
        if shared(spec, "additionalPrinterColumns").is_none() {
            version::columns(one, &path, causes);
        }
        if shared(spec, "selectableFields").is_none() {
            version::selectable(one, schema, &path, causes);
        }
    }
    let shown = spec
        .get("versions")
        .cloned()
        .unwrap_or_else(|| Vec::<Value>::new().into());
    if !unique {
        causes.push(Cause::invalid(
            path.to_string(),
            &shown,
            "must contain unique version names",
        ));
    }
    if all.iter().filter(|(_, one)| flag(one, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid(path.to_string(), &shown, detail));
    }
    if let Some((_, first)) = all.first() {
        names::required_label(
            first.get("name").unwrap_or(&"".into()),
            &Path::Base("spec.version"),
            causes,
        );
    }
}

/// What all versions have in common.
fn common(spec: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let Some((_, first)) = objects(spec, "versions").next() else {
        return;
    };
    let schema = shared(spec, "schema").and_then(schema_of);
    if let Some(schema) = schema {
        let setting = Setting {
            status: objects(spec, "versions").any(|(_, version)| has_status(version)),
        };
        let path = path.child("validation");
        causes.extend(rules::check(schema, &path.child("openAPIV3Schema"), setting));
    }
    if shared(spec, "subresources").is_some() {
        version::subresources(first, path, causes);
    }
    if shared(spec, "additionalPrinterColumns").is_some() {
        version::columns(first, path, causes);
    }
    if shared(spec, "selectableFields").is_some() {
        version::selectable(first, schema, path, causes);
    }
}

/// `status.storedVersions` holds what may still be stored, and so the storage version.
pub(super) fn validate_stored(definition: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "status.storedVersions";
    let spec = spec(definition);
    let shown = &definition["status"]["storedVersions"];
    let stored: Vec<&str> = shown
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if stored.is_empty() {
        causes.push(Cause::invalid(
            FIELD,
            shown,
            "must have at least one stored version",
        ));
        return;
    }
    let mut known = HashSet::new();
    for (_, version) in objects(&spec, "versions") {
        let name = text(version, "name");
        known.insert(name);
        if flag(version, "storage") && !stored.contains(&name) {
            causes.push(Cause::invalid(
                FIELD,
                shown,
                &format!("must have the storage version {name}"),
            ));
        }
    }
    for (index, name) in stored
        .iter()
        .enumerate()
        .filter(|(_, name)| !known.contains(**name))
    {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        causes.push(Cause::invalid(
            format!("{FIELD}[{index}]"),
            &(*name).into(),
            &detail,
        ));
    }
}

/// What is accepted in a definition but will not do what it says.
pub(crate) fn warnings(definition: &Value) -> Vec<String> {
    let mut unknown = BTreeSet::new();
    let spec = spec(definition);
    for (_, version) in objects(&spec, "versions") {
        if let Some(schema) = version.get("schema").and_then(schema_of) {
            formats(schema, &mut unknown);
        }
    }
    unknown
        .into_iter()
        .map(|format| format!("unrecognized format {format:?}"))
        .collect()
}

/// Webhooks are not called here. A definition that is right but for that is refused: objects would go from version to version unchanged.
fn not_converted(spec: &Object) -> Option<Cause> {
    let strategy = text(object(spec, "conversion")?, "strategy");
    let detail = "this server calls no conversion webhooks; with \"None\" it only changes the apiVersion";
    (strategy == "Webhook").then(|| Cause::invalid("spec.conversion.strategy", &strategy.into(), detail))
}

fn formats(schema: &Value, unknown: &mut BTreeSet<String>) {
    let Some(level) = schema.as_object() else { return };
    let (kind, format) = (text(level, "type"), text(level, "format"));
    if !format.is_empty() && !format::is_known(kind, format) {
        unknown.insert(format.to_owned());
    }
    for key in ["items", "additionalProperties", "not"] {
        if let Some(schema) = level.get(key) {
            formats(schema, unknown);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        level
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .for_each(|one| formats(one, unknown));
    }
    object(level, "properties")
        .into_iter()
        .flat_map(Object::values)
        .for_each(|one| formats(one, unknown));
}
