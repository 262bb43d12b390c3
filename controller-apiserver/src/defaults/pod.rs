//! Pods and pod templates.

use serde_json::{Map, Value, json};

use super::{at, each, missing, object, present, set, set_all};
use crate::codec::scalars;

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// A Pod, which has more defaults than what is only a template of one.
pub(super) fn pod(pod: &mut Value) {
    let Some(spec) = object(pod, "spec") else {
        return;
    };
    set(spec, "enableServiceLinks", true);
    self::spec(spec);
    for field in ["initContainers", "containers"] {
        each(spec, field).for_each(requests);
    }
}

pub(super) fn template(template: &mut Value) {
    if let Some(spec) = present(template, "spec") {
        self::spec(spec);
    }
}

/// What is limited and not requested is requested as it is limited.
fn requests(container: &mut Value) {
    let Some(limits) = at(container, &["resources", "limits"]).map(|limits| limits.clone()) else {
        return;
    };
    if limits.as_object().is_some_and(|limits| !limits.is_empty())
        && let Some(requests) = object(&mut container["resources"], "requests")
    {
        set_all(requests, limits);
    }
}

fn spec(spec: &mut Value) {
    set_all(
        spec,
        json!({
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        }),
    );
    // The account has an old name besides, which is kept alike.
    for (from, to) in [
        ("serviceAccountName", "serviceAccount"),
        ("serviceAccount", "serviceAccountName"),
    ] {
        if !missing(spec, from) {
            spec[to] = spec[from].clone();
        }
    }
    let host = spec["hostNetwork"] == true;
    for field in CONTAINERS {
        each(spec, field).for_each(|one| container(one, host));
    }
    each(spec, "volumes").for_each(volume);
}

fn container(container: &mut Value, host_network: bool) {
    let image = container["image"].as_str().unwrap_or_default();
    let policy = if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    };
    set_all(
        container,
        json!({
            "imagePullPolicy": policy,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }),
    );
    for list in ["limits", "requests"] {
        if let Some(amounts) = at(container, &["resources", list]) {
            round(amounts);
        }
    }
    for port in each(container, "ports") {
        set(port, "protocol", "TCP");
        if host_network && port["hostPort"].as_i64().unwrap_or_default() == 0 {
            port["hostPort"] = port["containerPort"].clone();
        }
    }
    for variable in each(container, "env") {
        if let Some(field) = at(variable, &["valueFrom", "fieldRef"]) {
            set(field, "apiVersion", "v1");
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = present(container, probe) {
            self::probe(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(http) = at(container, &["lifecycle", hook, "httpGet"]) {
            http_get(http);
        }
    }
}

/// Amounts are rounded up to thousandths.
fn round(amounts: &mut Value) {
    for amount in amounts.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(rounded) = amount.as_str().and_then(scalars::milli) {
            *amount = rounded.into();
        }
    }
}

/// An image without a tag is the latest; one with a digest never is.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn probe(probe: &mut Value) {
    // A number of 0 is none.
    for (field, value) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        if probe[field].as_i64().unwrap_or_default() == 0 {
            probe[field] = value.into();
        }
    }
    if let Some(http) = present(probe, "httpGet") {
        http_get(http);
    }
    if let Some(grpc) = present(probe, "grpc") {
        set(grpc, "service", "");
    }
}

fn http_get(http: &mut Value) {
    set_all(http, json!({"path": "/", "scheme": "HTTP"}));
}

/// 0644.
const FILE_MODE: i64 = 420;

fn volume(volume: &mut Value) {
    let sources = volume.as_object().map_or(0, |members| {
        members
            .iter()
            .filter(|(field, value)| *field != "name" && !value.is_null())
            .count()
    });
    if sources == 0 {
        set(volume, "emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = present(volume, source) {
            set(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(path) = present(volume, "hostPath") {
        set(path, "type", "");
    }
    if let Some(files) = present(volume, "downwardAPI") {
        downward(files);
    }
    if let Some(projected) = present(volume, "projected") {
        for source in each(projected, "sources") {
            if let Some(token) = present(source, "serviceAccountToken") {
                set(token, "expirationSeconds", 3600);
            }
            if let Some(files) = present(source, "downwardAPI") {
                downward(files);
            }
        }
    }
    if let Some(claim) = at(volume, &["ephemeral", "volumeClaimTemplate", "spec"]) {
        set(claim, "volumeMode", "Filesystem");
    }
}

fn downward(files: &mut Value) {
    for item in each(files, "items") {
        if let Some(field) = present(item, "fieldRef") {
            set(field, "apiVersion", "v1");
        }
    }
}
