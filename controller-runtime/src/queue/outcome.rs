//! How a run ended, and what that alone asks for.

use std::time::Duration;

use super::{
    Settings, Slot,
    causes::Planned,
    later,
    slot::{Run, Window},
};
use crate::clock::Instant;

/// A key that asks for it runs again no sooner than this after its last start: none spins, and none waits for nothing.
const SHORTEST: Duration = Duration::from_millis(1);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It succeeded.
    Done,
    /// It succeeded and asked to run again.
    Requeue(Duration),
    /// It failed.
    Failed(After),
    /// The object is not in the store.
    Missing,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum After {
    /// Nothing, until a change.
    Await,
    /// An ordinary requeue.
    Requeue(Duration),
    /// A retry by the backoff; the number in `0.0..1.0` is its random part.
    Backoff(f64),
    /// A retry in exactly this time, or later if one is scheduled later.
    Exactly(Duration),
}

/// What a finished run left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Next {
    /// When the key runs next, if that is known.
    pub(crate) due: Option<Instant>,
    /// Failures in a row, this run included.
    pub(crate) failures: u32,
}

/// What the outcome of a run alone asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) due: Instant,
    pub(super) what: Planned,
}

impl<K> Slot<K> {
    /// Counts the outcome, and tells what it asks for.
    pub(super) fn settle(
        &mut self,
        settings: &Settings,
        outcome: Outcome,
        run: &Run,
        now: Instant,
    ) -> Option<Plan> {
        let soonest = later(run.started, SHORTEST);
        let after_wait = |wait| later(now, wait).max(soonest);
        let resync = settings.resync.map(after_wait);
        let after = match outcome {
            Outcome::Missing => {
                self.forget();
                return None;
            }
            Outcome::Done => {
                self.forget();
                return resync.map(Plan::resync);
            }
            Outcome::Requeue(wait) => {
                self.forget();
                return Some(Plan::requeue(after_wait(wait), resync));
            }
            Outcome::Failed(after) => after,
        };
        let window = self.window.take();
        let scheduled = window.as_ref().map(|window| window.until);
        let scheduled = scheduled.filter(|until| run.early && *until > now);
        if scheduled.is_none() {
            self.failures = self.failures.saturating_add(1);
        }
        let until = match after {
            After::Await => return resync.map(Plan::resync),
            After::Requeue(wait) => return Some(Plan::requeue(after_wait(wait), resync)),
            After::Backoff(roll) => {
                scheduled.unwrap_or_else(|| after_wait(settings.backoff.delay(self.failures, roll)))
            }
            After::Exactly(wait) => {
                let wanted = after_wait(wait);
                scheduled.map_or(wanted, |until| until.max(wanted))
            }
        };
        let early_from = window.and_then(|window| window.early_from);
        self.window = Some(Box::new(Window { until, early_from }));
        Some(Plan {
            due: until,
            what: Planned::Retry,
        })
    }
}

impl Plan {
    fn resync(due: Instant) -> Self {
        Self {
            due,
            what: Planned::Resync,
        }
    }

    fn requeue(due: Instant, resync: Option<Instant>) -> Self {
        match resync {
            Some(resync) if resync < due => Self::resync(resync),
            _ => Self {
                due,
                what: Planned::Requeue,
            },
        }
    }
}
