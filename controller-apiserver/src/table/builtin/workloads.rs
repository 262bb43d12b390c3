//! Deployments and what else keeps Pods running, and what scales or protects them.

use serde_json::{Value, json};

use super::{
    AGE, NAME, Printer, Row, integer,
    row::{NONE, UNKNOWN, UNSET, int_or_string, labels, selector},
    text, wide,
};

/// The printer of a kind of `apps`, `autoscaling` or `policy`, or of the core's old relatives.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "Deployment" => &DEPLOYMENT,
        "ReplicaSet" => &REPLICA_SET,
        "ReplicationController" => &REPLICATION_CONTROLLER,
        "DaemonSet" => &DAEMON_SET,
        "StatefulSet" => &STATEFUL_SET,
        "ControllerRevision" => &CONTROLLER_REVISION,
        "PodTemplate" => &POD_TEMPLATE,
        "HorizontalPodAutoscaler" => &AUTOSCALER,
        "Scale" => &SCALE,
        "PodDisruptionBudget" => &DISRUPTION_BUDGET,
        _ => return None,
    })
}

const CONTAINERS: &str = "spec.template.spec.containers";

static DEPLOYMENT: Printer = Printer {
    columns: &[
        NAME,
        text("Ready"),
        text("Up-to-date"),
        text("Available"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells: |row| {
        let [names, images] = row.containers(CONTAINERS);
        let ready = format!(
            "{}/{}",
            row.number("status.readyReplicas"),
            row.number("spec.replicas")
        );
        let (updated, available) = (
            row.number("status.updatedReplicas"),
            row.number("status.availableReplicas"),
        );
        let selector = selector(row.at("spec.selector"));
        vec![
            row.name(),
            json!(ready),
            json!(updated),
            json!(available),
            row.age(),
            names,
            images,
            json!(selector),
        ]
    },
};

const REPLICATED: &[super::Column] = &[
    NAME,
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

fn replicated(row: &Row<'_>, selector: &str) -> Vec<Value> {
    let [names, images] = row.containers(CONTAINERS);
    let numbers = ["spec.replicas", "status.replicas", "status.readyReplicas"];
    let [desired, current, ready] = numbers.map(|path| json!(row.number(path)));
    vec![
        row.name(),
        desired,
        current,
        ready,
        row.age(),
        names,
        images,
        json!(selector),
    ]
}

static REPLICA_SET: Printer = Printer {
    columns: REPLICATED,
    cells: |row| replicated(row, &selector(row.at("spec.selector"))),
};

static REPLICATION_CONTROLLER: Printer = Printer {
    columns: REPLICATED,
    cells: |row| replicated(row, &labels(row.at("spec.selector"))),
};

static DAEMON_SET: Printer = Printer {
    columns: &[
        NAME,
        integer("Desired"),
        integer("Current"),
        integer("Ready"),
        integer("Up-to-date"),
        integer("Available"),
        text("Node Selector"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells: |row| {
        let numbers = [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        ];
        let mut cells = vec![row.name()];
        cells.extend(numbers.map(|field| json!(row.number(&format!("status.{field}")))));
        cells.extend([
            json!(labels(row.at("spec.template.spec.nodeSelector"))),
            row.age(),
        ]);
        cells.extend(row.containers(CONTAINERS));
        cells.push(json!(selector(row.at("spec.selector"))));
        cells
    },
};

static STATEFUL_SET: Printer = Printer {
    columns: &[NAME, text("Ready"), AGE, wide("Containers"), wide("Images")],
    cells: |row| {
        let ready = format!(
            "{}/{}",
            row.number("status.readyReplicas"),
            row.number("spec.replicas")
        );
        let [names, images] = row.containers(CONTAINERS);
        vec![row.name(), json!(ready), row.age(), names, images]
    },
};

static CONTROLLER_REVISION: Printer = Printer {
    columns: &[NAME, text("Controller"), text("Revision"), AGE],
    cells: |row| {
        let owners = row.list("metadata.ownerReferences");
        let controller = owners
            .iter()
            .find(|owner| owner["controller"] == true)
            .map_or_else(
                || NONE.to_owned(),
                |owner| {
                    let part = |field: &str| owner[field].as_str().unwrap_or_default();
                    let kind = part("kind").to_lowercase();
                    match part("apiVersion").split_once('/') {
                        Some((group, _)) => format!("{kind}.{group}/{}", part("name")),
                        None => format!("{kind}/{}", part("name")),
                    }
                },
            );
        vec![
            row.name(),
            json!(controller),
            json!(row.number("revision")),
            row.age(),
        ]
    },
};

static POD_TEMPLATE: Printer = Printer {
    columns: &[NAME, text("Containers"), text("Images"), text("Pod Labels")],
    cells: |row| {
        let [names, images] = row.containers("template.spec.containers");
        vec![
            row.name(),
            names,
            images,
            json!(labels(row.at("template.metadata.labels"))),
        ]
    },
};

static AUTOSCALER: Printer = Printer {
    columns: &[
        NAME,
        text("Reference"),
        text("Targets"),
        text("MinPods"),
        text("MaxPods"),
        text("Replicas"),
        AGE,
    ],
    cells: |row| {
        let reference = format!(
            "{}/{}",
            row.str("spec.scaleTargetRef.kind"),
            row.str("spec.scaleTargetRef.name")
        );
        let min = match row.at("spec.minReplicas") {
            Value::Null => UNSET.to_owned(),
            number => number.to_string(),
        };
        vec![
            row.name(),
            json!(reference),
            json!(targets(row)),
            json!(min),
            json!(row.number("spec.maxReplicas")),
            json!(row.number("status.currentReplicas")),
            row.age(),
        ]
    },
};

/// The metrics of an autoscaler, each as `current/target`; two of them at most.
fn targets(row: &Row<'_>) -> String {
    const SHOWN: usize = 2;
    let metrics = row.list("spec.metrics");
    if metrics.is_empty() {
        return NONE.to_owned();
    }
    let current = row.list("status.currentMetrics");
    let metric = |(index, metric): (usize, &Value)| {
        let kind = metric["type"].as_str().unwrap_or_default();
        let field = match kind {
            "ContainerResource" => "containerResource".to_owned(),
            _ => kind.to_lowercase(),
        };
        let present = current
            .get(index)
            .map_or(&Value::Null, |now| &now[field.as_str()]["current"]);
        let target = &metric[field.as_str()]["target"];
        let amount =
            |value: &Value, average: bool| match (&value["averageUtilization"], &value["averageValue"]) {
                (Value::Number(percent), _) if average => format!("{percent}%"),
                (_, Value::String(text)) => text.clone(),
                _ => value["value"].as_str().unwrap_or(UNKNOWN).to_owned(),
            };
        let percent = target["averageUtilization"].is_number();
        let text = format!("{}/{}", amount(present, percent), amount(target, percent));
        let average = kind == "External" && target["averageValue"].is_string();
        let text = if average { format!("{text} (avg)") } else { text };
        match (
            kind,
            metric["resource"]["name"].as_str(),
            metric["containerResource"]["name"].as_str(),
        ) {
            ("Resource", Some(name), _) | (_, _, Some(name)) => format!("{name}: {text}"),
            _ => text,
        }
    };
    let texts: Vec<_> = metrics.iter().enumerate().take(SHOWN).map(metric).collect();
    match metrics.len().saturating_sub(SHOWN) {
        0 => texts.join(", "),
        more => format!("{} + {more} more...", texts.join(", ")),
    }
}

static SCALE: Printer = Printer {
    columns: &[NAME, integer("Desired"), integer("Available"), AGE],
    cells: |row| {
        let [desired, available] = ["spec.replicas", "status.replicas"].map(|path| json!(row.number(path)));
        vec![row.name(), desired, available, row.age()]
    },
};

static DISRUPTION_BUDGET: Printer = Printer {
    columns: &[
        NAME,
        text("Min Available"),
        text("Max Unavailable"),
        integer("Allowed Disruptions"),
        AGE,
    ],
    cells: |row| {
        let limit = |path: &str| match row.at(path) {
            Value::Null => json!("N/A"),
            value => json!(int_or_string(value)),
        };
        vec![
            row.name(),
            limit("spec.minAvailable"),
            limit("spec.maxUnavailable"),
            json!(row.number("status.disruptionsAllowed")),
            row.age(),
        ]
    },
};
