//! `StatefulSet`s: Pods with names, one after the other.

use serde_json::json;

use super::STATEFUL_SETS;
use super::owned::{MOST, Owned, conditions, count, delete, hash, make_pod, owned, set_status};
use super::replica_set::put;
use crate::object::{is_terminating, str_at};
use crate::state::State;

const HASH: &str = "controller-revision-hash";

pub(super) fn attempt(state: &mut State, key: &str) {
    let Some(set) = Owned::at(state, STATEFUL_SETS, key) else {
        return;
    };
    let update = format!("{}-{}", set.name(), hash(&set.object["spec"]["template"]));
    let current = match str_at(&set.object, "status.currentRevision") {
        "" => update.clone(),
        current => current.to_owned(),
    };
    let mut pods = owned(state, &set, "pods");
    pods.sort_by_key(|pod| ordinal(&set, pod));
    write_status(state, &set, &pods, &current, &update);
    if is_terminating(&set.object) {
        return;
    }
    let parallel = str_at(&set.object, "spec.podManagementPolicy") == "Parallel";
    if make_missing(state, &set, &pods, parallel, (&current, &update)) {
        return;
    }
    if drop_surplus(state, &set, &pods, parallel) {
        return;
    }
    renew(state, &set, &pods, &update);
}

fn start(set: &Owned) -> i64 {
    set.number("spec.ordinals.start", 0)
}

fn ordinal(set: &Owned, pod: &Owned) -> i64 {
    let number = pod
        .name()
        .strip_prefix(set.name())
        .and_then(|rest| rest.strip_prefix('-'));
    number.and_then(|number| number.parse().ok()).unwrap_or(i64::MAX)
}

fn replicas(set: &Owned) -> i64 {
    let most = i64::try_from(MOST).unwrap_or(i64::MAX);
    set.number("spec.replicas", 1).clamp(0, most)
}

fn partition(set: &Owned) -> i64 {
    set.number("spec.updateStrategy.rollingUpdate.partition", 0)
}

/// Makes what is missing, lowest first; tells whether what is there has to be waited for.
fn make_missing(
    state: &mut State,
    set: &Owned,
    pods: &[Owned],
    parallel: bool,
    (current, update): (&str, &str),
) -> bool {
    let first = start(set);
    let mut made = false;
    for number in first..first + replicas(set) {
        match pods.iter().find(|pod| ordinal(set, pod) == number) {
            Some(pod) if pod.is_active() && (parallel || pod.is_ready()) => {}
            Some(pod) => {
                if matches!(pod.phase(), "Succeeded" | "Failed") {
                    delete(state, "pods", pod);
                }
                if !parallel {
                    return true;
                }
            }
            None => {
                let old = number - first < partition(set);
                let revision = if old { current } else { update };
                make_one(state, set, number, revision);
                made = true;
                if !parallel {
                    return true;
                }
            }
        }
    }
    made
}

/// A Pod below the partition keeps the former revision by name; its template is the one there is,
/// for former ones are not kept.
fn make_one(state: &mut State, set: &Owned, number: i64, revision: &str) {
    let name = format!("{}-{number}", set.name());
    make_pod(
        state,
        set,
        ("apps/v1", "StatefulSet"),
        Some(name.clone()),
        |pod| {
            let labels = &mut pod["metadata"]["labels"];
            labels[HASH] = revision.into();
            labels["statefulset.kubernetes.io/pod-name"] = name.clone().into();
            labels["apps.kubernetes.io/pod-index"] = number.to_string().into();
            pod["spec"]["hostname"] = name.into();
        },
    );
}

/// Deletes what is too many, highest first; tells whether one is on its way.
fn drop_surplus(state: &mut State, set: &Owned, pods: &[Owned], parallel: bool) -> bool {
    let first = start(set);
    let end = first + replicas(set);
    let surplus = |pod: &&Owned| !(first..end).contains(&ordinal(set, pod));
    let mut going = false;
    for pod in pods.iter().rev().filter(surplus) {
        going = true;
        if !is_terminating(&pod.object) {
            delete(state, "pods", pod);
        }
        if !parallel {
            break;
        }
    }
    going
}

/// Deletes one Pod of a former template, highest first, while all others are ready.
fn renew(state: &mut State, set: &Owned, pods: &[Owned], update: &str) {
    if str_at(&set.object, "spec.updateStrategy.type") == "OnDelete" {
        return;
    }
    let from = start(set) + partition(set);
    for pod in pods.iter().rev().filter(|pod| ordinal(set, pod) >= from) {
        if pod.label(HASH) != update {
            if !is_terminating(&pod.object) {
                delete(state, "pods", pod);
            }
            return;
        }
        if !pod.is_ready() {
            return;
        }
    }
}

fn write_status(state: &mut State, set: &Owned, pods: &[Owned], current: &str, update: &str) {
    let living: Vec<Owned> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
    let counts = count(state, &living, set, STATEFUL_SETS);
    let of = |revision: &str| -> i64 {
        living
            .iter()
            .map(|pod| i64::from(pod.label(HASH) == revision))
            .sum()
    };
    let replicas = replicas(set);
    let done = of(update) == replicas && counts.ready == replicas && counts.all == replicas;
    let current = if done { update } else { current };
    let mut status = json!({
        "replicas": counts.all, "observedGeneration": set.generation(), "availableReplicas": counts.available,
        "currentRevision": current, "updateRevision": update, "collisionCount": 0,
    });
    put(&mut status, "readyReplicas", counts.ready);
    put(&mut status, "currentReplicas", of(current));
    put(&mut status, "updatedReplicas", of(update));
    let list = conditions(&set.object);
    if !list.is_empty() {
        status["conditions"] = list.into();
    }
    set_status(state, STATEFUL_SETS, &set.key, status);
}
