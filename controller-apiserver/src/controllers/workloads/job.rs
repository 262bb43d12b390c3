//! Jobs: Pods until enough have succeeded, or too many have failed.

use std::time::Duration;

use serde_json::{Value, json};

use super::JOBS;
use super::owned::{MOST, Owned, conditions, delete, make_pod, owned, set_condition, set_status};
use super::replica_set::put;
use crate::clock::Instant;
use crate::object::is_terminating;
use crate::state::State;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// How the Pods of a Job stand.
struct Tally {
    active: Vec<Owned>,
    ready: i64,
    succeeded: i64,
    failed: i64,
    /// The indexes that no Pod runs for or has succeeded for, lowest first.
    free: Vec<i64>,
}

pub(super) fn attempt(state: &mut State, key: &str) {
    let Some(job) = Owned::at(state, JOBS, key) else {
        return;
    };
    if is_terminating(&job.object) {
        return;
    }
    let tally = tally(state, &job);
    if is_finished(&job.object) {
        for pod in &tally.active {
            delete(state, "pods", pod);
        }
        return;
    }
    let suspended = job.object["spec"]["suspend"] == true;
    let since = state.simulation.still_since(&job.uid, suspended.to_string());
    let end = if suspended {
        None
    } else {
        end(state, &job, &tally, since)
    };
    if suspended || end.is_some() {
        for pod in &tally.active {
            delete(state, "pods", pod);
        }
    } else {
        make_missing(state, &job, &tally);
    }
    write_status(state, &job, &tally, suspended, end);
}

fn is_finished(job: &Value) -> bool {
    conditions(job)
        .iter()
        .any(|one| (one["type"] == "Complete" || one["type"] == "Failed") && one["status"] == "True")
}

fn completions(job: &Owned) -> Option<i64> {
    job.object["spec"]["completions"].as_i64()
}

fn tally(state: &mut State, job: &Owned) -> Tally {
    let pods = owned(state, job, "pods");
    let phase = |phase: &str| -> Vec<&Owned> { pods.iter().filter(|pod| pod.phase() == phase).collect() };
    let active: Vec<Owned> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
    let indexed = job.object["spec"]["completionMode"] == "Indexed";
    let taken: Vec<&str> = active
        .iter()
        .chain(phase("Succeeded"))
        .map(|pod| pod.label(INDEX))
        .collect();
    let indexes = 0..if indexed {
        completions(job).unwrap_or_default()
    } else {
        0
    };
    let free = indexes.filter(|index| !taken.contains(&index.to_string().as_str()));
    let count = |list: usize| i64::try_from(list).unwrap_or(i64::MAX);
    // Pods may be gone that were counted before.
    Tally {
        ready: active.iter().map(|pod| i64::from(pod.is_ready())).sum(),
        succeeded: count(phase("Succeeded").len()).max(job.number("status.succeeded", 0)),
        failed: count(phase("Failed").len()).max(job.number("status.failed", 0)),
        free: free.take(MOST).collect(),
        active,
    }
}

/// How it ended, if it did: whether well, reason and message.
fn end(
    state: &mut State,
    job: &Owned,
    tally: &Tally,
    since: Instant,
) -> Option<(bool, &'static str, &'static str)> {
    let enough = match completions(job) {
        Some(completions) => tally.succeeded >= completions,
        // A queue of work: when one has found it empty, the others end by themselves.
        None => tally.succeeded > 0 && tally.active.is_empty(),
    };
    if enough {
        return Some((
            true,
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        ));
    }
    if tally.failed > job.number("spec.backoffLimit", 6) {
        let message = "Job has reached the specified backoff limit";
        return Some((false, "BackoffLimitExceeded", message));
    }
    let seconds = job.object["spec"]["activeDeadlineSeconds"].as_u64()?;
    let deadline = since + Duration::from_secs(seconds.min(365 * 24 * 3600));
    if deadline <= state.simulation.now {
        let message = "Job was active longer than specified deadline";
        return Some((false, "DeadlineExceeded", message));
    }
    state.simulation.wake(deadline, JOBS, &job.key);
    None
}

fn make_missing(state: &mut State, job: &Owned, tally: &Tally) {
    let active = i64::try_from(tally.active.len()).unwrap_or(i64::MAX);
    let parallelism = job
        .number("spec.parallelism", 1)
        .min(i64::try_from(MOST).unwrap_or(i64::MAX));
    let wanted = match completions(job) {
        Some(completions) => parallelism.min((completions - tally.succeeded).max(0)),
        None if tally.succeeded > 0 => active,
        None => parallelism,
    };
    let surplus = usize::try_from(active - wanted).unwrap_or_default();
    for pod in tally.active.iter().rev().take(surplus) {
        delete(state, "pods", pod);
    }
    let missing = usize::try_from(wanted - active).unwrap_or_default().min(MOST);
    let indexed = job.object["spec"]["completionMode"] == "Indexed";
    for at in 0..missing {
        let index = tally.free.get(at).map(i64::to_string);
        if indexed && index.is_none() {
            return;
        }
        make_pod(state, job, ("batch/v1", "Job"), None, |pod| {
            if let Some(index) = index {
                pod["metadata"]["labels"][INDEX] = index.clone().into();
                pod["metadata"]["annotations"][INDEX] = index.into();
            }
        });
    }
}

fn write_status(
    state: &mut State,
    job: &Owned,
    tally: &Tally,
    suspended: bool,
    end: Option<(bool, &str, &str)>,
) {
    let now = state.now();
    let mut list = conditions(&job.object);
    let mut status = json!({"uncountedTerminatedPods": {}, "terminating": 0});
    let idle = suspended || end.is_some();
    let active = if idle {
        0
    } else {
        i64::try_from(tally.active.len()).unwrap_or(i64::MAX)
    };
    put(&mut status, "active", active);
    status["ready"] = if idle { 0 } else { tally.ready }.into();
    put(&mut status, "succeeded", tally.succeeded);
    put(&mut status, "failed", tally.failed);
    if !suspended {
        let start = &job.object["status"]["startTime"];
        status["startTime"] = if start.is_string() {
            start.clone()
        } else {
            now.clone().into()
        };
    }
    let was_suspended = list.iter().any(|one| one["type"] == "Suspended");
    if suspended {
        set_condition(
            &mut list,
            "Suspended",
            true,
            "JobSuspended",
            "Job suspended",
            &now,
        );
    } else if was_suspended {
        set_condition(&mut list, "Suspended", false, "JobResumed", "Job resumed", &now);
    }
    if let Some((well, reason, message)) = end {
        let kinds = if well {
            ["SuccessCriteriaMet", "Complete"]
        } else {
            ["FailureTarget", "Failed"]
        };
        for kind in kinds {
            set_condition(&mut list, kind, true, reason, message, &now);
        }
        if well {
            status["completionTime"] = now.clone().into();
        }
    }
    for condition in &mut list {
        if condition["lastProbeTime"].is_null() {
            condition["lastProbeTime"] = now.clone().into();
        }
    }
    if !list.is_empty() {
        status["conditions"] = list.into();
    }
    set_status(state, JOBS, &job.key, status);
}
