//! Deployments: a `ReplicaSet` for each template, and the Pods moved from the old ones to the new.

use std::time::Duration;

use serde_json::{Value, json};

use super::owned::{Owned, conditions, delete, hash, make, owned, set_condition, set_status};
use super::replica_set::put;
use super::rollout::{Plan, Set};
use super::{DEPLOYMENTS, REPLICA_SETS};
use crate::controllers::garbage::change;
use crate::object::{is_terminating, meta_mut, meta_str};
use crate::state::State;

const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";

pub(super) fn attempt(state: &mut State, key: &str) {
    let Some(deployment) = Owned::at(state, DEPLOYMENTS, key) else {
        return;
    };
    let mut sets = owned(state, &deployment, REPLICA_SETS);
    sets.retain(|set| !is_terminating(&set.object));
    sets.sort_by_key(revision);
    let new = sets
        .iter()
        .position(|set| is_of(set, &deployment))
        .map(|at| sets.remove(at));
    if !is_terminating(&deployment.object) {
        roll(state, &deployment, new.as_ref(), &sets);
        tidy(state, &deployment, &sets);
    }
    write_status(state, &deployment, new.as_ref(), &sets);
}

fn revision(set: &Owned) -> i64 {
    let text = set.object["metadata"]["annotations"][REVISION].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// A set is of the Deployment's template if nothing but the hash is different.
fn is_of(set: &Owned, deployment: &Owned) -> bool {
    let mut template = set.object["spec"]["template"].clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH);
    }
    let mut wanted = deployment.object["spec"]["template"].clone();
    for template in [&mut template, &mut wanted] {
        if let Some(metadata) = template["metadata"].as_object_mut() {
            metadata.remove("creationTimestamp");
        }
    }
    template == wanted
}

fn set_of(owned: &Owned) -> Set {
    Set {
        wanted: owned.number("spec.replicas", 1),
        has: owned.number("status.replicas", 0),
        available: owned.number("status.availableReplicas", 0),
    }
}

fn roll(state: &mut State, deployment: &Owned, new: Option<&Owned>, old: &[Owned]) {
    let paused = deployment.object["spec"]["paused"] == true;
    if paused && new.is_none() {
        return;
    }
    let plan = Plan::of(&deployment.object);
    let counts: Vec<Set> = old.iter().map(set_of).collect();
    let (next_new, next_old) = plan.next(new.map(set_of), &counts);
    let latest = old.iter().map(revision).max().unwrap_or_default();
    match new {
        None => {
            let replicas = next_new.min(plan.replicas);
            make_set(state, deployment, replicas, latest + 1);
        }
        Some(set) => {
            scale(state, set, next_new);
            if revision(set) <= latest {
                annotate(state, REPLICA_SETS, set, latest + 1);
            }
        }
    }
    let current = new.map_or(0, revision).max(latest + 1);
    annotate(state, DEPLOYMENTS, deployment, current);
    if !paused {
        for (set, next) in old.iter().zip(next_old) {
            scale(state, set, next);
        }
    }
}

fn annotate(state: &mut State, collection: &str, owned: &Owned, revision: i64) {
    change(state, collection, &owned.key, |object| {
        let annotations = meta_mut(object).entry("annotations").or_insert_with(|| json!({}));
        annotations[REVISION] = revision.to_string().into();
    });
}

/// As a client that changes the desired state: the generation rises.
fn scale(state: &mut State, set: &Owned, replicas: i64) {
    change(state, REPLICA_SETS, &set.key, |object| {
        if object["spec"]["replicas"] != replicas {
            object["spec"]["replicas"] = replicas.into();
            let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
            object["metadata"]["generation"] = (generation + 1).into();
        }
    });
}

fn make_set(state: &mut State, deployment: &Owned, replicas: i64, revision: i64) {
    let spec = &deployment.object["spec"];
    let hash = hash(&spec["template"]);
    let mut template = spec["template"].clone();
    template["metadata"]["labels"][HASH] = hash.clone().into();
    let mut selector = spec["selector"].clone();
    selector["matchLabels"][HASH] = hash.clone().into();
    let mut set = json!({
        "metadata": {"labels": template["metadata"]["labels"], "annotations": {REVISION: revision.to_string()}},
        "spec": {"replicas": replicas, "selector": selector, "template": template},
        "status": {"replicas": 0},
    });
    if let Some(seconds) = spec["minReadySeconds"].as_i64() {
        put(&mut set["spec"], "minReadySeconds", seconds);
    }
    let name = format!("{}-{hash}", deployment.name());
    make(
        state,
        deployment,
        ("apps/v1", "Deployment"),
        REPLICA_SETS,
        &name,
        set,
    );
}

/// Only so many sets without Pods are kept to go back to.
fn tidy(state: &mut State, deployment: &Owned, old: &[Owned]) {
    let keep = usize::try_from(deployment.number("spec.revisionHistoryLimit", 10)).unwrap_or_default();
    let idle = |set: &&Owned| set.number("spec.replicas", 1) == 0 && set.number("status.replicas", 0) == 0;
    let idle: Vec<&Owned> = old.iter().filter(idle).collect();
    for set in &idle[..idle.len().saturating_sub(keep)] {
        delete(state, REPLICA_SETS, set);
    }
}

fn write_status(state: &mut State, deployment: &Owned, new: Option<&Owned>, old: &[Owned]) {
    let sum = |field: &str| -> i64 { old.iter().chain(new).map(|set| set.number(field, 0)).sum() };
    let replicas = deployment.number("spec.replicas", 1);
    let (all, ready) = (sum("status.replicas"), sum("status.readyReplicas"));
    let available = sum("status.availableReplicas");
    let updated = new.map_or(0, |set| set.number("status.replicas", 0));
    let mut status = json!({"observedGeneration": deployment.generation()});
    let numbers = [
        ("replicas", all),
        ("updatedReplicas", updated),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("unavailableReplicas", (all.max(replicas) - available).max(0)),
    ];
    for (field, number) in numbers {
        put(&mut status, field, number);
    }
    let complete = new.is_some() && updated == replicas && all == replicas && available >= replicas;
    let least = replicas
        - Plan::of(&deployment.object)
            .rolling
            .map_or(0, |(_, unavailable)| unavailable);
    let now = state.now();
    let mut list = conditions(&deployment.object);
    if available >= least {
        let message = "Deployment has minimum availability.";
        set_condition(
            &mut list,
            "Available",
            true,
            "MinimumReplicasAvailable",
            message,
            &now,
        );
    } else {
        let message = "Deployment does not have minimum availability.";
        set_condition(
            &mut list,
            "Available",
            false,
            "MinimumReplicasUnavailable",
            message,
            &now,
        );
    }
    progress(state, deployment, new, complete, &status, &mut list);
    let before = conditions(&deployment.object);
    for condition in &mut list {
        let same = before.iter().find(|old| {
            ["type", "status", "reason", "message"]
                .iter()
                .all(|part| old[part] == condition[part])
        });
        condition["lastUpdateTime"] =
            same.map_or_else(|| now.clone().into(), |old| old["lastUpdateTime"].clone());
    }
    status["conditions"] = list.into();
    set_status(state, DEPLOYMENTS, &deployment.key, status);
}

fn progress(
    state: &mut State,
    deployment: &Owned,
    new: Option<&Owned>,
    complete: bool,
    looks: &Value,
    list: &mut Vec<Value>,
) {
    let since = state.simulation.still_since(&deployment.uid, looks.to_string());
    let seconds = u64::try_from(deployment.number("spec.progressDeadlineSeconds", 600)).unwrap_or(600);
    let deadline = since + Duration::from_secs(seconds);
    let named = new.map_or_else(String::new, |set| {
        format!("ReplicaSet {:?} ", meta_str(&set.object, "name"))
    });
    let (status, reason, message) = if deployment.object["spec"]["paused"] == true {
        (true, "DeploymentPaused", "Deployment is paused".to_owned())
    } else if complete {
        (
            true,
            "NewReplicaSetAvailable",
            format!("{named}has successfully progressed."),
        )
    } else if deadline <= state.simulation.now {
        (
            false,
            "ProgressDeadlineExceeded",
            format!("{named}has timed out progressing."),
        )
    } else {
        state.simulation.wake(deadline, DEPLOYMENTS, &deployment.key);
        (true, "ReplicaSetUpdated", format!("{named}is progressing."))
    };
    let now = state.now();
    set_condition(list, "Progressing", status, reason, &message, &now);
}
