//! Events: what `events.k8s.io` demands, and what the core group always did.
//!
//! Source: KEP-383; field names in errors are the core group's, whichever group asks.

use serde_json::Value;

use crate::object::{meta_str, str_at};
use crate::registry::{Resource, convert, names};
use crate::status::Cause;

/// What is wrong with an Event in the form of `resource`.
pub(super) fn validate(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let stored = |object: &Value| {
        let mut object = object.clone();
        convert::to_storage(resource, &mut object);
        object
    };
    let event = stored(new);
    let new_style = convert::converts(resource);
    let mut causes = always(&event, new_style);
    if new_style {
        match old {
            None => causes.extend(created(&event)),
            Some(old) => causes.extend(changed(&event, &stored(old))),
        }
    }
    causes
}

fn is_set(event: &Value, field: &str) -> bool {
    event.get(field).is_some_and(|value| !value.is_null())
}

/// The rules for both groups.
fn always(event: &Value, new_style: bool) -> Vec<Cause> {
    let namespace = meta_str(event, "namespace");
    let involved = str_at(event, "involvedObject.namespace");
    let mismatch = || {
        Cause::invalid(
            "involvedObject.namespace",
            &involved.into(),
            "does not match event.namespace",
        )
    };
    if !is_set(event, "eventTime") {
        let same = if involved.is_empty() {
            matches!(namespace, "" | "default")
        } else {
            involved == namespace
        };
        return if same { Vec::new() } else { vec![mismatch()] };
    }
    let mut causes = Vec::new();
    if involved.is_empty() && !matches!(namespace, "default" | "kube-system") {
        causes.push(mismatch());
    }
    let controller = str_at(event, "reportingComponent");
    let field = if new_style {
        "reportingController"
    } else {
        "reportingComponent"
    };
    if controller.is_empty() {
        causes.push(Cause::required(field, ""));
    }
    for problem in names::qualified(controller) {
        causes.push(Cause::invalid(field, &controller.into(), &problem));
    }
    for field in ["reportingInstance", "action", "reason"] {
        match str_at(event, field).len() {
            0 => causes.push(Cause::required(field, "")),
            129.. => causes.push(too_long(field, 128)),
            _ => {}
        }
    }
    if str_at(event, "message").len() > 1024 {
        causes.push(too_long("message", 1024));
    }
    causes
}

fn too_long(field: &str, limit: usize) -> Cause {
    Cause::invalid(field, &"".into(), &format!("can have at most {limit} characters"))
}

/// What a new Event of `events.k8s.io` must and must not have.
fn created(event: &Value) -> Vec<Cause> {
    let mut causes = series(event);
    if !is_set(event, "eventTime") {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = str_at(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        let detail = format!("has invalid value: {kind}");
        causes.push(Cause::invalid("type", &"".into(), &detail));
    }
    let source = &event["source"];
    let has_source = !str_at(source, "component").is_empty() || !str_at(source, "host").is_empty();
    for (field, set) in [
        ("firstTimestamp", is_set(event, "firstTimestamp")),
        ("lastTimestamp", is_set(event, "lastTimestamp")),
        ("count", event["count"].as_i64().unwrap_or_default() != 0),
        ("source", has_source),
    ] {
        if set {
            causes.push(Cause::invalid(field, &"".into(), "needs to be unset"));
        }
    }
    causes
}

/// Of an Event of `events.k8s.io` only the series may change.
fn changed(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = if new["series"] == old["series"] {
        Vec::new()
    } else {
        series(new)
    };
    for (field, name) in [
        ("involvedObject", "involvedObject"),
        ("reason", "reason"),
        ("message", "message"),
        ("source", "source"),
        ("firstTimestamp", "firstTimestamp"),
        ("lastTimestamp", "lastTimestamp"),
        ("count", "count"),
        ("type", "type"),
        ("related", "related"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        if new[field] != old[field] {
            causes.push(Cause::invalid(name, &new[field], "field is immutable"));
        }
    }
    causes
}

fn series(event: &Value) -> Vec<Cause> {
    let series = &event["series"];
    let mut causes = Vec::new();
    if !series.is_object() {
        return causes;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        causes.push(Cause::invalid("series.count", &"".into(), "should be at least 2"));
    }
    if !is_set(series, "lastObservedTime") {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
    causes
}
