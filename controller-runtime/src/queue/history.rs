//! Random histories of a queue, held against its model after each step.
//!
//! The property test draws histories by strategy, the fuzz target `queue` reads them from bytes that coverage guides; both play them
//! here.

use std::{collections::BTreeMap, time::Duration};

use super::{
    After, Outcome, Queue, Seen, Settings, State, Wish,
    levels::penalty,
    model::{FIRST_STEP, Key, LONGEST_STEP},
};
use crate::{
    Backoff,
    clock::{self, Instant},
    trigger::{Cause, Level},
    uid::Uid,
};

/// One operation on a queue.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Trigger {
        key: u8,
        level: Level,
        uid: Option<u8>,
        /// Not before so many milliseconds have passed.
        not_before: Option<u16>,
    },
    Gone(u8),
    Sleep(u16),
    Pop,
    /// The running key of this rank ends, having seen that uid of its object, or the newest one.
    Finish {
        which: u8,
        saw: Option<u8>,
        outcome: Outcome,
    },
    /// The running key of this rank shall not run again for so many milliseconds.
    Postpone {
        which: u8,
        by: u16,
    },
}

/// What a history is played on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub(crate) debounce: Duration,
    pub(crate) resync: Option<Duration>,
}

impl Stage {
    fn settings(self) -> Settings {
        Settings {
            debounce: self.debounce,
            resync: self.resync,
            backoff: Backoff::default()
                .initial(FIRST_STEP)
                .max(LONGEST_STEP)
                .jitter(0.0),
        }
    }
}

/// Reads a history from bytes, whatever they are.
#[cfg(fuzzing)]
pub(crate) fn read(bytes: &[u8]) -> (Stage, Vec<Op>) {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let stage = Stage {
        debounce: Duration::from_millis([0, 400][usize::from(first & 1)]),
        resync: (first & 2 != 0).then_some(Duration::from_secs(5)),
    };
    let ops = rest.chunks_exact(4).map(|chunk| {
        let wide = u16::from_le_bytes([chunk[2], chunk[3]]);
        let uid = chunk[2].checked_sub(128).map(|uid| uid % 3);
        match chunk[0] % 10 {
            0..=2 => Op::Trigger {
                key: chunk[1] % 6,
                level: Level::ALL[usize::from(chunk[1]) / 6 % Level::ALL.len()],
                uid,
                not_before: chunk[3].checked_sub(200).map(|wait| u16::from(wait) * 50),
            },
            3 => Op::Gone(chunk[1] % 6),
            4 => Op::Sleep(wide % 12_000),
            5..=6 => Op::Pop,
            7..=8 => Op::Finish {
                which: chunk[1] % 6,
                saw: uid,
                outcome: OUTCOMES[usize::from(chunk[3]) % OUTCOMES.len()],
            },
            _ => Op::Postpone {
                which: chunk[1] % 6,
                by: wide % 3_000,
            },
        }
    });
    (stage, ops.collect())
}

/// Every way in which a run can end.
pub(crate) const OUTCOMES: [Outcome; 9] = [
    Outcome::Done,
    Outcome::Missing,
    Outcome::Requeue(Duration::ZERO),
    Outcome::Requeue(Duration::from_millis(700)),
    Outcome::Requeue(Duration::MAX),
    Outcome::Failed(After::Await),
    Outcome::Failed(After::Requeue(Duration::from_millis(300))),
    Outcome::Failed(After::Exactly(Duration::from_millis(2500))),
    Outcome::Failed(After::Backoff(0.0)),
];

/// Plays a history on a queue and on the model.
///
/// # Panics
///
/// Where they differ.
pub(crate) fn play(stage: Stage, ops: &[Op]) {
    let mut history = History {
        stage,
        queue: Queue::new(stage.settings()),
        keys: BTreeMap::new(),
        now: clock::now(),
    };
    for op in ops {
        history.step(op);
        history.agree();
    }
    history.come_to_rest();
}

struct History {
    stage: Stage,
    queue: Queue<u8>,
    keys: BTreeMap<u8, Key>,
    now: Instant,
}

impl History {
    fn step(&mut self, op: &Op) {
        match *op {
            Op::Trigger {
                key,
                level,
                uid,
                not_before,
            } => self.trigger(key, level, uid, not_before),
            Op::Gone(key) => {
                let wish = Wish {
                    level: Level::Deletion,
                    cause: Cause::Deleted,
                    uid: None,
                    gone: true,
                    not_before: None,
                };
                self.queue.trigger(key, wish, self.now);
                self.change(key, Key::gone);
            }
            Op::Sleep(time) => self.now += Duration::from_millis(time.into()),
            Op::Pop => {
                self.pop();
            }
            Op::Finish { which, saw, outcome } => {
                if let Some(key) = self.running(which) {
                    let newest = self.keys[&key].uid;
                    self.finish(key, saw.or(newest), outcome);
                }
            }
            Op::Postpone { which, by } => {
                if let Some(key) = self.running(which) {
                    let until = self.now + Duration::from_millis(by.into());
                    if let Some(run) = self.keys[&key].running {
                        self.queue.postpone(run.slot, until);
                    }
                    self.change(key, |key| key.postpone(until));
                }
            }
        }
    }

    fn trigger(&mut self, key: u8, level: Level, uid: Option<u8>, not_before: Option<u16>) {
        let now = self.now;
        let not_before = not_before.map(|wait| now + Duration::from_millis(wait.into()));
        let wish = Wish {
            level,
            cause: Cause::Updated,
            uid: uid.map(hashed),
            gone: false,
            not_before,
        };
        self.queue.trigger(key, wish, now);
        let due = (now + self.stage.debounce).max(not_before.unwrap_or(now));
        self.keys.entry(key).or_default().trigger(level, uid, due);
    }

    /// Something happens to a key, if it is known; what has nothing to do or to remember after it is not.
    fn change(&mut self, name: u8, change: impl FnOnce(&mut Key)) {
        if let Some(key) = self.keys.get_mut(&name) {
            change(key);
            if key.is_forgotten() {
                self.keys.remove(&name);
            }
        }
    }

    fn running(&self, which: u8) -> Option<u8> {
        let mut running = self.keys.iter().filter(|(_, key)| key.running.is_some());
        running.nth(which.into()).map(|(name, _)| *name)
    }

    fn pop(&mut self) -> Option<u8> {
        self.queue.advance(self.now);
        self.agree();
        let due = |key: &Key| key.running.is_none() && key.due().is_some_and(|due| due <= self.now);
        let ready = self.keys.values().filter(|key| due(key)).count();
        assert_eq!(self.queue.ready(), ready, "keys whose due has come are ready");
        let popped = self.queue.pop(self.now);
        assert_eq!(popped.is_some(), ready > 0, "a ready key is given out");
        let popped = popped?;
        let Some(key) = self.keys.get_mut(&popped.key) else {
            panic!("only a key with a reason runs");
        };
        assert!(key.running.is_none(), "key {} runs twice at once", popped.key);
        assert_eq!(Some(popped.since), key.due());
        assert_eq!(Some(popped.level), key.level());
        assert_eq!(popped.failures, key.failures);
        key.begin(popped.slot, self.now);
        for (name, other) in &self.keys {
            if let Some((since, level)) = other.ready {
                let overtaken_until = since + penalty(level);
                assert!(
                    popped.since + penalty(popped.level) <= overtaken_until,
                    "{} overtakes {name}, which waits longer than its level stands back",
                    popped.key,
                );
            }
        }
        Some(popped.key)
    }

    fn finish(&mut self, name: u8, saw: Option<u8>, outcome: Outcome) {
        let Some(run) = self.keys[&name].running else {
            return;
        };
        let seen = Seen {
            uid: saw.map(hashed),
            seat: None,
        };
        let next = self.queue.finish(run.slot, seen, outcome, self.now);
        let (stage, now) = (self.stage, self.now);
        let mut expected = (None, 0);
        self.change(name, |key| {
            key.end(run, saw, outcome, stage, now);
            expected = (key.due(), key.failures);
        });
        assert_eq!(
            (next.due, next.failures),
            expected,
            "after {outcome:?} of key {name}"
        );
    }

    /// Each key stands where its reasons put it.
    fn agree(&mut self) {
        self.queue.assert_invariants();
        assert_eq!(self.queue.len(), self.keys.len(), "{:?}", self.keys);
        for (name, key) in &mut self.keys {
            let slot = self.queue.slots.find(name).map(|id| self.queue.slots.get(id));
            let Some(slot) = slot else {
                panic!("key {name} has something to do or to remember, and no slot");
            };
            assert_eq!(slot.failures, key.failures, "failures of key {name}");
            let due = match &slot.state {
                State::Waiting { due } => Some(*due),
                State::Ready(place) => {
                    let seen = key.ready.get_or_insert((self.now, slot.level));
                    seen.1 = seen.1.min(slot.level);
                    Some(place.since)
                }
                State::Idle => None,
                State::Running(_) => {
                    assert!(key.running.is_some(), "key {name} runs");
                    continue;
                }
            };
            assert!(key.running.is_none(), "key {name} does not run");
            assert_eq!(due, key.due(), "key {name}: {key:?}");
        }
    }

    /// All that is owed runs, and nothing is left behind.
    fn come_to_rest(mut self) {
        self.stage.resync = None;
        self.queue.configure(self.stage.settings());
        for _ in 0..1_000 {
            while let Some(name) = self.running(0) {
                self.finish(name, None, Outcome::Done);
            }
            while let Some(name) = self.pop() {
                self.finish(name, None, Outcome::Done);
            }
            self.agree();
            match self.queue.next_due() {
                Some(due) => self.now = due,
                None => break,
            }
        }
        let owed = self.keys.values().filter(|key| key.due().is_some()).count();
        assert_eq!(
            (
                owed,
                self.queue.waiting(),
                self.queue.ready(),
                self.queue.running()
            ),
            (0, 0, 0, 0)
        );
    }
}

fn hashed(uid: u8) -> Uid {
    Uid::of(&uid.to_string())
}
