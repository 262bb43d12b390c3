//! Kinds that are two views of one store.
//!
//! Events of `v1` and of `events.k8s.io/v1` are the same objects under other field names
//! (KEP-383); they are stored as the core group has them. All other kinds are stored as they are.

use serde_json::Value;

use super::Resource;

/// Core name, name in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The stored form of this resource is another than the served one.
pub(crate) fn converts(resource: &Resource) -> bool {
    resource.is("events.k8s.io", "events")
}

/// From the served form to the stored one.
pub(crate) fn to_storage(resource: &Resource, object: &mut Value) {
    if converts(resource) {
        rename(object, |(core, new)| (new, core));
        for field in ["reportingComponent", "reportingInstance"] {
            if object[field].is_null() {
                object[field] = "".into();
            }
        }
    }
}

/// From the stored form to the served one.
pub(crate) fn from_storage(resource: &Resource, object: &mut Value) {
    if converts(resource) {
        rename(object, |(core, new)| (core, new));
        if let Some(map) = object.as_object_mut() {
            for field in ["reportingController", "reportingInstance"] {
                if map.get(field).is_some_and(|value| value == "") {
                    map.remove(field);
                }
            }
        }
    }
}

fn rename(
    object: &mut Value,
    direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let Some(map) = object.as_object_mut() else {
        return;
    };
    for pair in EVENT_FIELDS {
        let (from, to) = direction(pair);
        if let Some(value) = map.remove(from) {
            map.insert(to.to_owned(), value);
        }
    }
}
