//! Addresses of Services, and ports of nodes.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use super::{has_node_ports, needs_health_check, node_port};
use crate::defaults::set;
use crate::status::Cause;

/// The addresses of Services: 10.96.0.0/12, of which the first is the API server's own.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 2);
const LAST: Ipv4Addr = Ipv4Addr::new(10, 111, 255, 254);
const FIRST_NODE_PORT: u16 = 30000;
const LAST_NODE_PORT: u16 = 32767;

/// The addresses and ports that other Services have.
///
/// They need to be known only for a Service that [asks](asks) for some of its own. Other addresses
/// follow the revision of the write, so that two living Services share one only after a million writes.
#[derive(Debug)]
pub(crate) struct Taken {
    start: u64,
    addresses: HashSet<IpAddr>,
    node_ports: HashSet<u64>,
}

/// Whether a Service wants a certain address, or ports of nodes, that another may have.
pub(crate) fn asks(service: &Value, old: Option<&Value>) -> bool {
    let spec = &service["spec"];
    let address = spec["clusterIP"].as_str().unwrap_or_default();
    let kept = old.is_some_and(|old| old["spec"]["clusterIP"] == *address);
    let certain = !matches!(address, "" | "None") && !kept;
    certain || has_node_ports(spec["type"].as_str().unwrap_or_default())
}

impl Taken {
    /// Nothing is taken; addresses are given from the one with this number.
    pub(crate) fn none(start: u64) -> Self {
        Self {
            start,
            addresses: HashSet::new(),
            node_ports: HashSet::new(),
        }
    }

    /// Notes what a Service has.
    pub(crate) fn note(&mut self, service: &Value) {
        let spec = &service["spec"];
        let addresses = spec["clusterIPs"].as_array().into_iter().flatten();
        self.addresses
            .extend(addresses.filter_map(|address| address.as_str()?.parse::<IpAddr>().ok()));
        let ports = spec["ports"].as_array().into_iter().flatten();
        let health = spec["healthCheckNodePort"].as_u64();
        self.node_ports
            .extend(ports.map(node_port).chain(health).filter(|port| *port != 0));
    }

    fn free_address(&self) -> Option<IpAddr> {
        let first = u32::from(FIRST);
        let size = u32::from(LAST) - first + 1;
        let start = u32::try_from(self.start % u64::from(size)).unwrap_or_default();
        (start..size)
            .chain(0..start)
            .map(|offset| IpAddr::from(Ipv4Addr::from(first + offset)))
            .find(|address| !self.addresses.contains(address))
    }

    fn free_node_port(&self) -> Option<u64> {
        (FIRST_NODE_PORT..=LAST_NODE_PORT)
            .map(u64::from)
            .find(|port| !self.node_ports.contains(port))
    }
}

/// Gives a valid Service what it lacks: an address, families of addresses, and ports of nodes.
pub(crate) fn allocate(service: &mut Value, taken: &mut Taken) -> Result<(), Cause> {
    let spec = &mut service["spec"];
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    if kind == "ExternalName" {
        return Ok(());
    }
    match spec["clusterIP"].as_str().unwrap_or_default() {
        "None" => {}
        "" => {
            let address = taken.free_address().ok_or_else(|| {
                let detail = "failed to allocate a serviceIP: range is full";
                Cause::invalid("spec.clusterIPs", &Value::Null, detail)
            })?;
            spec["clusterIP"] = address.to_string().into();
            spec["clusterIPs"] = json!([address.to_string()]);
        }
        text => check_address(text, &spec["clusterIPs"], taken)?,
    }
    families(spec)?;
    if has_node_ports(&kind) && spec["allocateLoadBalancerNodePorts"] != false {
        node_ports(spec, taken)?;
    }
    if needs_health_check(spec) && spec["healthCheckNodePort"].as_u64().unwrap_or_default() == 0 {
        let free = taken.free_node_port().ok_or_else(|| {
            let detail = "failed to allocate requested HealthCheck NodePort: range is full";
            Cause::invalid("spec.healthCheckNodePort", &0.into(), detail)
        })?;
        spec["healthCheckNodePort"] = free.into();
        taken.node_ports.insert(free);
    }
    Ok(())
}

fn check_address(text: &str, list: &Value, taken: &Taken) -> Result<(), Cause> {
    let Ok(address) = text.parse::<IpAddr>() else {
        return Ok(());
    };
    let range = IpAddr::from(Ipv4Addr::new(10, 96, 0, 1))..=IpAddr::from(LAST);
    let why = if taken.addresses.contains(&address) {
        "provided IP is already allocated"
    } else if range.contains(&address) || address.is_ipv6() {
        return Ok(());
    } else {
        "the provided network does not match the current range"
    };
    let detail = format!("failed to allocate IP {text}: {why}");
    Err(Cause::invalid("spec.clusterIPs", list, &detail))
}

/// A cluster of IPv4, where only a Service without selector and address may be of both families.
fn families(spec: &mut Value) -> Result<(), Cause> {
    let open = spec["clusterIP"] == "None" && is_unset_map(&spec["selector"]);
    if open {
        set(spec, "ipFamilyPolicy", "RequireDualStack");
        set(spec, "ipFamilies", json!(["IPv4", "IPv6"]));
        return Ok(());
    }
    for (index, family) in spec["ipFamilies"].as_array().into_iter().flatten().enumerate() {
        if family != "IPv4" {
            let field = format!("spec.ipFamilies[{index}]");
            return Err(Cause::invalid(field, family, "not configured on this cluster"));
        }
    }
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        return Err(Cause::invalid(
            "spec.ipFamilyPolicy",
            &spec["ipFamilyPolicy"],
            detail,
        ));
    }
    set(spec, "ipFamilyPolicy", "SingleStack");
    set(spec, "ipFamilies", json!(["IPv4"]));
    Ok(())
}

fn is_unset_map(value: &Value) -> bool {
    value.as_object().is_none_or(serde_json::Map::is_empty)
}

fn node_ports(spec: &mut Value, taken: &mut Taken) -> Result<(), Cause> {
    let mut own: HashMap<u64, usize> = HashMap::new();
    for (index, port) in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let field = format!("spec.ports[{index}].nodePort");
        let number = node_port(port);
        if number == 0 {
            let free = taken
                .free_node_port()
                .ok_or_else(|| Cause::invalid(field, &0.into(), "range is full"))?;
            port["nodePort"] = free.into();
            taken.node_ports.insert(free);
            own.insert(free, index);
            continue;
        }
        let range = u64::from(FIRST_NODE_PORT)..=u64::from(LAST_NODE_PORT);
        if !range.contains(&number) {
            let detail = "provided port is not in the valid range. The range of valid ports is 30000-32767";
            return Err(Cause::invalid(field, &number.into(), detail));
        }
        // Two protocols of one Service may share a number.
        if !taken.node_ports.insert(number) && !own.contains_key(&number) {
            return Err(Cause::invalid(
                field,
                &number.into(),
                "provided port is already allocated",
            ));
        }
        own.insert(number, index);
    }
    Ok(())
}
