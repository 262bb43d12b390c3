//! Services and how they are reached.

use serde_json::{Value, json};

use super::{
    AGE, NAME, Printer, Row,
    row::{NONE, UNSET, items, joined, labels, selector},
    text, wide,
};

pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "Service" => &SERVICE,
        "Endpoints" => &ENDPOINTS,
        "EndpointSlice" => &ENDPOINT_SLICE,
        "Ingress" => &INGRESS,
        "IngressClass" => &INGRESS_CLASS,
        "NetworkPolicy" => &NETWORK_POLICY,
        "IPAddress" => &IP_ADDRESS,
        "ServiceCIDR" => &SERVICE_CIDR,
        _ => return None,
    })
}

static SERVICE: Printer = Printer {
    columns: &[
        NAME,
        text("Type"),
        text("Cluster-IP"),
        text("External-IP"),
        text("Port(s)"),
        AGE,
        wide("Selector"),
    ],
    cells: |row| {
        let address = row.list("spec.clusterIPs").first().and_then(Value::as_str);
        vec![
            row.name(),
            row.text("spec.type"),
            json!(address.unwrap_or(NONE)),
            json!(external_addresses(row)),
            json!(ports(row)),
            row.age(),
            json!(labels(row.at("spec.selector"))),
        ]
    },
};

fn external_addresses(row: &Row<'_>) -> String {
    let given = || row.list("spec.externalIPs").iter().filter_map(Value::as_str);
    match row.str("spec.type") {
        "ExternalName" => row.str("spec.externalName").to_owned(),
        "LoadBalancer" => {
            let mut all = balancers(row);
            all.extend(given().map(str::to_owned));
            if all.is_empty() {
                "<pending>".to_owned()
            } else {
                all.join(",")
            }
        }
        "ClusterIP" | "NodePort" => joined(given()),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses or host names of load balancers, in order, each once.
fn balancers(row: &Row<'_>) -> Vec<String> {
    let mut all: Vec<String> = row
        .list("status.loadBalancer.ingress")
        .iter()
        .filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str()))
        .map(str::to_owned)
        .collect();
    all.sort();
    all.dedup();
    all
}

fn ports(row: &Row<'_>) -> String {
    let port = |port: &Value| {
        let protocol = port["protocol"].as_str().unwrap_or_default();
        match port["nodePort"].as_i64() {
            Some(node) if node > 0 => format!("{}:{node}/{protocol}", port["port"]),
            _ => format!("{}/{protocol}", port["port"]),
        }
    };
    let ports: Vec<_> = row.list("spec.ports").iter().map(port).collect();
    joined(ports.iter().map(String::as_str))
}

static ENDPOINTS: Printer = Printer {
    columns: &[NAME, text("Endpoints"), AGE],
    cells: |row| vec![row.name(), json!(endpoints(row)), row.age()],
};

fn endpoints(row: &Row<'_>) -> String {
    const SHOWN: usize = 3;
    let mut all = Vec::new();
    for subset in row.list("subsets") {
        let ports = items(&subset["ports"]);
        for address in items(&subset["addresses"]) {
            let ip = address["ip"].as_str().unwrap_or_default();
            let host = if ip.contains(':') {
                format!("[{ip}]")
            } else {
                ip.to_owned()
            };
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
            all.extend(ports.iter().map(|port| format!("{host}:{}", port["port"])));
        }
    }
    match all.len().saturating_sub(SHOWN) {
        0 => joined(all.iter().map(String::as_str)),
        more => format!("{} + {more} more...", all[..SHOWN].join(",")),
    }
}

static ENDPOINT_SLICE: Printer = Printer {
    columns: &[NAME, text("AddressType"), text("Ports"), text("Endpoints"), AGE],
    cells: |row| {
        let ports = row.list("ports").iter().map(|port| match &port["port"] {
            Value::Null => "*".to_owned(),
            number => number.to_string(),
        });
        let ports: Vec<_> = ports.collect();
        let addresses = row
            .list("endpoints")
            .iter()
            .flat_map(|endpoint| items(&endpoint["addresses"]))
            .filter_map(Value::as_str)
            .map(str::to_owned);
        let addresses: Vec<_> = addresses.collect();
        vec![
            row.name(),
            row.text("addressType"),
            json!(some_of(&ports)),
            json!(some_of(&addresses)),
            row.age(),
        ]
    },
};

/// The first three, and how many more there are.
fn some_of(texts: &[String]) -> String {
    const SHOWN: usize = 3;
    match texts.len() {
        0 => UNSET.to_owned(),
        count if count > SHOWN => {
            format!("{} + {} more...", texts[..SHOWN].join(","), count - SHOWN)
        }
        _ => texts.join(","),
    }
}

static INGRESS: Printer = Printer {
    columns: &[
        NAME,
        text("Class"),
        text("Hosts"),
        text("Address"),
        text("Ports"),
        AGE,
    ],
    cells: |row| {
        let hosts: Vec<_> = row
            .list("spec.rules")
            .iter()
            .filter_map(|rule| rule["host"].as_str())
            .filter(|host| !host.is_empty())
            .map(str::to_owned)
            .collect();
        let hosts = if hosts.is_empty() {
            "*".to_owned()
        } else {
            some_of(&hosts)
        };
        let ports = if row.count("spec.tls") > 0 {
            "80, 443"
        } else {
            "80"
        };
        vec![
            row.name(),
            row.text_or("spec.ingressClassName", NONE),
            json!(hosts),
            json!(balancers(row).join(",")),
            json!(ports),
            row.age(),
        ]
    },
};

static INGRESS_CLASS: Printer = Printer {
    columns: &[NAME, text("Controller"), text("Parameters"), AGE],
    cells: |row| {
        let parameters = row.at("spec.parameters");
        let part = |field: &str| parameters[field].as_str().unwrap_or_default();
        let parameters = match (parameters, part("apiGroup")) {
            (Value::Null, _) => NONE.to_owned(),
            (_, "") => format!("{}/{}", part("kind"), part("name")),
            (_, group) => format!("{}.{group}/{}", part("kind"), part("name")),
        };
        vec![
            row.name(),
            row.text("spec.controller"),
            json!(parameters),
            row.age(),
        ]
    },
};

static NETWORK_POLICY: Printer = Printer {
    columns: &[NAME, text("Pod-Selector"), AGE],
    cells: |row| vec![row.name(), json!(selector(row.at("spec.podSelector"))), row.age()],
};

static IP_ADDRESS: Printer = Printer {
    columns: &[NAME, text("ParentRef"), AGE],
    cells: |row| {
        let parts = ["resource", "namespace", "name"].map(|part| row.str(&format!("spec.parentRef.{part}")));
        let given: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        vec![row.name(), json!(given.join("/")), row.age()]
    },
};

static SERVICE_CIDR: Printer = Printer {
    columns: &[NAME, text("CIDRs"), AGE],
    cells: |row| {
        let ranges: Vec<_> = row.list("spec.cidrs").iter().filter_map(Value::as_str).collect();
        vec![row.name(), json!(ranges.join(",")), row.age()]
    },
};
