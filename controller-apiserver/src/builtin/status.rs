//! The status of workloads: what is refused.
//!
//! Source: API reference, the status of each kind of the group `apps`, and of budgets.

use serde_json::Value;

use super::workload::not_negative;
use crate::status::Cause;

/// Counts that are at most `replicas`, by plural.
fn parts(plural: &str) -> &'static [&'static str] {
    match plural {
        "deployments" => &["updatedReplicas", "readyReplicas", "availableReplicas"],
        "replicasets" => &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        "statefulsets" => &[
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
        ],
        _ => &[],
    }
}

/// Counts that are just not negative.
fn others(group: &str, plural: &str) -> &'static [&'static str] {
    match (group, plural) {
        ("apps", "deployments") => &["replicas", "unavailableReplicas", "observedGeneration"],
        ("apps", "replicasets") => &["replicas", "observedGeneration"],
        ("apps", "statefulsets") => &["replicas", "observedGeneration", "collisionCount"],
        ("apps", "daemonsets") => &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
        ],
        ("batch", "jobs") => &["active", "succeeded", "failed", "ready", "terminating"],
        ("policy", "poddisruptionbudgets") => &[
            "currentHealthy",
            "desiredHealthy",
            "disruptionsAllowed",
            "expectedPods",
        ],
        ("autoscaling", _) => &["currentReplicas", "desiredReplicas"],
        _ => &[],
    }
}

/// What is wrong with a status.
pub(crate) fn validate(group: &str, plural: &str, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let status = &object["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    for field in others(group, plural).iter().chain(parts(plural)) {
        not_negative(&status[*field], &format!("status.{field}"), &mut causes);
    }
    if (group, plural) == ("", "services") {
        super::service::validate_status(object, &mut causes);
    }
    let mut at_most = |field: &str, bound: &str| {
        if count(field) > count(bound) {
            let detail = format!("cannot be greater than {bound}");
            causes.push(Cause::invalid(
                format!("status.{field}"),
                &count(field).into(),
                &detail,
            ));
        }
    };
    if group == "apps" {
        for part in parts(plural) {
            at_most(part, "replicas");
        }
        at_most("availableReplicas", "readyReplicas");
    }
    causes
}
