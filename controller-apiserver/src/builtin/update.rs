//! What of a Pod may change once it is created.
//!
//! Source: documentation, "Pod Lifecycle", "Pod update and replacement".

use serde_json::Value;

use super::pod::CONTAINERS;
use crate::status::Cause;

const DETAIL: &str = "pod updates may not change fields other than \
     `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
     additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
     previously negative)";

pub(super) fn validate(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let (spec, before) = (&new["spec"], &old["spec"]);
    for list in ["containers", "initContainers"] {
        if count(spec, list) != count(before, list) {
            let what = if list == "containers" {
                "containers"
            } else {
                "init containers"
            };
            let detail = format!("pod updates may not add or remove {what}");
            causes.push(Cause::forbidden(format!("spec.{list}"), &detail));
        }
        for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            if container["image"].as_str().unwrap_or_default().is_empty() {
                causes.push(Cause::required(format!("spec.{list}[{index}].image"), ""));
            }
        }
    }
    deadline(
        &spec["activeDeadlineSeconds"],
        &before["activeDeadlineSeconds"],
        causes,
    );
    if !causes.is_empty() {
        return;
    }
    if !keeps_tolerations(spec, before) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", detail));
    }
    if fixed_part(spec) != fixed_part(before) || !grace_is_kept(spec, before) {
        causes.push(Cause::forbidden("spec", DETAIL));
    }
}

fn count(spec: &Value, list: &str) -> usize {
    spec[list].as_array().map_or(0, Vec::len)
}

fn deadline(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let field = "spec.activeDeadlineSeconds";
    match (new.as_i64(), old.as_i64()) {
        (Some(new), _) if new < 1 => {
            let detail = "must be between 1 and 2147483647, inclusive";
            causes.push(Cause::invalid(field, &new.into(), detail));
        }
        (Some(new), Some(old)) if new > old => {
            let detail = "must be less than or equal to previous value";
            causes.push(Cause::invalid(field, &new.into(), detail));
        }
        (None, Some(_)) => {
            causes.push(Cause::invalid(
                field,
                &Value::Null,
                "must not update from a positive integer to nil value",
            ));
        }
        _ => {}
    }
}

/// Tolerations may be added, and how long one lasts may change.
fn keeps_tolerations(new: &Value, old: &Value) -> bool {
    let plain = |spec: &Value| -> Vec<Value> {
        let mut list = spec["tolerations"].as_array().cloned().unwrap_or_default();
        for toleration in list.iter_mut().filter_map(Value::as_object_mut) {
            toleration.remove("tolerationSeconds");
        }
        list
    };
    let kept = plain(new);
    plain(old).iter().all(|toleration| kept.contains(toleration))
}

fn grace_is_kept(new: &Value, old: &Value) -> bool {
    let field = "terminationGracePeriodSeconds";
    let was_negative = old[field].as_i64().is_some_and(|seconds| seconds < 0);
    new[field] == old[field] || (was_negative && new[field] == 1)
}

/// The spec without what may change.
fn fixed_part(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(map) = spec.as_object_mut() {
        for field in [
            "activeDeadlineSeconds",
            "tolerations",
            "terminationGracePeriodSeconds",
        ] {
            map.remove(field);
        }
    }
    for list in CONTAINERS {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            container.remove("image");
        }
    }
    spec
}
