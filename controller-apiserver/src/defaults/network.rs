//! Services and what belongs to them.

use serde_json::{Value, json};

use super::{at, each, missing, object, present, set};

pub(super) fn apply(kind: &str, value: &mut Value) {
    match kind {
        "Service" => service(value),
        "Endpoints" => {
            for subset in each(value, "subsets") {
                each(subset, "ports").for_each(protocol);
            }
        }
        "EndpointSlice" => {
            for port in each(value, "ports") {
                set(port, "name", "");
                protocol(port);
            }
        }
        "IngressClass" => {
            if let Some(parameters) = at(value, &["spec", "parameters"]) {
                set(parameters, "scope", "Cluster");
            }
        }
        "NetworkPolicy" => network_policy(value),
        _ => {}
    }
}

fn protocol(port: &mut Value) {
    set(port, "protocol", "TCP");
}

fn service(service: &mut Value) {
    let Some(spec) = object(service, "spec") else {
        return;
    };
    set(spec, "sessionAffinity", "None");
    set(spec, "type", "ClusterIP");
    match spec["sessionAffinity"].as_str() {
        Some("ClientIP") => {
            let config = object(spec, "sessionAffinityConfig").and_then(|config| object(config, "clientIP"));
            if let Some(config) = config {
                set(config, "timeoutSeconds", 10_800);
            }
        }
        _ => {
            if let Some(spec) = spec.as_object_mut() {
                spec.remove("sessionAffinityConfig");
            }
        }
    }
    for port in each(spec, "ports") {
        protocol(port);
        if missing(port, "targetPort") || port["targetPort"] == 0 {
            port["targetPort"] = port["port"].clone();
        }
    }
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    let outside = spec["externalIPs"]
        .as_array()
        .is_some_and(|addresses| !addresses.is_empty());
    if matches!(&*kind, "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && outside) {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        set(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set(spec, "allocateLoadBalancerNodePorts", true);
        if let Some(balancer) = at(service, &["status", "loadBalancer"]) {
            for ingress in each(balancer, "ingress") {
                if !missing(ingress, "ip") {
                    set(ingress, "ipMode", "VIP");
                }
            }
        }
    }
}

fn network_policy(policy: &mut Value) {
    let Some(spec) = present(policy, "spec") else {
        return;
    };
    for rules in ["ingress", "egress"] {
        for rule in each(spec, rules) {
            each(rule, "ports").for_each(protocol);
        }
    }
    if spec["policyTypes"].as_array().is_none_or(Vec::is_empty) {
        let outward = spec["egress"].as_array().is_some_and(|rules| !rules.is_empty());
        spec["policyTypes"] = if outward {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
    }
}
