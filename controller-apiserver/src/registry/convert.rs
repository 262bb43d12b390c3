//! Kinds that are two views of one store.
//!
//! Events of `v1` and of `events.k8s.io/v1` are the same objects under other field names
//! (KEP-383); they are stored as the core group has them. Autoscalers are stored as
//! `autoscaling/v2` has them; `v1` shows their CPU target, and the rest of their metrics in an
//! annotation. All other kinds are stored as they are.

use serde_json::{Map, Value, json};

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
    resource.is("events.k8s.io", "events") || is_old_autoscaler(resource)
}

fn is_old_autoscaler(resource: &Resource) -> bool {
    resource.is("autoscaling", "horizontalpodautoscalers") && resource.version == "v1"
}

/// From the served form to the stored one.
pub(crate) fn to_storage(resource: &Resource, object: &mut Value) {
    if is_old_autoscaler(resource) {
        autoscaler_to_storage(object);
    } else if converts(resource) {
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
    if is_old_autoscaler(resource) {
        autoscaler_from_storage(object);
    } else if converts(resource) {
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

/// What `autoscaling/v1` has no field for, and the annotation that holds it as JSON.
const KEPT: [(&str, &str, &str); 4] = [
    ("spec", "metrics", "autoscaling.alpha.kubernetes.io/metrics"),
    ("spec", "behavior", "autoscaling.alpha.kubernetes.io/behavior"),
    (
        "status",
        "currentMetrics",
        "autoscaling.alpha.kubernetes.io/current-metrics",
    ),
    (
        "status",
        "conditions",
        "autoscaling.alpha.kubernetes.io/conditions",
    ),
];

/// The lists of metrics, where a metric has its number, and the field of `v1` that shows the CPU's.
const CPU: [(&str, &str, &str, &str); 2] = [
    ("spec", "metrics", "target", "targetCPUUtilizationPercentage"),
    (
        "status",
        "currentMetrics",
        "current",
        "currentCPUUtilizationPercentage",
    ),
];

fn part<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(name)?.as_object_mut()
}

fn autoscaler_to_storage(object: &mut Value) {
    for (half, field, annotation) in KEPT {
        let kept = object
            .pointer_mut("/metadata/annotations")
            .and_then(Value::as_object_mut)
            .and_then(|annotations| annotations.remove(annotation))
            .and_then(|text| serde_json::from_str::<Value>(text.as_str()?).ok());
        if let (Some(kept), Some(half)) = (kept, part(object, half)) {
            half.insert(field.to_owned(), kept);
        }
    }
    for (half, field, place, shown) in CPU {
        let Some(half) = part(object, half) else {
            continue;
        };
        if let Some(percent) = half.remove(shown) {
            let mut cpu = json!({"type": "Resource", "resource": {"name": "cpu"}});
            cpu["resource"][place] = json!({"averageUtilization": percent});
            if place == "target" {
                cpu["resource"][place]["type"] = "Utilization".into();
            }
            let metrics = half.entry(field).or_insert_with(|| json!([]));
            if let Some(metrics) = metrics.as_array_mut() {
                metrics.insert(0, cpu);
            }
        }
    }
    // Of the status, v1 always writes a count that v2 leaves out when it is 0, and v2 a list.
    if let Some(status) = part(object, "status") {
        if status.get("currentReplicas").is_some_and(|count| *count == 0) {
            status.remove("currentReplicas");
        }
        status.entry("currentMetrics").or_insert(Value::Null);
    }
}

fn autoscaler_from_storage(object: &mut Value) {
    for (half, field, place, shown) in CPU {
        let Some(half) = part(object, half) else {
            continue;
        };
        let Some(metrics) = half.get_mut(field).and_then(Value::as_array_mut) else {
            continue;
        };
        let percent = |metric: &Value| {
            let number = &metric["resource"][place]["averageUtilization"];
            (metric["resource"]["name"] == "cpu" && number.is_number()).then(|| number.clone())
        };
        if let Some(at) = metrics.iter().position(|metric| percent(metric).is_some()) {
            let percent = percent(&metrics.remove(at)).unwrap_or_default();
            half.insert(shown.to_owned(), percent);
        }
    }
    for (half, field, annotation) in KEPT {
        let kept = part(object, half).and_then(|half| half.remove(field));
        let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if let Some(kept) = kept.filter(|kept| !empty(kept)) {
            object["metadata"]["annotations"][annotation] = kept.to_string().into();
        }
    }
    if let Some(status) = part(object, "status") {
        for count in ["currentReplicas", "desiredReplicas"] {
            status.entry(count).or_insert_with(|| 0.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn autoscalers_come_back_whole() {
        let registry = Registry::new();
        let old = registry
            .get("autoscaling", "v1", "horizontalpodautoscalers")
            .unwrap();
        let stored = json!({
            "metadata": {"name": "a"},
            "spec": {"maxReplicas": 3, "behavior": {"scaleUp": {}}, "metrics": [
                {"type": "Pods", "pods": {}},
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
            ]},
            "status": {"currentReplicas": 1, "currentMetrics": null, "desiredReplicas": 2, "conditions": [{"type": "x"}]},
        });
        let mut shown = stored.clone();
        from_storage(old, &mut shown);
        assert_eq!(shown["spec"]["targetCPUUtilizationPercentage"], 80);
        assert!(shown["spec"].get("metrics").is_none() && shown["status"].get("conditions").is_none());
        to_storage(old, &mut shown);
        let annotations = shown["metadata"].as_object_mut().unwrap().remove("annotations");
        assert_eq!(annotations, Some(json!({})));
        shown["spec"]["metrics"].as_array_mut().unwrap().reverse();
        assert_eq!(shown, stored);
    }
}
