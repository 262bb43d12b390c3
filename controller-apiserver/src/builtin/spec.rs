//! The spec of a Pod: what is refused.
//!
//! Source: API reference, `PodSpec` and `Container`.

use std::collections::HashSet;

use serde_json::Value;

use super::workload::not_negative;
use super::{placement, security};
use crate::codec::scalars;
use crate::registry::names;
use crate::status::Cause;

/// Fields with few choices, in a spec and in its containers.
const SPEC_CHOICES: [(&str, &[&str]); 2] = [
    ("restartPolicy", &["Always", "OnFailure", "Never"]),
    (
        "dnsPolicy",
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    ),
];
const CONTAINER_CHOICES: [(&str, &[&str]); 2] = [
    ("imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    ("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
];

/// What is wrong with the spec of a Pod at `path`.
pub(super) fn validate(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let volumes = volumes(&spec["volumes"], &format!("{path}.volumes"), causes);
    let mut seen = HashSet::new();
    for list in ["containers", "initContainers"] {
        let items = spec[list].as_array().map(Vec::as_slice).unwrap_or_default();
        if list == "containers" && items.is_empty() {
            causes.push(Cause::required(format!("{path}.{list}"), ""));
        }
        for (index, container) in items.iter().enumerate() {
            let path = format!("{path}.{list}[{index}]");
            validate_container(container, &path, &volumes, causes);
            if list == "initContainers" {
                validate_init(container, &path, causes);
            }
            let name = container["name"].as_str().unwrap_or_default();
            if !name.is_empty() && !seen.insert(name) {
                causes.push(duplicate(&format!("{path}.name"), &container["name"]));
            }
        }
    }
    choices(spec, &SPEC_CHOICES, path, causes);
    not_negative(
        &spec["terminationGracePeriodSeconds"],
        &format!("{path}.terminationGracePeriodSeconds"),
        causes,
    );
    if spec["activeDeadlineSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 1)
    {
        let field = format!("{path}.activeDeadlineSeconds");
        let detail = "must be between 1 and 2147483647, inclusive";
        causes.push(Cause::invalid(field, &spec["activeDeadlineSeconds"], detail));
    }
    placement::validate(spec, path, causes);
    security::validate(spec, path, causes);
    label_map(&spec["nodeSelector"], &format!("{path}.nodeSelector"), causes);
}

pub(super) fn duplicate(field: &str, value: &Value) -> Cause {
    Cause::new("FieldValueDuplicate", field, format!("Duplicate value: {value}"))
}

pub(super) fn choices(object: &Value, fields: &[(&str, &[&str])], path: &str, causes: &mut Vec<Cause>) {
    for (field, known) in fields {
        if let Some(text) = object[*field].as_str()
            && !known.contains(&text)
        {
            let mut known: Vec<String> = known.iter().map(|one| format!("{one:?}")).collect();
            known.sort();
            causes.push(Cause::not_supported(
                format!("{path}.{field}"),
                &object[*field],
                &known.join(", "),
            ));
        }
    }
}

pub(super) fn label_map(map: &Value, field: &str, causes: &mut Vec<Cause>) {
    for (key, value) in map.as_object().into_iter().flatten() {
        for problem in names::qualified(key) {
            causes.push(Cause::invalid(field, &key.as_str().into(), &problem));
        }
        for problem in names::label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(field, value, &problem));
        }
    }
}

fn label(value: &Value, field: &str, causes: &mut Vec<Cause>) {
    let text = value.as_str().unwrap_or_default();
    if text.is_empty() {
        causes.push(Cause::required(field, ""));
        return;
    }
    for problem in names::label(text) {
        causes.push(Cause::invalid(field, value, &problem));
    }
}

/// The names of the volumes.
fn volumes<'a>(list: &'a Value, path: &str, causes: &mut Vec<Cause>) -> HashSet<&'a str> {
    let mut seen = HashSet::new();
    for (index, volume) in list.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        label(&volume["name"], &format!("{path}.name"), causes);
        if !seen.insert(volume["name"].as_str().unwrap_or_default()) {
            causes.push(duplicate(&format!("{path}.name"), &volume["name"]));
        }
        let sources: Vec<_> = volume
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "name")
            .collect();
        for (source, _) in sources.iter().skip(1) {
            let detail = "may not specify more than 1 volume type";
            causes.push(Cause::forbidden(format!("{path}.{source}"), detail));
        }
        for (source, field) in [
            ("configMap", "name"),
            ("secret", "secretName"),
            ("persistentVolumeClaim", "claimName"),
            ("hostPath", "path"),
        ] {
            let source_value = &volume[source];
            if source_value.is_object() && source_value[field].as_str().unwrap_or_default().is_empty() {
                causes.push(Cause::required(format!("{path}.{source}.{field}"), ""));
            }
        }
    }
    seen
}

fn validate_container(container: &Value, path: &str, volumes: &HashSet<&str>, causes: &mut Vec<Cause>) {
    label(&container["name"], &format!("{path}.name"), causes);
    let image = container["image"].as_str().unwrap_or_default();
    if image.is_empty() {
        causes.push(Cause::required(format!("{path}.image"), ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        causes.push(Cause::invalid(
            format!("{path}.image"),
            &container["image"],
            detail,
        ));
    }
    choices(container, &CONTAINER_CHOICES, path, causes);
    security::validate_container(
        &container["securityContext"],
        &format!("{path}.securityContext"),
        causes,
    );
    ports(&container["ports"], &format!("{path}.ports"), causes);
    env(&container["env"], &format!("{path}.env"), causes);
    resources(&container["resources"], &format!("{path}.resources"), causes);
    for (index, mount) in container["volumeMounts"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let path = format!("{path}.volumeMounts[{index}]");
        let name = mount["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        } else if !volumes.contains(name) {
            let message = format!("Not found: {name:?}");
            causes.push(Cause::new("FieldValueNotFound", format!("{path}.name"), message));
        }
        if mount["mountPath"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{path}.mountPath"), ""));
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        validate_probe(&container[probe], &format!("{path}.{probe}"), causes);
    }
}

/// An init container runs to its end, unless it is always restarted.
fn validate_init(container: &Value, path: &str, causes: &mut Vec<Cause>) {
    if container["restartPolicy"] == "Always" {
        return;
    }
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container[field].is_object() {
            let detail = "may not be set for init containers without restartPolicy=Always";
            causes.push(Cause::forbidden(format!("{path}.{field}"), detail));
        }
    }
}

fn validate_probe(probe: &Value, path: &str, causes: &mut Vec<Cause>) {
    if !probe.is_object() {
        return;
    }
    let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
    let given: Vec<_> = handlers
        .iter()
        .filter(|handler| probe[**handler].is_object())
        .collect();
    if given.is_empty() {
        causes.push(Cause::required(path, "must specify a handler type"));
    }
    for handler in given.iter().skip(1) {
        let detail = "may not specify more than 1 handler type";
        causes.push(Cause::forbidden(format!("{path}.{handler}"), detail));
    }
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        not_negative(&probe[field], &format!("{path}.{field}"), causes);
    }
    let successes = &probe["successThreshold"];
    if !path.ends_with("readinessProbe") && successes.as_i64().is_some_and(|count| count > 1) {
        causes.push(Cause::invalid(
            format!("{path}.successThreshold"),
            successes,
            "must be 1",
        ));
    }
}

fn ports(list: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for (index, port) in list.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        match port["containerPort"].as_i64().unwrap_or_default() {
            0 => causes.push(Cause::required(format!("{path}.containerPort"), "")),
            number => port_number(number, &format!("{path}.containerPort"), causes),
        }
        if let Some(number) = port["hostPort"].as_i64().filter(|number| *number != 0) {
            port_number(number, &format!("{path}.hostPort"), causes);
        }
        choices(port, &[("protocol", &["TCP", "UDP", "SCTP"])], &path, causes);
        if let Some(name) = port["name"].as_str().filter(|name| !name.is_empty())
            && !seen.insert(name)
        {
            causes.push(duplicate(&format!("{path}.name"), &port["name"]));
        }
    }
}

pub(super) fn port_number(number: i64, field: &str, causes: &mut Vec<Cause>) {
    if !(1..=65535).contains(&number) {
        causes.push(Cause::invalid(
            field,
            &number.into(),
            "must be between 1 and 65535, inclusive",
        ));
    }
}

fn env(list: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (index, variable) in list.as_array().into_iter().flatten().enumerate() {
        let name = variable["name"].as_str().unwrap_or_default();
        let path = format!("{path}[{index}]");
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        } else if !name.bytes().all(|b| b.is_ascii_graphic() || b == b' ') || name.contains('=') {
            let detail = "a valid environment variable name must consist only of printable ASCII characters other \
                          than '='";
            causes.push(Cause::invalid(format!("{path}.name"), &variable["name"], detail));
        }
        let from = &variable["valueFrom"];
        if from.as_object().is_some_and(serde_json::Map::is_empty) {
            let detail = "must specify one of: `configMapKeyRef`, `fieldRef`, `fileKeyRef`, `resourceFieldRef` or \
                          `secretKeyRef`";
            causes.push(Cause::invalid(format!("{path}.valueFrom"), &"".into(), detail));
        }
        for source in ["configMapKeyRef", "secretKeyRef"] {
            if from[source].is_object() && from[source]["key"].as_str().unwrap_or_default().is_empty() {
                causes.push(Cause::required(format!("{path}.valueFrom.{source}.key"), ""));
            }
        }
        let has_value = variable["value"].as_str().is_some_and(|value| !value.is_empty());
        if has_value && variable["valueFrom"].is_object() {
            let detail = "may not be specified when `value` is not empty";
            causes.push(Cause::invalid(format!("{path}.valueFrom"), &"".into(), detail));
        }
    }
}

fn resources(resources: &Value, path: &str, causes: &mut Vec<Cause>) {
    for kind in ["limits", "requests"] {
        for (name, amount) in resources[kind].as_object().into_iter().flatten() {
            if amount.as_str().is_some_and(|text| text.starts_with('-')) {
                let field = format!("{path}.{kind}[{name}]");
                causes.push(Cause::invalid(
                    field,
                    amount,
                    "must be greater than or equal to 0",
                ));
            }
        }
    }
    for (name, request) in resources["requests"].as_object().into_iter().flatten() {
        let limit = &resources["limits"][name];
        let (Some(asked), Some(allowed)) = (request.as_str(), limit.as_str()) else {
            continue;
        };
        if scalars::nanos(asked) > scalars::nanos(allowed) {
            let detail = format!("must be less than or equal to {name} limit of {allowed}");
            causes.push(Cause::invalid(format!("{path}.requests"), request, &detail));
        }
    }
}
