//! The runner: takes keys from the queue and reconciles them, each in a task of its own.

mod gauge;
mod observer;

pub use gauge::{Depth, Gauge};
pub use observer::{Event, Finished, Observer, Outcome, SourceChange, Started, Subject};
