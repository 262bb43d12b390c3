//! The life of a Pod, as a scheduler and a kubelet would let it go: nothing runs, its status says so.

use serde_json::{Value, json};

use super::PodFate;
use super::owned::{Owned, conditions, set_condition};
use crate::controllers::garbage::change;
use crate::object::{is_terminating, meta_list, meta_mut, str_at};
use crate::state::State;

/// The one node there is pretended to be.
const NODE: &str = "node-0";

/// What the status says of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Unschedulable,
    Starting,
    Running { ready: bool },
    Crashing { code: i64 },
    Done { code: i64 },
}

/// Brings a Pod where it should be by now.
pub(super) fn attempt(state: &mut State, key: &str) {
    let Some(pod) = Owned::at(state, "pods", key) else {
        return;
    };
    if is_terminating(&pod.object) {
        stop(state, &pod);
        return;
    }
    if matches!(pod.phase(), "Succeeded" | "Failed") {
        return;
    }
    let policy = str_at(&pod.object, "spec.restartPolicy").to_owned();
    let restarts = policy.is_empty() || policy == "Always";
    let (fate, due) = state.simulation.fate(&pod.uid, !restarts, |label| {
        pod.object["metadata"]["labels"][label]
            .as_str()
            .map(str::to_owned)
    });
    let arrived = due <= state.simulation.now;
    let placed =
        !str_at(&pod.object, "spec.nodeName").is_empty() && pod.object["status"]["startTime"].is_string();
    let done = |code| {
        if restarts {
            Stage::Crashing { code }
        } else {
            Stage::Done { code }
        }
    };
    let stage = match fate {
        PodFate::Pending if placed => return,
        PodFate::Pending => Stage::Unschedulable,
        PodFate::NeverReady => Stage::Running { ready: false },
        PodFate::Ready(_) if arrived => Stage::Running { ready: true },
        PodFate::Fails(_) if arrived => done(1),
        PodFate::Succeeds(_) if arrived => done(0),
        PodFate::Succeeds(_) if !placed => Stage::Running { ready: true },
        _ if !placed => Stage::Starting,
        _ => {
            state.simulation.wake(due, "pods", key);
            return;
        }
    };
    if !arrived {
        state.simulation.wake(due, "pods", key);
    }
    let now = state.now();
    change(state, "pods", key, |pod| write(pod, stage, &now));
}

/// What a kubelet does with a Pod that is deleted: its containers stop, and nothing but finalizers
/// holds it.
fn stop(state: &mut State, pod: &Owned) {
    if meta_list(&pod.object, "finalizers").is_empty() {
        state.remove("pods", &pod.key);
        return;
    }
    change(state, "pods", &pod.key, |pod| {
        meta_mut(pod).insert("deletionGracePeriodSeconds".into(), 0.into());
    });
}

fn write(pod: &mut Value, stage: Stage, now: &str) {
    let mut list = conditions(pod);
    if stage == Stage::Unschedulable {
        let why = "0/1 nodes are available";
        set_condition(&mut list, "PodScheduled", false, "Unschedulable", why, now);
        pod["status"]["conditions"] = list.into();
        return;
    }
    if str_at(pod, "spec.nodeName").is_empty() {
        pod["spec"]["nodeName"] = NODE.into();
    }
    let done = matches!(stage, Stage::Done { .. });
    let ready = stage == Stage::Running { ready: true };
    let reason = if done {
        "PodCompleted"
    } else {
        "ContainersNotReady"
    };
    let (reason, message) = if ready {
        ("", "")
    } else {
        (reason, "containers are not ready")
    };
    set_condition(&mut list, "PodScheduled", true, "", "", now);
    set_condition(&mut list, "Initialized", true, "", "", now);
    set_condition(&mut list, "ContainersReady", ready, reason, message, now);
    set_condition(&mut list, "Ready", ready, reason, message, now);
    let containers = containers(pod, stage, now);
    let status = &mut pod["status"];
    status["phase"] = match stage {
        Stage::Starting | Stage::Unschedulable => "Pending",
        Stage::Running { .. } | Stage::Crashing { .. } => "Running",
        Stage::Done { code: 0 } => "Succeeded",
        Stage::Done { .. } => "Failed",
    }
    .into();
    status["conditions"] = list.into();
    status["containerStatuses"] = containers;
    if !status["startTime"].is_string() {
        status["startTime"] = now.into();
    }
}

fn containers(pod: &Value, stage: Stage, now: &str) -> Value {
    let before = pod["status"]["containerStatuses"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let all = pod["spec"]["containers"].as_array().into_iter().flatten();
    all.map(|container| {
        let old = before.iter().find(|old| old["name"] == container["name"]);
        let old = old.cloned().unwrap_or_default();
        let started = old["state"]["running"]["startedAt"].as_str().unwrap_or(now).to_owned();
        let ended = |code: i64| {
            let reason = if code == 0 { "Completed" } else { "Error" };
            json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": now}})
        };
        let (ready, current) = match stage {
            Stage::Starting | Stage::Unschedulable => (false, json!({"waiting": {"reason": "ContainerCreating"}})),
            Stage::Running { ready } => (ready, json!({"running": {"startedAt": started}})),
            Stage::Crashing { .. } => (false, json!({"waiting": {"reason": "CrashLoopBackOff"}})),
            Stage::Done { code } => (false, ended(code)),
        };
        let crashes = matches!(stage, Stage::Crashing { .. });
        let last = match stage {
            Stage::Crashing { code } if old["lastState"]["terminated"].is_null() => ended(code),
            _ if old["lastState"].is_object() => old["lastState"].clone(),
            _ => json!({}),
        };
        let restarts = old["restartCount"].as_i64().unwrap_or_default().max(i64::from(crashes));
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "ready": ready,
            "restartCount": restarts, "started": matches!(stage, Stage::Running { .. }), "state": current, "lastState": last,
        })
    })
    .collect()
}
