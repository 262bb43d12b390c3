//! Deployments and the other workloads of the group `apps`.
//!
//! Source: API reference, group `apps`.

use serde_json::Value;

use super::{at, spec};
use crate::status::Cause;

/// What is wrong with a workload.
pub(super) fn validate(plural: &str, new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let kind = match plural {
        "deployments" => "deployment",
        "replicasets" => "replicaset",
        "statefulsets" => "statefulset",
        "daemonsets" => "daemonset",
        _ => return,
    };
    let spec = &new["spec"];
    for field in [
        "replicas",
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        not_negative(&spec[field], &format!("spec.{field}"), causes);
    }
    selector(spec, kind, causes);
    spec::validate(&spec["template"]["spec"], "spec.template.spec", causes);
    let policy = &spec["template"]["spec"]["restartPolicy"];
    if policy.as_str().is_some_and(|policy| policy != "Always") {
        causes.push(Cause::not_supported(
            "spec.template.spec.restartPolicy",
            policy,
            "\"Always\"",
        ));
    }
    match plural {
        "deployments" => {
            strategy(
                &spec["strategy"],
                "spec.strategy",
                &["Recreate", "RollingUpdate"],
                causes,
            );
            deadline(spec, causes);
        }
        "replicasets" => {}
        _ => strategy(
            &spec["updateStrategy"],
            "spec.updateStrategy",
            &["OnDelete", "RollingUpdate"],
            causes,
        ),
    }
    if let Some(old) = old {
        immutable(plural, new, old, causes);
    }
}

/// A rollout has more time than one of its Pods needs to count as available.
fn deadline(spec: &Value, causes: &mut Vec<Cause>) {
    let deadline = &spec["progressDeadlineSeconds"];
    let needed = spec["minReadySeconds"].as_i64().unwrap_or_default();
    if deadline.as_i64().is_some_and(|seconds| seconds <= needed) {
        let detail = "must be greater than minReadySeconds";
        causes.push(Cause::invalid("spec.progressDeadlineSeconds", deadline, detail));
    }
}

pub(super) fn not_negative(value: &Value, field: &str, causes: &mut Vec<Cause>) {
    if value.as_f64().is_some_and(|number| number < 0.0) {
        causes.push(Cause::invalid(field, value, "must be greater than or equal to 0"));
    }
}

fn selector(spec: &Value, kind: &str, causes: &mut Vec<Cause>) {
    let selector = &spec["selector"];
    let labels = &spec["template"]["metadata"]["labels"];
    if selector.is_null() {
        causes.push(Cause::required("spec.selector", ""));
    } else if is_empty(selector) {
        let detail = format!("empty selector is invalid for {kind}");
        causes.push(Cause::invalid("spec.selector", selector, &detail));
        return;
    }
    if !matches(selector, labels) {
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, detail));
    }
}

fn is_empty(selector: &Value) -> bool {
    let empty = |value: &Value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    empty(&selector["matchLabels"]) && empty(&selector["matchExpressions"])
}

/// True if labels fit a selector, which selects nothing if it is not there.
pub(super) fn matches(selector: &Value, labels: &Value) -> bool {
    if selector.is_null() {
        return false;
    }
    let wanted = selector["matchLabels"].as_object().into_iter().flatten();
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    wanted
        .into_iter()
        .all(|(key, value)| labels.get(key) == Some(value))
        && expressions.into_iter().all(|expression| {
            let label = expression["key"].as_str().and_then(|key| labels.get(key));
            let listed = label.is_some_and(|label| {
                expression["values"]
                    .as_array()
                    .is_some_and(|values| values.contains(label))
            });
            match expression["operator"].as_str().unwrap_or_default() {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => label.is_some(),
                "DoesNotExist" => label.is_none(),
                _ => false,
            }
        })
}

fn strategy(strategy: &Value, field: &str, kinds: &[&str; 2], causes: &mut Vec<Cause>) {
    let kind = &strategy["type"];
    let rolling = &strategy["rollingUpdate"];
    match kind.as_str().unwrap_or_default() {
        "RollingUpdate" => {
            let path = format!("{field}.rollingUpdate");
            for part in ["maxUnavailable", "maxSurge", "partition"] {
                int_or_percent(&rolling[part], &format!("{path}.{part}"), causes);
            }
            let zero = |value: &Value| *value == 0 || *value == "0%";
            if zero(&rolling["maxUnavailable"]) && zero(&rolling["maxSurge"]) {
                let detail = "may not be 0 when `maxSurge` is 0";
                causes.push(Cause::invalid(
                    format!("{path}.maxUnavailable"),
                    &rolling["maxUnavailable"],
                    detail,
                ));
            }
        }
        "Recreate" if kinds.contains(&"Recreate") => {
            if !rolling.is_null() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                causes.push(Cause::forbidden(format!("{field}.rollingUpdate"), detail));
            }
        }
        other if kinds.contains(&other) => {}
        _ => {
            let kinds: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}")).collect();
            causes.push(Cause::not_supported(
                format!("{field}.type"),
                kind,
                &kinds.join(", "),
            ));
        }
    }
}

/// A number that is not negative, or a percentage.
pub(super) fn int_or_percent(value: &Value, field: &str, causes: &mut Vec<Cause>) {
    match value {
        Value::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  \
                              or '93%', regex used for validation is '[0-9]+%')";
                causes.push(Cause::invalid(field, value, detail));
            } else if field.ends_with("maxUnavailable")
                && digits.parse::<u64>().is_ok_and(|percent| percent > 100)
            {
                causes.push(Cause::invalid(field, value, "must not be greater than 100%"));
            }
        }
        other => not_negative(other, field, causes),
    }
}

fn immutable(plural: &str, new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if plural == "statefulsets" {
        let mutable = [
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
        ];
        let rest = |object: &Value| {
            let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
            spec.retain(|key, _| !mutable.contains(&key.as_str()));
            spec
        };
        if rest(new) != rest(old) {
            let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                          'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                          'minReadySeconds' are forbidden";
            causes.push(Cause::forbidden("spec", detail));
        }
    } else if at(new, "spec.selector") != at(old, "spec.selector") {
        causes.push(Cause::invalid(
            "spec.selector",
            at(new, "spec.selector"),
            "field is immutable",
        ));
    }
}
