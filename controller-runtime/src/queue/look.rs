//! The queue, and one key of it, seen from outside.

use std::hash::Hash;

use super::{Queue, State};
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

impl<K: Clone + Eq + Hash> Queue<K> {
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

    /// Forgets the keys that are not to be kept, as if their objects were gone.
    pub(crate) fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        let keys = self.slots.iter().map(|(_, slot)| slot.key.clone());
        let gone: Vec<_> = keys.filter(|key| !keep(key)).collect();
        for key in gone {
            self.vanish(&key);
        }
    }

    /// How many keys have something to do or to remember.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many keys could run.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// How many keys run.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// How many keys wait for their due.
    pub(crate) fn waiting(&self) -> usize {
        self.timers.len()
    }

    /// How many running keys were asked to run again.
    pub(crate) fn again(&self) -> usize {
        self.again
    }

    /// How often a key became ready, since the start.
    pub(crate) fn adds(&self) -> u64 {
        self.adds
    }

    /// How many keys of each level could run.
    pub(crate) fn ready_by_level(&self) -> [usize; Level::ALL.len()] {
        self.ready.by_level()
    }
}
