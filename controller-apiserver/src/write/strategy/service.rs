//! Services: their addresses, and what is wrong with them.
//!
//! The cluster is of one address family, IPv4. Addresses come from 10.96.0.0/12 and follow the
//! revision of the write, so that two living Services share one only after a million writes.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Map, Value, json};

use crate::registry::names;
use crate::state::State;
use crate::status::Cause;

const RANGE: u32 = u32::from_be_bytes([10, 96, 0, 0]);
const RANGE_BITS: u32 = 20;
const NODE_PORTS: std::ops::Range<u64> = 30_000..32_768;

fn has_addresses(service: &Value) -> bool {
    service["spec"]["type"] != "ExternalName"
}

fn is_headless(service: &Value) -> bool {
    service["spec"]["clusterIP"] == "None"
}

fn has_node_ports(service: &Value) -> bool {
    let spec = &service["spec"];
    match spec["type"].as_str() {
        Some("NodePort") => true,
        Some("LoadBalancer") => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// The list of addresses and its first, of which either may be given, are one.
fn same_addresses(service: &mut Value) {
    let spec = &mut service["spec"];
    let one = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    if !one.is_empty() && spec["clusterIPs"].as_array().is_none_or(Vec::is_empty) {
        spec["clusterIPs"] = json!([one]);
    }
}

pub(super) fn prepare_create(service: &mut Value, state: &State) {
    service["status"] = json!({"loadBalancer": {}});
    same_addresses(service);
    allocate(service, state.store.revision() + 1);
}

/// What was allocated stays, unless the new object asks for another.
pub(super) fn prepare_update(old: &Value, new: &mut Value, revision: u64) {
    if has_addresses(old) && has_addresses(new) {
        let given = |field: &str, object: &Value| match &object["spec"][field] {
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => false,
        };
        if !given("clusterIP", new) && !given("clusterIPs", new) {
            for field in ["clusterIP", "clusterIPs"] {
                crate::object::carry(&old["spec"], &mut new["spec"], field);
            }
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if !given(field, new) {
                crate::object::carry(&old["spec"], &mut new["spec"], field);
            }
        }
    }
    if has_node_ports(old) && has_node_ports(new) {
        keep_node_ports(old, new);
    }
    same_addresses(new);
    allocate(new, revision + 1);
}

fn keep_node_ports(old: &Value, new: &mut Value) {
    let before = old["spec"]["ports"].as_array().cloned().unwrap_or_default();
    for port in new["spec"]["ports"].as_array_mut().into_iter().flatten() {
        let same = |old: &&Value| old["port"] == port["port"] && old["protocol"] == port["protocol"];
        if port["nodePort"].as_u64().unwrap_or_default() == 0
            && let Some(old) = before.iter().find(same)
        {
            crate::object::carry(old, port, "nodePort");
        }
    }
}

fn allocate(service: &mut Value, seed: u64) {
    if !has_addresses(service) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if let Some(spec) = service["spec"].as_object_mut() {
                spec.remove(field);
            }
        }
        return;
    }
    let two_families =
        is_headless(service) && service["spec"]["selector"].as_object().is_none_or(Map::is_empty);
    let ports = has_node_ports(service);
    let spec = &mut service["spec"];
    if spec["clusterIP"].as_str().is_none_or(str::is_empty) {
        let first = spec["clusterIPs"][0].as_str().map(str::to_owned);
        let address = first.unwrap_or_else(|| address(seed));
        spec["clusterIP"] = address.clone().into();
        spec["clusterIPs"] = json!([address]);
    }
    let (families, policy) = if two_families {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!(["IPv4"]), "SingleStack")
    };
    if spec["ipFamilies"].as_array().is_none_or(Vec::is_empty) {
        spec["ipFamilies"] = families;
    }
    if spec["ipFamilyPolicy"].as_str().is_none_or(str::is_empty) {
        spec["ipFamilyPolicy"] = policy.into();
    }
    if ports {
        let ports = spec["ports"].as_array_mut().into_iter().flatten();
        for (number, port) in (seed..).zip(ports) {
            if port["nodePort"].as_u64().unwrap_or_default() == 0 {
                port["nodePort"] = (NODE_PORTS.start + number % (NODE_PORTS.end - NODE_PORTS.start)).into();
            }
        }
    }
}

fn address(seed: u64) -> String {
    // 0 and 1 of the range are the network's and the API server's.
    let size = (1u64 << RANGE_BITS) - 2;
    let offset = u32::try_from(seed % size).unwrap_or_default();
    Ipv4Addr::from(RANGE + 2 + offset).to_string()
}

fn in_range(address: &str) -> bool {
    matches!(address.parse(), Ok(IpAddr::V4(address)) if u32::from(address) >> RANGE_BITS == RANGE >> RANGE_BITS)
}

/// What is wrong with a Service.
pub(super) fn validate(new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = &new["spec"];
    ports(new, &mut causes);
    let kind = spec["type"].as_str().unwrap_or_default();
    if !matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName") {
        let known = r#""ClusterIP", "ExternalName", "LoadBalancer", "NodePort""#;
        causes.push(Cause::not_supported("spec.type", &spec["type"], known));
    }
    if !matches!(spec["sessionAffinity"].as_str(), Some("None" | "ClientIP")) {
        let known = r#""ClientIP", "None""#;
        causes.push(Cause::not_supported(
            "spec.sessionAffinity",
            &spec["sessionAffinity"],
            known,
        ));
    }
    if kind == "ExternalName" && spec["externalName"].as_str().is_none_or(str::is_empty) {
        causes.push(Cause::required("spec.externalName", ""));
    }
    addresses(new, old, &mut causes);
    causes
}

fn addresses(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    const BAD: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    let given = &new["spec"]["clusterIPs"];
    let Some(first) = given[0].as_str().filter(|first| *first != "None") else {
        return;
    };
    if first.parse::<IpAddr>().is_err() {
        causes.push(Cause::invalid("spec.clusterIPs[0]", &first.into(), BAD));
        return;
    }
    let before = old
        .map(|old| &old["spec"]["clusterIPs"])
        .filter(|before| before[0].is_string());
    if let Some(before) = before {
        if before[0] != *first && has_addresses(new) {
            causes.push(Cause::invalid(
                "spec.clusterIPs[0]",
                given,
                "may not change once set",
            ));
        }
    } else if causes.is_empty() && !in_range(first) {
        let why =
            format!("failed to allocate IP {first}: the provided network does not match the current range");
        causes.push(Cause::invalid("spec.clusterIPs", given, &why));
    }
}

fn ports(service: &Value, causes: &mut Vec<Cause>) {
    const NUMBER: &str = "must be between 1 and 65535, inclusive";
    let ports = service["spec"]["ports"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if ports.is_empty() && !is_headless(service) && has_addresses(service) {
        causes.push(Cause::required("spec.ports", ""));
    }
    let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in ports.iter().enumerate() {
        let field = |name: &str| format!("spec.ports[{index}].{name}");
        let name = port["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            if ports.len() > 1 {
                causes.push(Cause::required(field("name"), ""));
            }
        } else {
            for problem in names::label(name) {
                causes.push(Cause::invalid(field("name"), &name.into(), &problem));
            }
            if !names.insert(name) {
                causes.push(duplicate(field("name"), &format!("{name:?}")));
            }
        }
        let usable = |number: &Value| {
            number
                .as_i64()
                .is_some_and(|number| (1..=65_535).contains(&number))
        };
        if !usable(&port["port"]) {
            causes.push(Cause::invalid(field("port"), &port["port"], NUMBER));
        }
        let protocol = port["protocol"].as_str().unwrap_or_default();
        if !matches!(protocol, "TCP" | "UDP" | "SCTP") {
            let known = r#""SCTP", "TCP", "UDP""#;
            causes.push(Cause::not_supported(field("protocol"), &port["protocol"], known));
        }
        if port["targetPort"].is_number() && !usable(&port["targetPort"]) {
            causes.push(Cause::invalid(field("targetPort"), &port["targetPort"], NUMBER));
        }
        if !numbers.insert((port["port"].as_i64(), protocol)) {
            let double = format!(
                r#"{{"Name":"","Protocol":{protocol:?},"AppProtocol":null,"Port":{},"TargetPort":0,"NodePort":0}}"#,
                port["port"]
            );
            causes.push(duplicate(format!("spec.ports[{index}]"), &double));
        }
    }
}

fn duplicate(field: String, value: &str) -> Cause {
    Cause::new("FieldValueDuplicate", field, format!("Duplicate value: {value}"))
}
