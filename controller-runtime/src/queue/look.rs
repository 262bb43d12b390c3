//! One key of the queue, seen from outside.

use std::hash::Hash;

use super::{Queue, SlotId, State};
use crate::{
    clock::Instant,
    trigger::{Cause, Level},
};

/// Where a key stands, and what is remembered of it.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) standing: Standing,
    pub(crate) failures: u32,
    /// Why it runs, or will, oldest first.
    pub(crate) causes: Vec<Cause>,
}

/// Where a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Idle,
    Waiting { due: Instant },
    Ready { since: Instant },
    Running { started: Instant, again: bool },
}

impl<K: Eq + Hash> Queue<K> {
    /// A key that has something to do or to remember.
    pub(crate) fn look(&self, key: &K) -> Option<Look> {
        let slot = self.slots.get(self.slots.find(key)?);
        Some(Look {
            standing: match &slot.state {
                State::Idle => Standing::Idle,
                State::Waiting { due } => Standing::Waiting { due: *due },
                State::Ready(place) => Standing::Ready { since: place.since },
                State::Running(run) => Standing::Running {
                    started: run.started,
                    again: run.again.is_some(),
                },
            },
            failures: slot.failures,
            causes: slot.causes.to_vec(),
        })
    }

    /// A running key shall not run again before `until` for what changed meanwhile. A deletion, and what someone asked
    /// for, do not wait.
    pub(crate) fn postpone(&mut self, id: SlotId, until: Instant) {
        if let State::Running(run) = &mut self.slots.get_mut(id).state
            && let Some(again) = &mut run.again
            && again.level < Level::Explicit
        {
            again.due = again.due.max(until);
        }
    }
}
