//! One key of the queue: its state, and what is remembered of it between runs.

use std::num::NonZeroU32;

use super::causes::Causes;
use crate::{
    clock::Instant,
    store::Seat,
    trigger::{Cause, Level},
    uid::Uid,
};

/// The number of a slot: small, and used again after the slot is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotId(NonZeroU32);

impl SlotId {
    pub(super) const fn new(number: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number))
    }

    pub(crate) const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// One key.
///
/// Invariants: a slot in state `Waiting` is in the timers at its `due` and nowhere else; `Ready`, in the list of its
/// place's level and nowhere else; `Idle` and `Running`, in neither. An `Idle` slot has failures to remember, or it would be free.
/// A retry window implies failures.
#[derive(Debug)]
pub(super) struct Slot<K> {
    pub(super) key: K,
    /// Of the key.
    pub(super) hash: u64,
    /// The uid of the primary, as far as triggers told.
    pub(super) uid: Option<Uid>,
    /// Where the primary was found last.
    pub(super) seat: Option<Seat>,
    pub(super) state: State,
    /// The level of the coming run.
    pub(super) level: Level,
    /// Why the coming run runs.
    pub(super) causes: Causes,
    /// Failures in a row.
    pub(super) failures: u32,
    /// Present from a failure until its retry runs, or something else makes it pointless.
    pub(super) window: Option<Box<Window>>,
}

/// Where a key is in its life.
#[derive(Debug)]
pub(super) enum State {
    /// Nothing to do, but failures to remember.
    Idle,
    /// Runs at `due`: a debounce window, a requeue, a retry.
    Waiting { due: Instant },
    /// Could run.
    Ready(Place),
    /// Runs; `again` is the wish to run once more that came meanwhile.
    Running(Run),
}

/// Where a ready slot stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Since when it could run.
    pub(super) since: Instant,
    /// In which list: that of its level, or of a lower one where it is before.
    pub(super) level: Level,
    /// Its neighbours there.
    pub(super) before: Option<SlotId>,
    pub(super) after: Option<SlotId>,
}

/// A run under way.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) started: Instant,
    pub(super) again: Option<Box<Again>>,
    /// It began inside a retry window.
    pub(super) early: bool,
    /// The object vanished meanwhile: the outcome says nothing about what may come under its name.
    pub(super) gone: bool,
}

/// A wish that came while the key was running.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) due: Instant,
    pub(super) level: Level,
    pub(super) causes: Causes,
}

/// The time between a failure and its retry.
///
/// A change inside the window runs the key early, but not more often than the first backoff step, and a failure of
/// such a run leaves the schedule as it is. So a missing object that appears is seen at once, and noise cannot turn
/// the backoff into a hot loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// When the retry is due.
    pub(super) until: Instant,
    /// No early run before this.
    pub(super) early_from: Option<Instant>,
}

impl Again {
    pub(super) fn new(due: Instant, level: Level) -> Self {
        Self {
            due,
            level,
            causes: Causes::default(),
        }
    }

    pub(super) fn merge(&mut self, due: Instant, level: Level, cause: Cause) {
        self.due = self.due.min(due);
        self.level = self.level.max(level);
        self.causes.add(cause);
    }
}

impl<K> Slot<K> {
    pub(super) fn new(key: K, hash: u64, level: Level) -> Self {
        Self {
            key,
            hash,
            uid: None,
            seat: None,
            state: State::Idle,
            level,
            causes: Causes::default(),
            failures: 0,
            window: None,
        }
    }

    /// Where it stands, if it is ready.
    pub(super) fn place(&self) -> Option<&Place> {
        match &self.state {
            State::Ready(place) => Some(place),
            State::Idle | State::Waiting { .. } | State::Running(_) => None,
        }
    }

    /// Success, or another object: the past no longer counts.
    pub(super) fn forget(&mut self) {
        self.failures = 0;
        self.window = None;
    }

    /// Whether `uid` is known to be another object's than the slot's.
    pub(super) fn is_another(&self, uid: Option<Uid>) -> bool {
        matches!((self.uid, uid), (Some(known), Some(uid)) if known != uid)
    }

    /// Whether it waits for a later moment than this.
    pub(super) fn is_overtaken_at(&self, due: Instant) -> bool {
        matches!(self.state, State::Waiting { due: planned } if due < planned)
    }

    /// When a change that wants to run at `due` may.
    pub(super) fn admit(&self, due: Instant) -> Instant {
        let early_from = self.window.as_ref().and_then(|window| window.early_from);
        early_from.map_or(due, |from| due.max(from))
    }
}
