//! Deployments, Jobs and what else makes Pods, and what scales them.

use serde_json::{Map, Value, json};

use super::{at, each, missing, object, pod, present, set, set_all, storage};

pub(super) fn apply(kind: &str, workload: &mut Value) {
    match kind {
        "CronJob" => return cron_job(workload),
        "ControllerRevision" => return,
        _ => {}
    }
    let Some(spec) = object(workload, "spec") else {
        return;
    };
    if let Some(template) = present(spec, "template") {
        pod::template(template);
    }
    match kind {
        "Deployment" => {
            set_all(
                spec,
                json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}),
            );
            rolling(
                spec,
                "strategy",
                json!({"maxUnavailable": "25%", "maxSurge": "25%"}),
            );
        }
        "ReplicaSet" => set(spec, "replicas", 1),
        "ReplicationController" => {
            set(spec, "replicas", 1);
            let labels = at(spec, &["template", "metadata", "labels"]).map(|labels| labels.clone());
            if let Some(labels) = labels {
                set_empty(spec, "selector", &labels);
                set_empty(&mut workload["metadata"], "labels", &labels);
            }
        }
        "DaemonSet" => {
            set(spec, "revisionHistoryLimit", 10);
            rolling(
                spec,
                "updateStrategy",
                json!({"maxUnavailable": 1, "maxSurge": 0}),
            );
        }
        "StatefulSet" => stateful_set(spec),
        "Job" => job(workload),
        _ => {}
    }
}

/// Updates roll by default, and at this pace.
fn rolling(spec: &mut Value, field: &str, pace: Value) {
    let Some(strategy) = object(spec, field) else {
        return;
    };
    set(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = object(strategy, "rollingUpdate")
    {
        set_all(rolling, pace);
    }
}

fn stateful_set(spec: &mut Value) {
    set_all(
        spec,
        json!({"podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10}),
    );
    rolling(spec, "updateStrategy", json!({"partition": 0}));
    if let Some(policy) = object(spec, "persistentVolumeClaimRetentionPolicy") {
        set_all(policy, json!({"whenDeleted": "Retain", "whenScaled": "Retain"}));
    }
    for claim in each(spec, "volumeClaimTemplates") {
        set_all(
            claim,
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim"}),
        );
        storage::apply("PersistentVolumeClaim", claim);
    }
}

/// Sets a map where none, or an empty one, is.
fn set_empty(parent: &mut Value, field: &str, map: &Value) {
    let empty = parent[field].as_object().is_none_or(Map::is_empty);
    if empty && parent.is_object() {
        parent[field] = map.clone();
    }
}

fn job(job: &mut Value) {
    let labels = at(job, &["spec", "template", "metadata", "labels"]).map(|labels| labels.clone());
    if let (Some(labels), Some(metadata)) = (labels, object(job, "metadata")) {
        set_empty(metadata, "labels", &labels);
    }
    let spec = &mut job["spec"];
    if missing(spec, "completions") && missing(spec, "parallelism") {
        set(spec, "completions", 1);
    }
    let limit = if missing(spec, "backoffLimitPerIndex") {
        6
    } else {
        i32::MAX
    };
    let policy = if missing(spec, "podFailurePolicy") {
        "TerminatingOrFailed"
    } else {
        "Failed"
    };
    set_all(
        spec,
        json!({
            "parallelism": 1,
            "backoffLimit": limit,
            "completionMode": "NonIndexed",
            "suspend": false,
            "manualSelector": false,
            "podReplacementPolicy": policy,
        }),
    );
    if let Some(policy) = present(spec, "podFailurePolicy") {
        for rule in each(policy, "rules") {
            each(rule, "onPodConditions").for_each(|pattern| set(pattern, "status", "True"));
        }
    }
}

fn cron_job(job: &mut Value) {
    let Some(spec) = object(job, "spec") else {
        return;
    };
    set_all(
        spec,
        json!({
            "concurrencyPolicy": "Allow",
            "failedJobsHistoryLimit": 1,
            "successfulJobsHistoryLimit": 3,
            "suspend": false,
        }),
    );
    if let Some(template) = at(spec, &["jobTemplate", "spec", "template"]) {
        pod::template(template);
    }
}

pub(super) fn autoscaler(version: &str, autoscaler: &mut Value) {
    if autoscaler["kind"] != "HorizontalPodAutoscaler" {
        return;
    }
    let Some(spec) = object(autoscaler, "spec") else {
        return;
    };
    set(spec, "minReplicas", 1);
    if version == "v1" {
        return set(spec, "targetCPUUtilizationPercentage", 80);
    }
    if spec["metrics"].as_array().is_none_or(Vec::is_empty) {
        spec["metrics"] = json!([{"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80},
        }}]);
    }
    let Some(behavior) = present(spec, "behavior") else {
        return;
    };
    let all = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let four = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    if let Some(up) = object(behavior, "scaleUp") {
        set_all(
            up,
            json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [four, all]}),
        );
    }
    if let Some(down) = object(behavior, "scaleDown") {
        set_all(down, json!({"selectPolicy": "Max", "policies": [all]}));
    }
}
