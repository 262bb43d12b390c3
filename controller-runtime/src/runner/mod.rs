//! The runner: takes keys from the queue and reconciles them, each in a task of its own.
//!
//! - A key never runs twice at the same time, and nothing runs before every store of the controller is ready.
//! - A panic or a timeout is a failure of its object: it is tried again by backoff, and the others go on.
//! - Inputs wait for nothing: they put their wishes into the queue, where these coalesce by key.
//! - The cost of a reconcile does not grow with the keys that wait or run.
//!
//! Not promised: that a consumer of results that cannot keep up sees all of them.

mod begin;
mod drive;
mod gauge;
mod guard;
mod judge;
mod life;
mod limit;
mod observer;
mod outbox;
mod shared;
mod sources;
mod start;
mod task;
mod tell;
#[cfg(test)]
mod tests;

pub(crate) use begin::Before;
pub(crate) use drive::{Item, Parts, Run, Runner};
pub use gauge::{Depth, Gauge};
pub(crate) use guard::guard;
pub use limit::Limit;
pub use observer::{Circle, Event, Finished, Observer, Outcome, SourceChange, Started, Subject};
pub use shared::Inlet;
pub(crate) use shared::Shared;
pub(crate) use task::{Afterword, Interrupted};
pub(crate) use tell::Teller;
