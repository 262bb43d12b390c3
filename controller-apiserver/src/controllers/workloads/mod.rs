//! A simulated workload layer: Deployments, `ReplicaSet`s, `StatefulSet`s, `DaemonSet`s and Jobs get Pods,
//! and Pods become ready or fail as told, in the server's time.
//!
//! It is off unless [`ServerBuilder::workloads`](crate::ServerBuilder::workloads) turns it on: then a
//! workload stays as written. Nothing is run, and there are no nodes: all Pods are on one that is
//! pretended. Each attempt looks at one object and what it owns, writes what is missing, and is made
//! again by what it wrote; so it ends where nothing is missing.
//!
//! One workload has 1000 Pods at most. Not modelled: adoption of Pods and `ReplicaSet`s without an
//! owner, proportional scaling of a Deployment in the middle of a rollout, former templates and volume
//! claims of `StatefulSet`s, back-off between the Pods of a Job, its policies, and restarts in place of
//! a Job's containers, where a Pod fails as a whole.
//!
//! Source: "Workloads" in the Kubernetes documentation.

mod daemon_set;
mod deployment;
mod fate;
mod job;
mod owned;
mod pod;
mod replica_set;
mod rollout;
mod stateful_set;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use fate::PodFate;
pub(crate) use fate::Simulation;

use super::work::Item;
use crate::clock::Instant;
use crate::state::State;

const DEPLOYMENTS: &str = "apps/deployments";
const REPLICA_SETS: &str = "apps/replicasets";
const STATEFUL_SETS: &str = "apps/statefulsets";
const DAEMON_SETS: &str = "apps/daemonsets";
const JOBS: &str = "batch/jobs";

/// Whether the layer looks at a collection.
pub(super) fn is_collection(collection: &str) -> bool {
    let all = [
        "pods",
        DEPLOYMENTS,
        REPLICA_SETS,
        STATEFUL_SETS,
        DAEMON_SETS,
        JOBS,
    ];
    all.contains(&collection)
}

/// Looks at one object.
pub(super) fn attempt(state: &mut State, collection: &str, key: &str) {
    match collection {
        "pods" => pod::attempt(state, key),
        DEPLOYMENTS => deployment::attempt(state, key),
        REPLICA_SETS => replica_set::attempt(state, key),
        STATEFUL_SETS => stateful_set::attempt(state, key),
        DAEMON_SETS => daemon_set::attempt(state, key),
        JOBS => job::attempt(state, key),
        _ => {}
    }
}

/// Tells what becomes of Pods with these labels, those there are and those to come.
pub(crate) fn tell(state: &mut State, labels: BTreeMap<String, String>, fate: PodFate, now: Instant) {
    state.simulation.tell(labels, fate, now);
    let pods: Vec<String> = state
        .store
        .scan("pods", "")
        .map(|(key, _)| key.to_string())
        .collect();
    for key in pods {
        let collection = Arc::from("pods");
        state.work.push(Item::Object { collection, key });
    }
}
