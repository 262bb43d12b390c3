//! Autoscalers, disruption budgets and claims of volumes.
//!
//! Source: API reference of each kind.

use serde_json::Value;

use super::at;
use super::workload::int_or_percent;
use crate::status::Cause;

pub(super) fn validate_budget(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let fields = ["minAvailable", "maxUnavailable"];
    if fields.iter().all(|field| !spec[*field].is_null()) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        causes.push(Cause::invalid("spec", spec, detail));
    }
    for field in fields {
        int_or_percent(&spec[field], &format!("spec.{field}"), causes);
    }
}

pub(super) fn validate_autoscaler(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let number = |field: &str| spec[field].as_i64().unwrap_or_default();
    let positive = |field: &str, causes: &mut Vec<Cause>| {
        if number(field) < 1 {
            let detail = "must be greater than or equal to 1";
            causes.push(Cause::invalid(format!("spec.{field}"), &spec[field], detail));
        }
    };
    positive("minReplicas", causes);
    positive("maxReplicas", causes);
    if number("maxReplicas") < number("minReplicas") {
        let detail = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &spec["maxReplicas"], detail));
    }
    let target = &spec["scaleTargetRef"];
    for field in ["kind", "name"] {
        if target[field].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("spec.scaleTargetRef.{field}"), ""));
        }
    }
    // ReplicationControllers have no group.
    let core = target["kind"] == "ReplicationController";
    if !core && target["apiVersion"].as_str().unwrap_or_default().is_empty() {
        let detail = "apiVersion must specify API group";
        causes.push(Cause::invalid(
            "spec.scaleTargetRef.apiVersion",
            &"".into(),
            detail,
        ));
    }
}

pub(super) fn validate_claim(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    if let Some(old) = old {
        if fixed_part(new) != fixed_part(old) {
            let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName \
                          for bound claims";
            causes.push(Cause::forbidden("spec", detail));
        }
        return;
    }
    let modes = &spec["accessModes"];
    if modes.as_array().is_none_or(Vec::is_empty) {
        causes.push(Cause::required(
            "spec.accessModes",
            "at least 1 access mode is required",
        ));
    }
    for mode in modes.as_array().into_iter().flatten() {
        let known = [
            "ReadOnlyMany",
            "ReadWriteMany",
            "ReadWriteOnce",
            "ReadWriteOncePod",
        ];
        if !mode.as_str().is_some_and(|mode| known.contains(&mode)) {
            let known = known.map(|one| format!("{one:?}")).join(", ");
            causes.push(Cause::not_supported("spec.accessModes", mode, &known));
        }
    }
    match at(spec, "resources.requests.storage").as_str() {
        None => causes.push(Cause::required("spec.resources[storage]", "")),
        Some(size) if size == "0" || size.starts_with('-') => {
            let detail = "must be greater than zero";
            causes.push(Cause::invalid("spec.resources[storage]", &size.into(), detail));
        }
        Some(_) => {}
    }
}

/// What of a claim never changes; a claim is bound later, and may grow once it is.
fn fixed_part(claim: &Value) -> Value {
    let mut spec = claim["spec"].clone();
    if let Some(map) = spec.as_object_mut() {
        let bound = map.contains_key("volumeName");
        map.remove("volumeName");
        if bound && at(claim, "status.phase") == "Bound" {
            map.remove("resources");
            map.remove("volumeAttributesClassName");
        }
    }
    spec
}
