//! What of a Service is refused.

use std::collections::HashSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::{has_node_ports, is_reached_from_outside, is_unset, needs_health_check, node_port};
use crate::builtin::spec::{choices, duplicate, label_map, port_number};
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
    validate_ports(ports, kind, causes);
    label_map(&spec["selector"], "spec.selector", causes);
    external_ips(&spec["externalIPs"], causes);
    from_outside(spec, causes);
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

/// The addresses of a Service that somebody else routes to it.
fn external_ips(list: &Value, causes: &mut Vec<Cause>) {
    for (index, address) in list.as_array().into_iter().flatten().enumerate() {
        let field = format!("spec.externalIPs[{index}]");
        let problem = match address.as_str().unwrap_or_default().parse::<IpAddr>() {
            Err(_) => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            Ok(ip) if ip.is_unspecified() => "may not be unspecified (0.0.0.0 or ::)",
            Ok(ip) if ip.is_loopback() => "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            Ok(IpAddr::V4(ip)) if ip.is_link_local() => {
                "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
            }
            Ok(IpAddr::V4(ip)) if ip.octets()[..3] == [224, 0, 0] => {
                "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
            }
            Ok(_) => continue,
        };
        causes.push(Cause::invalid(field, address, problem));
    }
}

/// What only Services have that are reached from outside the cluster.
fn from_outside(spec: &Value, causes: &mut Vec<Cause>) {
    let policy = &spec["externalTrafficPolicy"];
    if !is_reached_from_outside(spec) && !is_unset(policy) {
        let detail = "may only be set for externally-accessible services";
        causes.push(Cause::invalid("spec.externalTrafficPolicy", policy, detail));
    }
    let port = &spec["healthCheckNodePort"];
    if !needs_health_check(spec) && port.as_u64().unwrap_or_default() != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.push(Cause::invalid("spec.healthCheckNodePort", port, detail));
    }
}

/// What is wrong with the status of a Service.
pub(in crate::builtin) fn validate_status(object: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "status.loadBalancer.ingress";
    let list = &object["status"]["loadBalancer"]["ingress"];
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    if !list.is_empty() && object["spec"]["type"] != "LoadBalancer" {
        let detail = "may only be used when `spec.type` is \"LoadBalancer\"";
        causes.push(Cause::forbidden(FIELD, detail));
    }
    for (index, ingress) in list.iter().enumerate() {
        let ip = &ingress["ip"];
        if !is_unset(ip) && ip.as_str().is_none_or(|text| text.parse::<IpAddr>().is_err()) {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            causes.push(Cause::invalid(format!("{FIELD}[{index}].ip"), ip, detail));
        }
        let host = &ingress["hostname"];
        let name = host.as_str().unwrap_or_default();
        let mut problems = if name.is_empty() {
            Vec::new()
        } else {
            names::subdomain(name)
        };
        if name.parse::<IpAddr>().is_ok() {
            problems.push("must be a DNS name, not an IP address".to_owned());
        }
        for problem in problems {
            causes.push(Cause::invalid(
                format!("{FIELD}[{index}].hostname"),
                host,
                &problem,
            ));
        }
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

fn validate_ports(ports: &[Value], kind: &str, causes: &mut Vec<Cause>) {
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
        if kind == "ClusterIP" && node_port(port) != 0 {
            let detail = "may not be used when `type` is 'ClusterIP'";
            causes.push(Cause::forbidden(format!("{path}.nodePort"), detail));
        }
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
