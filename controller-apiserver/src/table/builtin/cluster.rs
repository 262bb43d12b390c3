//! Nodes, namespaces, events and the other small kinds.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    AGE, NAME, Printer, Row, column, integer,
    row::{NONE, UNKNOWN, condition},
    text, wide,
};

pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "ConfigMap" => &CONFIG_MAP,
        "Event" => &EVENT,
        "Lease" => &LEASE,
        "Namespace" => &NAMESPACE,
        "Node" => &NODE,
        "PriorityClass" => &PRIORITY_CLASS,
        "ResourceQuota" => &RESOURCE_QUOTA,
        "RuntimeClass" => &RUNTIME_CLASS,
        "Secret" => &SECRET,
        "ServiceAccount" => &SERVICE_ACCOUNT,
        _ => return None,
    })
}

static CONFIG_MAP: Printer = Printer {
    columns: &[NAME, text("Data"), AGE],
    cells: |row| {
        let count = row.count("data") + row.count("binaryData");
        vec![row.name(), json!(count), row.age()]
    },
};

static SECRET: Printer = Printer {
    columns: &[NAME, text("Type"), text("Data"), AGE],
    cells: |row| vec![row.name(), row.text("type"), json!(row.count("data")), row.age()],
};

static SERVICE_ACCOUNT: Printer = Printer {
    columns: &[NAME, text("Secrets"), AGE],
    cells: |row| vec![row.name(), json!(row.count("secrets")), row.age()],
};

static NAMESPACE: Printer = Printer {
    columns: &[NAME, text("Status"), AGE],
    cells: |row| vec![row.name(), row.text("status.phase"), row.age()],
};

static LEASE: Printer = Printer {
    columns: &[NAME, text("Holder"), AGE],
    cells: |row| vec![row.name(), row.text("spec.holderIdentity"), row.age()],
};

static PRIORITY_CLASS: Printer = Printer {
    columns: &[
        NAME,
        integer("Value"),
        column("Global-Default", "boolean", "", 0),
        AGE,
        text("PreemptionPolicy"),
    ],
    cells: |row| {
        let (value, default) = (row.number("value"), row.is("globalDefault"));
        vec![
            row.name(),
            json!(value),
            json!(default),
            row.age(),
            row.text("preemptionPolicy"),
        ]
    },
};

static RUNTIME_CLASS: Printer = Printer {
    columns: &[NAME, text("Handler"), AGE],
    cells: |row| vec![row.name(), row.text("handler"), row.age()],
};

static RESOURCE_QUOTA: Printer = Printer {
    columns: &[NAME, text("Request"), text("Limit"), AGE],
    cells: |row| {
        let (mut requests, mut limits) = (Vec::new(), Vec::new());
        for (resource, hard) in row.at("status.hard").as_object().into_iter().flatten() {
            let used = row.at("status.used")[resource].as_str().unwrap_or("0");
            let text = format!("{resource}: {used}/{}", hard.as_str().unwrap_or_default());
            let side = if resource.starts_with("limits") {
                &mut limits
            } else {
                &mut requests
            };
            side.push(text);
        }
        vec![
            row.name(),
            json!(requests.join(", ")),
            json!(limits.join(", ")),
            row.age(),
        ]
    },
};

static NODE: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Roles"),
        AGE,
        text("Version"),
        wide("Internal-IP"),
        wide("External-IP"),
        wide("OS-Image"),
        wide("Kernel-Version"),
        wide("Container-Runtime"),
    ],
    cells: |row| {
        let mut status = match condition(row.at("status.conditions"), "Ready") {
            "True" => "Ready",
            "" => "Unknown",
            _ => "NotReady",
        }
        .to_owned();
        if row.is("spec.unschedulable") {
            status.push_str(",SchedulingDisabled");
        }
        let info = |field: &str| row.text_or(&format!("status.nodeInfo.{field}"), UNKNOWN);
        vec![
            row.name(),
            json!(status),
            json!(roles(row)),
            row.age(),
            row.text("status.nodeInfo.kubeletVersion"),
            json!(address(row, "InternalIP")),
            json!(address(row, "ExternalIP")),
            info("osImage"),
            info("kernelVersion"),
            info("containerRuntimeVersion"),
        ]
    },
};

fn roles(row: &Row<'_>) -> String {
    let labels = row.at("metadata.labels").as_object().into_iter().flatten();
    let role = |(key, value): (&'_ String, &'_ Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) if !role.is_empty() => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => {
            value.as_str().filter(|role| !role.is_empty()).map(str::to_owned)
        }
        _ => None,
    };
    let roles: BTreeSet<_> = labels.filter_map(role).collect();
    if roles.is_empty() {
        return NONE.to_owned();
    }
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn address<'a>(row: &Row<'a>, kind: &str) -> &'a str {
    let mut addresses = row.list("status.addresses").iter();
    let found = addresses.find(|address| address["type"] == kind);
    found
        .and_then(|address| address["address"].as_str())
        .unwrap_or(NONE)
}

static EVENT: Printer = Printer {
    columns: &[
        text("Last Seen"),
        text("Type"),
        text("Reason"),
        text("Object"),
        wide("Subobject"),
        wide("Source"),
        text("Message"),
        wide("First Seen"),
        wide("Count"),
        column("Name", "string", "name", 1),
    ],
    cells: event,
};

/// The field of an Event under its core name or that of `events.k8s.io`.
fn either<'a>(row: &Row<'a>, core: &str, other: &str) -> &'a Value {
    match row.at(core) {
        Value::Null => row.at(other),
        value => value,
    }
}

fn event(row: &Row<'_>) -> Vec<Value> {
    let str = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let since = |time: &Value| crate::table::age::since(time, row.now);
    let time = row.at("eventTime");
    let first = match either(row, "firstTimestamp", "deprecatedFirstTimestamp") {
        Value::Null => since(time),
        first => since(first),
    };
    let series = row.at("series");
    let mut count = either(row, "count", "deprecatedCount")
        .as_i64()
        .unwrap_or_default();
    let last = if series.is_object() {
        count = series["count"].as_i64().unwrap_or_default();
        since(&series["lastObservedTime"])
    } else {
        match either(row, "lastTimestamp", "deprecatedLastTimestamp") {
            Value::Null => first.clone(),
            last => since(last),
        }
    };
    let object = either(row, "involvedObject", "regarding");
    let kind = str(&object["kind"]).to_lowercase();
    let name = str(&object["name"]);
    let target = if name.is_empty() {
        kind
    } else {
        format!("{kind}/{name}")
    };
    vec![
        last,
        row.text("type"),
        row.text("reason"),
        json!(target),
        json!(str(&object["fieldPath"])),
        json!(source(row)),
        json!(str(either(row, "message", "note")).trim()),
        first,
        json!(count.max(1)),
        row.name(),
    ]
}

/// Which component reported, and from where.
fn source(row: &Row<'_>) -> String {
    let source = either(row, "source", "deprecatedSource");
    let part = |field: &str| source[field].as_str().unwrap_or_default();
    let component = match part("component") {
        "" => either(row, "reportingComponent", "reportingController")
            .as_str()
            .unwrap_or_default(),
        component => component,
    };
    let from = match part("host") {
        "" => row.str("reportingInstance"),
        host => host,
    };
    let given: Vec<_> = [component, from]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    given.join(", ")
}
