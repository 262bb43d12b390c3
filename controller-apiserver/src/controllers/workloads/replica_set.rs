//! `ReplicaSet`s: so many Pods of one template.

use serde_json::{Value, json};

use super::REPLICA_SETS;
use super::owned::{Counts, MOST, Owned, count, delete, make_pod, owned, set_status};
use crate::object::is_terminating;
use crate::state::State;

pub(super) fn attempt(state: &mut State, key: &str) {
    let Some(set) = Owned::at(state, REPLICA_SETS, key) else {
        return;
    };
    let mut pods = owned(state, &set, "pods");
    pods.retain(Owned::is_active);
    let counts = count(state, &pods, &set, REPLICA_SETS);
    write_status(state, &set, counts);
    if is_terminating(&set.object) {
        return;
    }
    let wanted = usize::try_from(set.number("spec.replicas", 1)).unwrap_or_default();
    for _ in pods.len()..wanted.min(MOST) {
        make_pod(state, &set, ("apps/v1", "ReplicaSet"), None, |_| {});
    }
    if pods.len() > wanted {
        // Those that are not ready go first, then the youngest.
        pods.sort_by_key(|pod| {
            (
                pod.is_ready(),
                std::cmp::Reverse(pod.object["metadata"]["creationTimestamp"].to_string()),
            )
        });
        for pod in &pods[..pods.len() - wanted] {
            delete(state, "pods", pod);
        }
    }
}

fn write_status(state: &mut State, set: &Owned, counts: Counts) {
    let mut status = json!({"replicas": counts.all, "observedGeneration": set.generation()});
    let numbers = [
        ("fullyLabeledReplicas", counts.all),
        ("readyReplicas", counts.ready),
        ("availableReplicas", counts.available),
    ];
    for (field, number) in numbers {
        put(&mut status, field, number);
    }
    set_status(state, REPLICA_SETS, &set.key, status);
}

/// Sets a number that is left out when it is zero.
pub(super) fn put(status: &mut Value, field: &str, number: i64) {
    if number != 0 {
        status[field] = number.into();
    }
}
