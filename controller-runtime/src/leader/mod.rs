//! Leader election: of several replicas, one reconciles; the others wait with warm caches.
//!
//! Contract: the record is client-go's (`coordination.k8s.io/v1` Lease, KEP-589), so that replicas of both worlds
//! exclude each other. Two parts keep two writers apart:
//!
//! - [`Election`], pure, compares only times that this process observed itself. A foreign record is live for the duration written
//!   *in it*, counted from when we first *saw* it, so that clocks may be hours apart.
//! - [`WriteGate`] sits in the client below its retries: a mutating request leaves only before the *start* of the last successful renewal +
//!   lease duration − margin, and is dropped at that moment if it has not been answered.
//!
//! Not promised: a request that the network holds back for longer than the margin allows may still commit in the next leader's time. The
//! API offers no fencing against that; optimistic concurrency (`resourceVersion`) does.

mod election;
#[cfg(test)]
mod election_tests;
mod elector;
mod gate;
mod record;
#[cfg(test)]
mod simulation_tests;
mod timing;

pub use election::{Answer, Change, Election, LeaseRequest, Loss, Turn};
pub use elector::{ElectionStatus, Elector, ElectorOptions};
pub use gate::{GateLayer, GateRefusal, GatedService, WriteGate};
pub use timing::{Timing, TimingError};
