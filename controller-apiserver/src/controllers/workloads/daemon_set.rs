//! `DaemonSet`s: one Pod on the one node that is pretended.

use serde_json::json;

use super::DAEMON_SETS;
use super::owned::{Owned, count, delete, hash, make_pod, owned, set_status};
use super::replica_set::put;
use crate::object::{is_terminating, str_at};
use crate::state::State;

const HASH: &str = "controller-revision-hash";

pub(super) fn attempt(state: &mut State, key: &str) {
    let Some(set) = Owned::at(state, DAEMON_SETS, key) else {
        return;
    };
    let hash = hash(&set.object["spec"]["template"]);
    let pods = owned(state, &set, "pods");
    let living: Vec<Owned> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
    let counts = count(state, &living, &set, DAEMON_SETS);
    let updated = i64::from(living.iter().any(|pod| pod.label(HASH) == hash));
    let scheduled = counts.all.min(1);
    let mut status = json!({
        "currentNumberScheduled": scheduled, "desiredNumberScheduled": 1, "numberMisscheduled": 0,
        "numberReady": counts.ready.min(1), "observedGeneration": set.generation(),
    });
    put(&mut status, "updatedNumberScheduled", updated);
    put(&mut status, "numberAvailable", counts.available.min(1));
    put(&mut status, "numberUnavailable", (1 - counts.available).max(0));
    set_status(state, DAEMON_SETS, key, status);
    if is_terminating(&set.object) {
        return;
    }
    // The node holds one of them: a new one waits until the old one is gone.
    let Some((first, others)) = pods.split_first() else {
        make_pod(state, &set, ("apps/v1", "DaemonSet"), None, |pod| {
            pod["metadata"]["labels"][HASH] = hash.into();
        });
        return;
    };
    let renewed = str_at(&set.object, "spec.updateStrategy.type") != "OnDelete";
    let old = renewed && first.label(HASH) != hash;
    let done = matches!(first.phase(), "Succeeded" | "Failed");
    if (old || done) && !is_terminating(&first.object) {
        delete(state, "pods", first);
    }
    for pod in others.iter().filter(|pod| !is_terminating(&pod.object)) {
        delete(state, "pods", pod);
    }
}
