//! What of a Service is refused.

use std::collections::HashSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::{has_node_ports, is_unset};
use crate::builtin::spec::{choices, duplicate, port_number};
use crate::registry::names;
use crate::status::Cause;

/// What is wrong with a Service.
pub(in crate::builtin) fn validate(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    let kind = spec["type"].as_str().unwrap_or_default();
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let headless = spec["clusterIP"] == "None";
    if ports.is_empty() && !headless && kind != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    if headless && has_node_ports(kind) {
        let detail = format!("may not be set to 'None' for {kind} services");
        causes.push(Cause::invalid(
            "spec.clusterIPs[0]",
            &spec["clusterIPs"][0],
            &detail,
        ));
    }
    if kind == "ExternalName" {
        external_name(spec, causes);
    }
    validate_ports(ports, causes);
    let known: [(&str, &[&str]); 4] = [
        ("sessionAffinity", &["ClientIP", "None"]),
        ("type", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
        ("internalTrafficPolicy", &["Cluster", "Local"]),
        ("externalTrafficPolicy", &["Cluster", "Local"]),
    ];
    choices(spec, &known, "spec", causes);
    addresses(spec, old, causes);
}

fn external_name(spec: &Value, causes: &mut Vec<Cause>) {
    if !is_unset(&spec["clusterIP"]) {
        let detail = "may not be set for ExternalName services";
        causes.push(Cause::forbidden("spec.clusterIPs", detail));
    }
    let name = spec["externalName"].as_str().unwrap_or_default();
    let host = name.strip_suffix('.').unwrap_or(name);
    if host.is_empty() {
        causes.push(Cause::required("spec.externalName", ""));
        return;
    }
    for problem in names::subdomain(host) {
        causes.push(Cause::invalid(
            "spec.externalName",
            &spec["externalName"],
            &problem,
        ));
    }
}

fn addresses(spec: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let list = &spec["clusterIPs"];
    for (index, address) in list.as_array().into_iter().flatten().enumerate() {
        let text = address.as_str().unwrap_or_default();
        let headless = index == 0 && text == "None";
        if !headless && text.parse::<IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            causes.push(Cause::invalid(
                format!("spec.clusterIPs[{index}]"),
                address,
                detail,
            ));
        }
    }
    if !is_unset(&spec["clusterIP"]) && spec["clusterIP"] != list[0] {
        let detail = "must match `clusterIP`";
        causes.push(Cause::invalid("spec.clusterIPs[0]", list, detail));
    }
    let Some(old) = old else { return };
    let before = &old["spec"]["clusterIPs"];
    let fixed = !is_unset(before) && spec["type"] != "ExternalName" && old["spec"]["type"] != "ExternalName";
    if fixed && list[0] != before[0] {
        causes.push(Cause::invalid(
            "spec.clusterIPs[0]",
            list,
            "may not change once set",
        ));
    }
}

fn validate_ports(ports: &[Value], causes: &mut Vec<Cause>) {
    let mut names = HashSet::new();
    let mut numbers = HashSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        let name = port["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            if ports.len() > 1 {
                causes.push(Cause::required(format!("{path}.name"), ""));
            }
        } else {
            for problem in names::label(name) {
                causes.push(Cause::invalid(format!("{path}.name"), &port["name"], &problem));
            }
            if !names.insert(name) {
                causes.push(duplicate(&format!("{path}.name"), &port["name"]));
            }
        }
        port_number(
            port["port"].as_i64().unwrap_or_default(),
            &format!("{path}.port"),
            causes,
        );
        choices(port, &[("protocol", &["SCTP", "TCP", "UDP"])], &path, causes);
        target(&port["targetPort"], &format!("{path}.targetPort"), causes);
    }
    for (index, port) in ports.iter().enumerate() {
        let key = (
            port["protocol"].as_str().unwrap_or_default(),
            port["port"].as_i64(),
        );
        if !numbers.insert(key) {
            let value = json!({"port": port["port"], "protocol": port["protocol"]});
            causes.push(duplicate(&format!("spec.ports[{index}]"), &value));
        }
    }
}

/// A number, or the name of a port: at most 15 of a-z, 0-9 and single inner `-`, one of them a letter.
fn target(value: &Value, field: &str, causes: &mut Vec<Cause>) {
    if let Some(number) = value.as_i64() {
        port_number(number, field, causes);
    } else if let Some(name) = value.as_str() {
        let known = name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let problem = if name.len() > 15 {
            "must be no more than 15 characters"
        } else if !known {
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
        } else if !name.bytes().any(|b| b.is_ascii_lowercase()) {
            "must contain at least one letter (a-z)"
        } else if name.contains("--") {
            "must not contain consecutive hyphens"
        } else if name.starts_with('-') || name.ends_with('-') {
            "must not begin or end with a hyphen"
        } else {
            return;
        };
        causes.push(Cause::invalid(field, value, problem));
    }
}
