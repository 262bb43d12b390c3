//! The queue: which key runs when, as pure data.
//!
//! It does no I/O, reads no clock and knows no task: `now` and the random part of a backoff come in as arguments.
//!
//! - One slot for each key, and one state for each slot: a key is never given out twice at the same time.
//! - A wish that comes while its key runs is kept, and the key runs again: the last change is never lost.
//! - A debounce window is opened by the first wish and never postponed. Requeues and retries are not made longer by it.
//! - Ready keys run in the order of `ready since + penalty(level)`: urgent ones first, and none starves. Of one level,
//!   they run in the order in which they came.
//! - A slot with nothing to do and no failures to remember is freed; so is that of an object that vanished.
//! - Every step is O(1) in the keys that are ready or running, and O(log n) in those that wait for a due.
//!
//! Not promised: that runs of different keys start in the order of their wishes, or that each wish has a run of its own.

mod causes;
mod heap;
#[cfg(any(test, fuzzing))]
pub(crate) mod history;
mod levels;
mod look;
#[cfg(any(test, fuzzing))]
mod model;
mod outcome;
mod ready;
mod slot;
mod slots;
#[cfg(test)]
mod tests;

use std::{hash::Hash, time::Duration};

pub(crate) use causes::Causes;
use heap::Heap;
pub(crate) use look::Standing;
pub(crate) use outcome::{After, Next, Outcome};
use ready::Ready;
pub(crate) use slot::SlotId;
use slot::{Again, Run, Slot, State};
use slots::Slots;

use crate::{
    Backoff,
    clock::Instant,
    store::Seat,
    trigger::{Cause, Level},
    uid::Uid,
};

/// A longer wait is cut to this: thirty years, which every platform's clock can add.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The numbers that steer a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) debounce: Duration,
    pub(crate) resync: Option<Duration>,
    pub(crate) backoff: Backoff,
}

/// A wish that a key runs.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) level: Level,
    pub(crate) cause: Cause,
    /// The uid of the primary, where the trigger knows it.
    pub(crate) uid: Option<Uid>,
    /// The primary is gone: there is nothing to run, and nothing to remember.
    pub(crate) gone: bool,
    /// For this wish the key shall not run earlier.
    pub(crate) not_before: Option<Instant>,
}

/// A key to run, until [`Queue::finish`] gives its slot back.
#[derive(Debug)]
pub(crate) struct Popped<K> {
    pub(crate) slot: SlotId,
    pub(crate) key: K,
    pub(crate) failures: u32,
    pub(crate) level: Level,
    /// Since when it could have run.
    pub(crate) since: Instant,
    /// Where its object was found last.
    pub(crate) seat: Option<Seat>,
}

/// What a run saw of its object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) uid: Option<Uid>,
    pub(crate) seat: Option<Seat>,
}

/// The keys of one controller. A key is cheap to clone.
#[derive(Debug)]
pub(crate) struct Queue<K> {
    settings: Settings,
    slots: Slots<K>,
    /// The waiting slots by their due; of one due, first come, first served.
    timers: Heap<(Instant, u64)>,
    /// The ready slots in their order.
    ready: Ready,
    /// How many slots are in state `Running`, and how many of them shall run again.
    running: usize,
    again: usize,
    /// Breaks ties in favour of the first.
    sequence: u64,
    /// How often a key became ready.
    adds: u64,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            slots: Slots::default(),
            timers: Heap::default(),
            ready: Ready::default(),
            running: 0,
            again: 0,
            sequence: 0,
            adds: 0,
        }
    }

    pub(crate) fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// When the next waiting key becomes ready.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.timers.first().map(|((due, _), _)| due)
    }

    /// Takes a wish in.
    pub(crate) fn trigger(&mut self, key: K, wish: Wish, now: Instant) {
        if wish.gone {
            self.vanish(&key);
            return;
        }
        let due = later(now, self.settings.debounce);
        let due = wish.not_before.map_or(due, |not_before| due.max(not_before));
        let id = self.slots.find_or_insert(key, wish.level);
        let slot = self.slots.get_mut(id);
        let replaced = slot.is_another(wish.uid);
        if replaced {
            slot.forget();
        }
        if replaced || slot.uid.is_none() {
            slot.uid = wish.uid;
        }
        if let State::Running(run) = &mut slot.state {
            self.again += usize::from(run.again.is_none());
            run.again
                .get_or_insert_with(|| Box::new(Again::new(due, wish.level)))
                .merge(due, wish.level, wish.cause);
            self.check(id);
            return;
        }
        let raised = wish.level > slot.level;
        slot.level = slot.level.max(wish.level);
        let due = slot.admit(due);
        if slot.is_overtaken_at(due) {
            slot.causes.overtake();
        }
        slot.causes.add(wish.cause);
        match slot.state {
            State::Idle => {
                slot.level = wish.level;
                self.wait(id, due, now);
            }
            State::Waiting { due: planned } if due < planned => self.wait(id, due, now),
            State::Ready(place) if raised && place.is_behind(wish.level, now) => {
                self.ready.leave(&mut self.slots, &place);
                self.ready.push(&mut self.slots, id, place.since);
            }
            State::Waiting { .. } | State::Ready(_) | State::Running(_) => {}
        }
        self.check(id);
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

    /// Makes the keys ready whose due has come.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(((due, _), id)) = self.timers.first()
            && due <= now
        {
            self.timers.remove(id);
            self.line_up(id, due);
            self.check(id);
        }
    }

    /// Gives out the ready key whose turn it is.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Popped<K>> {
        self.advance(now);
        let id = self.ready.first(&self.slots)?;
        let place = *self.slots.get(id).place()?;
        self.ready.leave(&mut self.slots, &place);
        self.running += 1;
        let first_step = self.settings.backoff.first();
        let slot = self.slots.get_mut(id);
        let early = slot.window.as_mut().filter(|window| window.until > now);
        let run = Run {
            started: now,
            again: None,
            early: early.is_some(),
            gone: false,
        };
        if let Some(window) = early {
            window.early_from = Some(later(now, first_step));
        }
        slot.state = State::Running(run);
        let popped = Popped {
            slot: id,
            key: slot.key.clone(),
            failures: slot.failures,
            level: slot.level,
            since: place.since,
            seat: slot.seat,
        };
        self.check(id);
        Some(popped)
    }

    /// Why a key that was given out runs, oldest cause first.
    pub(crate) fn causes(&self, slot: SlotId) -> Vec<Cause> {
        self.slots.get(slot).causes.to_vec()
    }

    /// The keys that run, and since when.
    pub(crate) fn under_way(&self) -> Vec<(SlotId, K, Instant)> {
        let slots = self.slots.iter();
        let running = slots.filter_map(|(id, slot)| match &slot.state {
            State::Running(run) => Some((id, slot.key.clone(), run.started)),
            State::Idle | State::Waiting { .. } | State::Ready(_) => None,
        });
        running.collect()
    }

    /// Takes a key back after its run.
    pub(crate) fn finish(&mut self, id: SlotId, seen: Seen, outcome: Outcome, now: Instant) -> Next {
        let slot = self.slots.get_mut(id);
        let State::Running(run) = std::mem::replace(&mut slot.state, State::Idle) else {
            debug_assert!(false, "only a running key can finish");
            return Next {
                due: None,
                failures: 0,
            };
        };
        self.running -= 1;
        slot.seat = seen.seat;
        let planned = if run.gone || slot.is_another(seen.uid) {
            None
        } else {
            slot.uid = slot.uid.or(seen.uid);
            slot.settle(&self.settings, outcome, &run, now)
        };
        slot.causes.plan(planned.map(|plan| plan.what));
        let mut due = planned.map(|plan| plan.due);
        if let Some(plan) = planned {
            slot.level = plan.what.level();
        }
        if let Some(again) = run.again {
            self.again -= 1;
            let wanted = slot.admit(again.due);
            slot.level = if due.is_some() {
                slot.level.max(again.level)
            } else {
                again.level
            };
            if due.is_some_and(|due| wanted < due) {
                slot.causes.overtake();
            }
            slot.causes.append(again.causes);
            due = Some(due.map_or(wanted, |due| due.min(wanted)));
        }
        let failures = slot.failures;
        match due {
            Some(due) => self.wait(id, due, now),
            None if failures == 0 || run.gone => self.free(id),
            None => {}
        }
        self.check(id);
        Next { due, failures }
    }

    /// The primary is gone: no requeue, no retry, no count outlives it.
    pub(super) fn vanish(&mut self, key: &K) {
        let Some(id) = self.slots.find(key) else { return };
        let slot = self.slots.get_mut(id);
        slot.uid = None;
        slot.forget();
        match &mut slot.state {
            State::Running(run) => {
                run.gone = true;
                self.again -= usize::from(run.again.take().is_some());
            }
            State::Idle => self.free(id),
            State::Waiting { .. } => {
                self.timers.remove(id);
                self.free(id);
            }
            State::Ready(place) => {
                let place = *place;
                self.ready.leave(&mut self.slots, &place);
                self.free(id);
            }
        }
        self.check(id);
    }

    /// Lets a slot wait for `due`, or makes it ready if that is past.
    fn wait(&mut self, id: SlotId, due: Instant, now: Instant) {
        if due <= now {
            self.timers.remove(id);
            self.line_up(id, due);
            return;
        }
        self.sequence += 1;
        self.timers.set(id, (due, self.sequence));
        self.slots.get_mut(id).state = State::Waiting { due };
    }

    /// Makes a slot ready.
    fn line_up(&mut self, id: SlotId, since: Instant) {
        self.adds += 1;
        self.ready.push(&mut self.slots, id, since);
    }

    /// What every step on a slot leaves behind: the slot stands where its state says, and nowhere else. Costs O(1), and
    /// nothing in a release.
    fn check(&self, id: SlotId) {
        if cfg!(debug_assertions) {
            let state = self.slots.state(id);
            let waits = matches!(state, Some(State::Waiting { .. }));
            assert_eq!(self.timers.contains(id), waits, "in the timers: {state:?}");
            if let Some(State::Ready(place)) = state {
                self.ready.check(&self.slots, id, place);
            }
            assert!(self.timers.len() + self.ready.len() + self.running <= self.slots.len());
            assert!(self.again <= self.running, "only what runs can run again");
        }
    }

    fn free(&mut self, id: SlotId) {
        self.slots.remove(id);
        if let Some(used) = self.slots.shrink() {
            self.timers.shrink(used);
        }
    }
}

/// `wait` after `now`, as far as clocks go.
fn later(now: Instant, wait: Duration) -> Instant {
    now + wait.min(LONGEST)
}

#[cfg(any(test, fuzzing))]
impl<K: Clone + Eq + Hash> Queue<K> {
    /// Everything that the fields promise, checked in full.
    pub(crate) fn assert_invariants(&self) {
        self.slots.assert_invariants();
        self.timers.assert_invariants();
        self.ready.assert_invariants(&self.slots);
        let (mut waiting, mut ready, mut running, mut again) = (0, 0, 0, 0);
        for (_, slot) in self.slots.iter() {
            match &slot.state {
                State::Idle => assert!(slot.failures > 0, "an idle slot without failures is free"),
                State::Waiting { .. } => waiting += 1,
                State::Ready(_) => ready += 1,
                State::Running(run) => {
                    running += 1;
                    again += usize::from(run.again.is_some());
                }
            }
            assert!(
                slot.window.is_none() || slot.failures > 0,
                "a retry window implies failures"
            );
        }
        assert_eq!((waiting, ready), (self.timers.len(), self.ready.len()));
        assert_eq!((running, again), (self.running, self.again));
    }
}
