//! What is in a queue right now, readable from outside at any time.

use std::{fmt, sync::Arc};

use crate::{
    clock::{self, Instant},
    trigger::Level,
};

/// Reads how full the queue of one controller is. Cheap to clone; outlives its controller.
///
/// Everything it tells is one consistent moment of the queue: a key is counted in exactly one of the states.
#[derive(Clone)]
pub struct Gauge(Arc<dyn Counted>);

/// How many keys are in which state, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Depth {
    /// Keys that could run now, but wait for a free slot.
    pub ready: usize,
    /// Keys that nothing but the controller keeps from running: its stores are not ready, or it is held back as a standby.
    pub held: usize,
    /// Keys that are being reconciled.
    pub running: usize,
    /// Keys that wait for a debounce window, a requeue or a retry.
    pub waiting: usize,
    /// Running keys that were asked to run again meanwhile.
    pub again: usize,
    /// How often a key became ready, since the start.
    pub adds: u64,
    /// When the next waiting key is due.
    pub next_due: Option<Instant>,
    /// All stores of the controller are ready, and it is not held back.
    pub synced: bool,
    /// Keys that run in circles and are slowed.
    pub slowed: usize,
}

impl Depth {
    /// Nothing is ready, running or due: until something changes, nothing happens before [`Depth::next_due`].
    pub fn is_settled(&self, now: Instant) -> bool {
        self.ready + self.held + self.running == 0 && self.next_due.is_none_or(|due| due > now)
    }
}

impl Gauge {
    pub(crate) fn new(counted: Arc<dyn Counted>) -> Self {
        Self(counted)
    }

    /// The state of the queue at this moment.
    pub fn read(&self) -> Depth {
        self.0.depth()
    }

    /// How many keys of each level could run, in the order of [`Level::ALL`]. Takes longer the more there are.
    pub fn ready_by_level(&self) -> [usize; Level::ALL.len()] {
        self.0.ready_by_level()
    }

    /// Nothing is ready, running or due at this moment.
    pub fn is_settled(&self) -> bool {
        self.read().is_settled(clock::now())
    }
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gauge").field(&self.read()).finish()
    }
}

/// What a [`Gauge`] reads.
pub(crate) trait Counted: Send + Sync {
    fn depth(&self) -> Depth;
    fn ready_by_level(&self) -> [usize; Level::ALL.len()];
}
