//! The queue's rules once more, for one key, as naively as they can be written.
//!
//! Every wish that is not served yet is kept by itself, and the sums are done when they are asked for.

use std::time::Duration;

use super::{After, Outcome, SlotId, history::Stage, later};
use crate::{clock::Instant, trigger::Level};

pub(super) const FIRST_STEP: Duration = Duration::from_secs(1);
pub(super) const LONGEST_STEP: Duration = Duration::from_secs(8);
const SHORTEST_REQUEUE: Duration = Duration::from_millis(1);

/// A reason to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reason {
    pub(super) due: Instant,
    pub(super) level: Level,
}

/// What is known of a key.
#[derive(Debug, Default)]
pub(super) struct Key {
    pub(super) uid: Option<u8>,
    pub(super) failures: u32,
    /// When its retry is due, and before when no change runs it.
    pub(super) retry: Option<(Instant, Option<Instant>)>,
    /// Why it is to run, or to run again if it runs.
    pub(super) reasons: Vec<Reason>,
    pub(super) running: Option<Run>,
    /// Since when it was seen ready, and at which level at the lowest.
    pub(super) ready: Option<(Instant, Level)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) slot: SlotId,
    pub(super) started: Instant,
    pub(super) early: bool,
    pub(super) gone: bool,
}

impl Key {
    pub(super) fn due(&self) -> Option<Instant> {
        self.reasons.iter().map(|reason| reason.due).min()
    }

    pub(super) fn level(&self) -> Option<Level> {
        self.reasons.iter().map(|reason| reason.level).max()
    }

    pub(super) fn forget(&mut self) {
        self.failures = 0;
        self.retry = None;
    }

    /// Not before the next early run may be.
    pub(super) fn admit(&self, due: Instant) -> Instant {
        let early_from = self.retry.and_then(|(_, early_from)| early_from);
        due.max(early_from.unwrap_or(due))
    }

    pub(super) fn is_another(&self, uid: Option<u8>) -> bool {
        matches!((self.uid, uid), (Some(known), Some(uid)) if known != uid)
    }

    pub(super) fn trigger(&mut self, level: Level, uid: Option<u8>, due: Instant) {
        if self.is_another(uid) {
            self.forget();
            self.uid = uid;
        }
        self.uid = self.uid.or(uid);
        let due = if self.running.is_some() {
            due
        } else {
            self.admit(due)
        };
        self.reasons.push(Reason { due, level });
    }

    pub(super) fn gone(&mut self) {
        self.forget();
        self.uid = None;
        self.reasons.clear();
        if let Some(run) = &mut self.running {
            run.gone = true;
        }
    }

    pub(super) fn postpone(&mut self, until: Instant) {
        if self.level().is_some_and(|level| level < Level::Explicit) {
            for reason in &mut self.reasons {
                reason.due = reason.due.max(until);
            }
        }
    }

    pub(super) fn begin(&mut self, slot: SlotId, now: Instant) {
        self.reasons.clear();
        self.ready = None;
        let early = self.retry.is_some_and(|(until, _)| until > now);
        if let Some((_, early_from)) = self.retry.as_mut().filter(|_| early) {
            *early_from = Some(now + FIRST_STEP);
        }
        self.running = Some(Run {
            slot,
            started: now,
            early,
            gone: false,
        });
    }

    pub(super) fn end(&mut self, run: Run, saw: Option<u8>, outcome: Outcome, stage: Stage, now: Instant) {
        self.running = None;
        let mut own = None;
        if !run.gone && !self.is_another(saw) {
            self.uid = self.uid.or(saw);
            own = self.own_reason(run, outcome, stage, now);
        }
        for reason in std::mem::take(&mut self.reasons) {
            let due = self.admit(reason.due);
            self.reasons.push(Reason { due, ..reason });
        }
        self.reasons.extend(own);
    }

    /// What a run's end itself asks for.
    pub(super) fn own_reason(
        &mut self,
        run: Run,
        outcome: Outcome,
        stage: Stage,
        now: Instant,
    ) -> Option<Reason> {
        let after = |wait| later(now, wait).max(run.started + SHORTEST_REQUEUE);
        let resync = stage.resync.map(|every| Reason {
            due: after(every),
            level: Level::Bulk,
        });
        let requeue = |wait| {
            let asked = Reason {
                due: after(wait),
                level: Level::Requeue,
            };
            Some(resync.filter(|resync| resync.due < asked.due).unwrap_or(asked))
        };
        let follows = match outcome {
            Outcome::Failed(follows) => follows,
            Outcome::Done | Outcome::Missing | Outcome::Requeue(_) => {
                self.forget();
                return match outcome {
                    Outcome::Requeue(wait) => requeue(wait),
                    Outcome::Done => resync,
                    _ => None,
                };
            }
        };
        let retry = self.retry.take();
        // Inside a retry window a failure neither counts nor makes the retry come sooner.
        let planned = retry
            .map(|(until, _)| until)
            .filter(|until| run.early && *until > now);
        self.failures += u32::from(planned.is_none());
        let until = match follows {
            After::Await => return resync,
            After::Requeue(wait) => return requeue(wait),
            After::Backoff(_) => planned.unwrap_or_else(|| {
                let doubled = FIRST_STEP * 2_u32.saturating_pow(self.failures - 1);
                after(doubled.min(LONGEST_STEP))
            }),
            After::Exactly(wait) => after(wait).max(planned.unwrap_or(now)),
        };
        self.retry = Some((until, retry.and_then(|(_, early_from)| early_from)));
        Some(Reason {
            due: until,
            level: Level::Retry,
        })
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.running.is_none() && self.reasons.is_empty() && self.failures == 0
    }
}
