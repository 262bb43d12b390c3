//! Where a Pod may run: tolerations, affinity, spread over a topology.
//!
//! Source: API reference, `PodSpec` ("Scheduling").

use std::collections::HashSet;

use serde_json::{Value, json};

use super::spec::duplicate;
use crate::registry::names;
use crate::status::Cause;

/// What is wrong with the placement that the spec of a Pod at `path` asks for.
pub(super) fn validate(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (toleration, path) in items(&spec["tolerations"], &format!("{path}.tolerations")) {
        validate_toleration(toleration, &path, causes);
    }
    let affinity = &spec["affinity"];
    node_affinity(
        &affinity["nodeAffinity"],
        &format!("{path}.affinity.nodeAffinity"),
        causes,
    );
    for kind in ["podAffinity", "podAntiAffinity"] {
        pod_affinity(&affinity[kind], &format!("{path}.affinity.{kind}"), causes);
    }
    spread(
        &spec["topologySpreadConstraints"],
        &format!("{path}.topologySpreadConstraints"),
        causes,
    );
}

/// The elements of a list, with their paths.
fn items<'a>(list: &'a Value, path: &str) -> Vec<(&'a Value, String)> {
    let items = list.as_array().into_iter().flatten().enumerate();
    items
        .map(|(index, item)| (item, format!("{path}[{index}]")))
        .collect()
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn label_name(value: &Value, field: &str, causes: &mut Vec<Cause>) {
    for problem in names::qualified(value.as_str().unwrap_or_default()) {
        causes.push(Cause::invalid(field, value, &problem));
    }
}

fn validate_toleration(toleration: &Value, path: &str, causes: &mut Vec<Cause>) {
    const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "PreferNoSchedule"];
    let (key, operator, effect) = (
        text(toleration, "key"),
        text(toleration, "operator"),
        text(toleration, "effect"),
    );
    if !key.is_empty() {
        label_name(&toleration["key"], &format!("{path}.key"), causes);
    } else if operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        causes.push(Cause::invalid(
            format!("{path}.operator"),
            &toleration["operator"],
            detail,
        ));
    }
    if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        causes.push(Cause::invalid(format!("{path}.effect"), &effect.into(), detail));
    }
    match operator {
        "" | "Equal" => {
            for problem in names::label_value(text(toleration, "value")) {
                causes.push(Cause::invalid(
                    format!("{path}.operator"),
                    &toleration["value"],
                    &problem,
                ));
            }
        }
        "Exists" => {
            if !text(toleration, "value").is_empty() {
                let detail = "value must be empty when `operator` is 'Exists'";
                causes.push(Cause::invalid(format!("{path}.operator"), toleration, detail));
            }
        }
        "Lt" | "Gt" => {}
        _ => causes.push(Cause::not_supported(
            format!("{path}.operator"),
            &operator.into(),
            "\"Equal\", \"Exists\"",
        )),
    }
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        causes.push(Cause::not_supported(
            format!("{path}.effect"),
            &effect.into(),
            "\"NoExecute\", \"NoSchedule\", \"PreferNoSchedule\"",
        ));
    }
}

fn node_affinity(affinity: &Value, path: &str, causes: &mut Vec<Cause>) {
    let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
    if required.is_object() {
        let path = format!("{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
        let terms = items(&required["nodeSelectorTerms"], &path);
        if terms.is_empty() {
            causes.push(Cause::required(path, "must have at least one node selector term"));
        }
        for (term, path) in terms {
            node_term(term, &path, causes);
        }
    }
    let path = format!("{path}.preferredDuringSchedulingIgnoredDuringExecution");
    for (preferred, path) in items(
        &affinity["preferredDuringSchedulingIgnoredDuringExecution"],
        &path,
    ) {
        weight(preferred, &path, causes);
        node_term(&preferred["preference"], &format!("{path}.preference"), causes);
    }
}

fn weight(preferred: &Value, path: &str, causes: &mut Vec<Cause>) {
    let weight = preferred["weight"].as_i64().unwrap_or_default();
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        causes.push(Cause::invalid(format!("{path}.weight"), &weight.into(), detail));
    }
}

fn node_term(term: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (expression, path) in items(&term["matchExpressions"], &format!("{path}.matchExpressions")) {
        let count = expression["values"].as_array().map_or(0, Vec::len);
        let values = format!("{path}.values");
        match text(expression, "operator") {
            "In" | "NotIn" if count == 0 => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(values, detail));
            }
            "Exists" | "DoesNotExist" if count > 0 => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(values, detail));
            }
            "Gt" | "Lt" if count != 1 => {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                causes.push(Cause::required(values, detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            _ => causes.push(Cause::invalid(
                format!("{path}.operator"),
                &expression["operator"],
                "not a valid selector operator",
            )),
        }
        label_name(&expression["key"], &format!("{path}.key"), causes);
    }
}

fn pod_affinity(affinity: &Value, path: &str, causes: &mut Vec<Cause>) {
    let required = format!("{path}.requiredDuringSchedulingIgnoredDuringExecution");
    for (term, path) in items(
        &affinity["requiredDuringSchedulingIgnoredDuringExecution"],
        &required,
    ) {
        topology_key(&term["topologyKey"], &format!("{path}.topologyKey"), causes);
    }
    let preferred = format!("{path}.preferredDuringSchedulingIgnoredDuringExecution");
    for (term, path) in items(
        &affinity["preferredDuringSchedulingIgnoredDuringExecution"],
        &preferred,
    ) {
        weight(term, &path, causes);
        let key = &term["podAffinityTerm"]["topologyKey"];
        topology_key(key, &format!("{path}.podAffinityTerm.topologyKey"), causes);
    }
}

fn topology_key(key: &Value, field: &str, causes: &mut Vec<Cause>) {
    if key.as_str().unwrap_or_default().is_empty() {
        causes.push(Cause::required(field, "can not be empty"));
    }
    label_name(key, field, causes);
}

fn spread(list: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for (constraint, path) in items(list, path) {
        let skew = constraint["maxSkew"].as_i64().unwrap_or_default();
        if skew <= 0 {
            let detail = "must be greater than zero";
            causes.push(Cause::invalid(format!("{path}.maxSkew"), &skew.into(), detail));
        }
        let (key, otherwise) = (
            text(constraint, "topologyKey"),
            text(constraint, "whenUnsatisfiable"),
        );
        if key.is_empty() {
            causes.push(Cause::required(format!("{path}.topologyKey"), "can not be empty"));
        }
        if !matches!(otherwise, "DoNotSchedule" | "ScheduleAnyway") {
            causes.push(Cause::not_supported(
                format!("{path}.whenUnsatisfiable"),
                &otherwise.into(),
                "\"DoNotSchedule\", \"ScheduleAnyway\"",
            ));
        }
        if constraint["minDomains"].as_i64().is_some_and(|count| count <= 0) {
            let detail = "must be greater than zero";
            causes.push(Cause::invalid(
                format!("{path}.minDomains"),
                &constraint["minDomains"],
                detail,
            ));
        }
        if !seen.insert((key, otherwise)) {
            let value = json!(format!("{{{key}, {otherwise}}}"));
            causes.push(duplicate(
                &format!("{path}.{{topologyKey, whenUnsatisfiable}}"),
                &value,
            ));
        }
    }
}
