//! Services: ports and addresses.
//!
//! Source: API reference, `ServiceSpec`; documentation, "Service", "Service `ClusterIP` allocation".

mod allocate;
mod validate;

use serde_json::{Value, json};

pub(crate) use allocate::{Taken, allocate, asks};
pub(super) use validate::{validate, validate_status};

fn has_node_ports(kind: &str) -> bool {
    matches!(kind, "NodePort" | "LoadBalancer")
}

/// Whether something outside the cluster reaches a Service.
fn is_reached_from_outside(spec: &Value) -> bool {
    match spec["type"].as_str().unwrap_or_default() {
        "ClusterIP" => !is_unset(&spec["externalIPs"]),
        kind => has_node_ports(kind),
    }
}

/// Whether a balancer asks each node if it has an endpoint of the Service.
fn needs_health_check(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

/// Makes the two fields for addresses agree: a client may set only the older one.
pub(crate) fn agree(service: &mut Value) {
    let spec = &mut service["spec"];
    let address = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    let listed = spec["clusterIPs"].as_array().is_some_and(|list| !list.is_empty());
    match (address.is_empty(), listed) {
        (false, false) => spec["clusterIPs"] = json!([address]),
        (true, true) => spec["clusterIP"] = spec["clusterIPs"][0].clone(),
        _ => {}
    }
}

/// A change that says nothing of addresses and ports of nodes keeps them.
pub(crate) fn keep(old: &Value, new: &mut Value) {
    follow(&old["spec"], &mut new["spec"]);
    agree(new);
    let kind = new["spec"]["type"].as_str().unwrap_or_default().to_owned();
    let same_kind = old["spec"]["type"] == *kind;
    let (spec, before) = (&mut new["spec"], &old["spec"]);
    if !spec.is_object() {
        return;
    }
    keep_health_check(spec, before);
    if !has_node_ports(&kind) && !same_kind {
        drop_node_ports(spec);
    }
    if kind == "ExternalName" {
        if !same_kind && spec["clusterIP"] == before["clusterIP"] {
            release(spec);
        }
        return;
    }
    if before["type"] != "ExternalName" {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if is_unset(&spec[field]) && !before[field].is_null() {
                spec[field] = before[field].clone();
            }
        }
    }
    if has_node_ports(&kind) {
        keep_node_ports(spec, before);
    }
}

/// What only a Service with ports of nodes has.
fn drop_node_ports(spec: &mut Value) {
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port.remove("nodePort");
    }
    if let Some(map) = spec.as_object_mut() {
        map.remove("externalTrafficPolicy");
        map.remove("allocateLoadBalancerNodePorts");
    }
}

/// A client that knows only `clusterIP` and changes it means `clusterIPs` as well.
fn follow(before: &Value, spec: &mut Value) {
    let changed = spec["clusterIP"] != before["clusterIP"];
    if !spec.is_object() || !changed || spec["clusterIPs"] != before["clusterIPs"] {
        return;
    }
    spec["clusterIPs"] = if is_unset(&spec["clusterIP"]) {
        Value::Null
    } else {
        json!([spec["clusterIP"]])
    };
}

/// The port that a balancer asks stays as long as one asks.
fn keep_health_check(spec: &mut Value, before: &Value) {
    const FIELD: &str = "healthCheckNodePort";
    let port = before[FIELD].as_u64().unwrap_or_default();
    let given = spec[FIELD].as_u64().unwrap_or_default();
    if port == 0 {
        return;
    }
    if needs_health_check(spec) {
        if given == 0 {
            spec[FIELD] = port.into();
        }
    } else if given == port
        && let Some(map) = spec.as_object_mut()
    {
        map.remove(FIELD);
    }
}

fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn release(spec: &mut Value) {
    if let Some(map) = spec.as_object_mut() {
        for field in [
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "internalTrafficPolicy",
        ] {
            map.remove(field);
        }
    }
}

fn keep_node_ports(spec: &mut Value, before: &Value) {
    let key = |port: &Value| (port["protocol"].clone(), port["port"].clone());
    let known = before["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let former = known.iter().find(|former| key(former) == key(port));
        if let Some(former) = former
            && node_port(port) == 0
            && node_port(former) != 0
        {
            port["nodePort"] = former["nodePort"].clone();
        }
    }
}

fn node_port(port: &Value) -> u64 {
    port["nodePort"].as_u64().unwrap_or_default()
}
