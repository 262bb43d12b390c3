//! The election record, as client-go keeps it in a Lease.

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::api::ObjectMeta;

use super::Timing;

/// Who holds the lease, by the word of a record; `None` when it is free to take.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    lease
        .spec
        .as_ref()?
        .holder_identity
        .as_deref()
        .filter(|holder| !holder.is_empty())
}

/// For how long the record is live from when it was first seen.
///
/// The record's own duration counts, not the reader's. One that is missing or makes no sense is read as the reader's: a live lease must
/// not be stolen because of an odd field, and a dead one must not be waited for without end.
pub(super) fn live_for(lease: &Lease, timing: &Timing) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    match seconds.and_then(|seconds| u64::try_from(seconds).ok()) {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => timing.lease_duration(),
    }
}

/// A record with which `identity` holds the lease at `wall`, following on `before`.
///
/// Everything that is not the election's (labels, other fields of the spec) stays as it was.
pub(super) fn held_by(
    before: Option<&Lease>,
    name: &str,
    identity: &str,
    timing: &Timing,
    wall: Timestamp,
) -> Lease {
    let mut lease = before.cloned().unwrap_or_else(|| Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        spec: None,
    });
    let was_ours = before.and_then(holder) == Some(identity);
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    if !was_ours {
        spec.acquire_time = Some(MicroTime(wall));
        spec.lease_transitions = Some(match (before, spec.lease_transitions) {
            (None, _) => 0,
            (Some(_), transitions) => transitions.unwrap_or(0).saturating_add(1),
        });
    }
    spec.holder_identity = Some(identity.to_owned());
    spec.lease_duration_seconds = i32::try_from(timing.lease_duration().as_secs()).ok();
    spec.renew_time = Some(MicroTime(wall));
    lease
}

/// The record that gives the lease up: an empty holder and the shortest duration, as in client-go.
pub(super) fn released(held: &Lease, wall: Timestamp) -> Lease {
    let mut lease = held.clone();
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(MicroTime(wall));
    spec.acquire_time = Some(MicroTime(wall));
    lease
}
