//! What follows from the end of a run: the one place where outcomes are handled.

use std::{error::Error as StdError, time::Duration};

use super::{Run, Runner, guard::guard, task::Ended};
use crate::{
    Action,
    action::Next,
    object::Object,
    queue::{After, Outcome},
};

/// How a run ended, after the error policy.
#[derive(Debug)]
pub(super) enum Judged<E> {
    Succeeded(Action),
    Failed(E),
    GaveUp(E),
    Panicked(String),
    TimedOut(Duration),
}

impl<K, R, P, E> Runner<K, R, P, E>
where
    K: Object,
    P: FnMut(&Run<K>, &E) -> Action,
    E: StdError + 'static,
{
    /// What the queue is told, and what everyone else is.
    pub(super) fn judge(&mut self, run: &Run<K>, ended: Ended<E>) -> (Outcome, Judged<E>) {
        let rng = &mut self.rng;
        let mut retry = || Outcome::Failed(After::Backoff(rng.f64()));
        match ended {
            Ended::Panicked(message) => (retry(), Judged::Panicked(message)),
            Ended::TimedOut(limit) => (retry(), Judged::TimedOut(limit)),
            Ended::Succeeded(action) => {
                let outcome = match action.clone().into_next() {
                    Next::Await | Next::GiveUp => Outcome::Done,
                    Next::Requeue(wait) => Outcome::Requeue(wait),
                    Next::Retry => retry(),
                    Next::RetryAfter(wait) => Outcome::Failed(After::Exactly(wait)),
                };
                (outcome, Judged::Succeeded(action))
            }
            Ended::Failed(error) => {
                let policy = &mut self.policy;
                match guard(|| policy(run, &error)).map(Action::into_next) {
                    Err(message) => (retry(), Judged::Panicked(message)),
                    Ok(Next::Await) => (Outcome::Failed(After::Await), Judged::Failed(error)),
                    Ok(Next::GiveUp) => (Outcome::Failed(After::Await), Judged::GaveUp(error)),
                    Ok(Next::Requeue(wait)) => (Outcome::Failed(After::Requeue(wait)), Judged::Failed(error)),
                    Ok(Next::Retry) => (retry(), Judged::Failed(error)),
                    Ok(Next::RetryAfter(wait)) => {
                        (Outcome::Failed(After::Exactly(wait)), Judged::Failed(error))
                    }
                }
            }
        }
    }
}
