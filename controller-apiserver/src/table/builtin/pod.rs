//! Pods: what `kubectl get pods` tells of their containers.

use serde_json::{Value, json};

use super::{
    AGE, NAME, Printer, Row,
    row::{NONE, condition},
    text, wide,
};
use crate::table::age;

pub(super) static POD: Printer = Printer {
    columns: &[
        NAME,
        text("Ready"),
        text("Status"),
        text("Restarts"),
        AGE,
        wide("IP"),
        wide("Node"),
        wide("Nominated Node"),
        wide("Readiness Gates"),
    ],
    cells,
};

fn cells(row: &Row<'_>) -> Vec<Value> {
    let state = state(row);
    let ip = row
        .list("status.podIPs")
        .first()
        .map_or(&Value::Null, |ip| &ip["ip"]);
    let gates = row.list("spec.readinessGates");
    let open = |gate: &&Value| {
        let kind = gate["conditionType"].as_str().unwrap_or_default();
        condition(row.at("status.conditions"), kind) == "True"
    };
    let gates = match gates.len() {
        0 => NONE.to_owned(),
        all => format!("{}/{all}", gates.iter().filter(open).count()),
    };
    vec![
        row.name(),
        json!(format!("{}/{}", state.ready, state.containers)),
        json!(state.reason),
        json!(state.restarts.told(row)),
        row.age(),
        json!(ip.as_str().filter(|ip| !ip.is_empty()).unwrap_or(NONE)),
        row.text_or("spec.nodeName", NONE),
        row.text_or("status.nominatedNodeName", NONE),
        json!(gates),
    ]
}

/// How a Pod fares.
struct State {
    containers: usize,
    ready: usize,
    reason: String,
    restarts: Restarts,
}

/// How often containers were started again, and when last.
#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<String>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count += status["restartCount"].as_i64().unwrap_or_default();
        let ended = status["lastState"]["terminated"]["finishedAt"].as_str();
        // RFC 3339 in UTC sorts as text.
        self.last = self.last.take().max(ended.map(str::to_owned));
    }

    fn told(&self, row: &Row<'_>) -> String {
        match &self.last {
            Some(last) if self.count > 0 => {
                let ago = age::since(&json!(last), row.now);
                format!("{} ({} ago)", self.count, ago.as_str().unwrap_or_default())
            }
            _ => self.count.to_string(),
        }
    }
}

fn state(row: &Row<'_>) -> State {
    let phase = row.str("status.phase");
    let reason = match row.str("status.reason") {
        "" => phase,
        reason => reason,
    };
    let gated = row
        .list("status.conditions")
        .iter()
        .any(|c| c["type"] == "PodScheduled" && c["reason"] == "SchedulingGated");
    let mut state = State {
        containers: row.count("spec.containers"),
        ready: 0,
        reason: if gated { "SchedulingGated" } else { reason }.to_owned(),
        restarts: Restarts::default(),
    };
    let mut sidecars = Restarts::default();
    let initializing = initialize(row, &mut state, &mut sidecars);
    if !initializing || condition(row.at("status.conditions"), "Initialized") == "True" {
        state.restarts = sidecars;
        run(row, &mut state);
    }
    if !row.at("metadata.deletionTimestamp").is_null() {
        if row.str("status.reason") == "NodeLost" {
            "Unknown".clone_into(&mut state.reason);
        } else if !matches!(phase, "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut state.reason);
        }
    }
    state
}

/// A container that restarts always is a sidecar when it is an init container.
fn is_sidecar(row: &Row<'_>, name: &Value) -> bool {
    let mut containers = row.list("spec.initContainers").iter();
    containers.any(|c| c["name"] == *name && c["restartPolicy"] == "Always")
}

/// Looks at init containers; tells whether one of them is still at work.
fn initialize(row: &Row<'_>, state: &mut State, sidecars: &mut Restarts) -> bool {
    let all = row.count("spec.initContainers");
    let sidecar_count = row
        .list("spec.initContainers")
        .iter()
        .filter(|c| c["restartPolicy"] == "Always")
        .count();
    state.containers += sidecar_count;
    for (index, status) in row.list("status.initContainerStatuses").iter().enumerate() {
        let sidecar = is_sidecar(row, &status["name"]);
        state.restarts.add(status);
        if sidecar {
            sidecars.add(status);
        }
        let terminated = &status["state"]["terminated"];
        let waiting = status["state"]["waiting"]["reason"].as_str().unwrap_or_default();
        if terminated.is_object() && terminated["exitCode"].as_i64().unwrap_or_default() == 0 {
            continue;
        }
        if sidecar && status["started"] == true {
            if status["ready"] == true {
                state.ready += 1;
            }
            continue;
        }
        state.reason = if terminated.is_object() {
            format!("Init:{}", ended(terminated))
        } else if !matches!(waiting, "" | "PodInitializing") {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{all}")
        };
        return true;
    }
    false
}

/// Looks at the containers proper.
fn run(row: &Row<'_>, state: &mut State) {
    let mut running = false;
    for status in row.list("status.containerStatuses").iter().rev() {
        state.restarts.add(status);
        let now = &status["state"];
        let waiting = now["waiting"]["reason"].as_str().unwrap_or_default();
        if !waiting.is_empty() {
            waiting.clone_into(&mut state.reason);
        } else if now["terminated"].is_object() {
            state.reason = ended(&now["terminated"]);
        } else if status["ready"] == true && now["running"].is_object() {
            running = true;
            state.ready += 1;
        }
    }
    if state.reason == "Completed" && running {
        let ready = condition(row.at("status.conditions"), "Ready") == "True";
        if ready { "Running" } else { "NotReady" }.clone_into(&mut state.reason);
    }
}

/// How a container ended.
fn ended(terminated: &Value) -> String {
    let number = |field: &str| terminated[field].as_i64().unwrap_or_default();
    match (
        terminated["reason"].as_str().unwrap_or_default(),
        number("signal"),
    ) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pod: &Value) -> Vec<Value> {
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        let mut cells = cells(&Row { object: pod, now });
        cells.truncate(4);
        cells.remove(0);
        cells
    }

    #[test]
    fn a_pod_says_what_its_containers_say() {
        let running = json!({"name": "a", "ready": true, "restartCount": 2, "state": {"running": {}},
            "lastState": {"terminated": {"finishedAt": "2026-01-01T00:55:00Z"}}});
        let crashed = json!({"name": "b", "ready": false, "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}});
        let done = json!({"name": "b", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}});
        let two = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        for (status, expected) in [
            (json!({"phase": "Pending"}), ["0/2", "Pending", "0"]),
            (
                json!({"phase": "Running", "containerStatuses": [running, crashed]}),
                ["1/2", "CrashLoopBackOff", "3 (5m ago)"],
            ),
            (
                json!({"phase": "Running", "containerStatuses": [running, done]}),
                ["1/2", "NotReady", "2 (5m ago)"],
            ),
            (
                json!({"phase": "Failed", "reason": "Evicted"}),
                ["0/2", "Evicted", "0"],
            ),
        ] {
            assert_eq!(
                printed(&json!({"spec": two, "status": status})),
                expected,
                "{status}"
            );
        }
        let going = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": two, "status": {"phase": "Running"}});
        assert_eq!(printed(&going), ["0/2", "Terminating", "0"]);
    }

    #[test]
    fn init_containers_come_first() {
        let spec = json!({"containers": [{"name": "a"}],
            "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]});
        let status = |statuses: Value| json!({"spec": spec, "status": {"phase": "Pending", "initContainerStatuses": statuses}});
        let done = json!({"name": "i", "state": {"terminated": {"exitCode": 0}}});
        for (statuses, expected) in [
            (
                json!([{"name": "i", "state": {"waiting": {"reason": "PodInitializing"}}}]),
                ["0/2", "Init:0/2", "0"],
            ),
            (
                json!([{"name": "i", "state": {"terminated": {"exitCode": 3}}}]),
                ["0/2", "Init:ExitCode:3", "0"],
            ),
            (
                json!([done, {"name": "s", "started": true, "ready": true, "state": {"running": {}}}]),
                ["1/2", "Pending", "0"],
            ),
        ] {
            assert_eq!(printed(&status(statuses.clone())), expected, "{statuses}");
        }
    }
}
