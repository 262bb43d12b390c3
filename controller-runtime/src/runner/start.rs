//! From a key to a running task.

use std::{error::Error as StdError, task::Context};

use super::{
    Inlet, Run, Runner,
    drive::Running,
    guard::guard,
    limit::Permit,
    shared::BUDGET,
    task::{Duty, Ended},
};
use crate::{
    Action, Error,
    clock::Instant,
    hot_loop,
    name::Name,
    object::Object,
    queue::{Outcome, Popped, Seen},
    store::Found,
    trigger::{Cause, Request},
};

impl<K, R, P, E, Fut> Runner<K, R, P, E>
where
    K: Object,
    R: FnMut(Run<K>) -> Fut,
    E: StdError + Send + 'static,
    Fut: Future<Output = Result<Action, E>> + Send + 'static,
{
    /// Starts what may run, within the budget; tells whether more may.
    pub(super) fn give_out(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        let limit = match self.config.concurrency {
            0 => usize::MAX,
            limit => usize::from(limit),
        };
        let (limit, mut permits, more_permitted) = match &mut self.permits {
            Some(shared_limit) => {
                let wanted = self.shared.could_pop(limit, now);
                let permits = shared_limit.take(wanted, cx);
                let running = self.shared.view().running;
                let more = permits.len() == wanted && wanted >= BUDGET;
                (running + permits.len(), permits, Some(more))
            }
            None => (limit, Vec::new(), None),
        };
        let mut popped = std::mem::take(&mut self.popped);
        let more = self.shared.pop(&mut popped, &mut self.accused, limit, now);
        let mut passed_over = false;
        for key in popped.drain(..) {
            passed_over |= !self.start(key, permits.pop(), now);
        }
        self.popped = popped;
        self.look_at_circles();
        // What was not started leaves its place to another, and nothing else would tell of that.
        passed_over || more_permitted.unwrap_or(more)
    }

    /// Tells of keys that were found to run in circles, or lets them go.
    fn look_at_circles(&mut self) {
        for (key, accusation) in self.accused.drain(..) {
            if !self.teller.circle(&self.shared.key(&key), accusation) {
                self.shared.lock().guard.acquit(hot_loop::number(&key));
            }
        }
    }

    /// Starts a run, if there is something to run for; tells whether.
    fn start(&mut self, popped: Popped<Name>, permit: Option<Permit>, now: Instant) -> bool {
        self.settled = false;
        let key = || self.shared.key(&popped.key);
        let seated = popped.seat.and_then(|seat| self.cache.find_seated(seat));
        let Some(found) = seated.or_else(|| self.cache.find_seat(&key())) else {
            self.miss(&popped, now);
            return false;
        };
        let Found {
            object,
            uid,
            paused,
            seat,
        } = found;
        if seat.is_none() && object.meta().namespace.as_deref() != popped.key.namespace() {
            self.redirect(&popped, &object, now);
            return false;
        }
        if paused {
            self.leave_alone(&popped, now);
            return false;
        }
        self.runs += 1;
        let run = Run {
            object,
            failures: popped.failures,
            id: self.runs,
        };
        let span = self.teller.started(&run, &popped, &self.shared, now);
        let reconcile = &mut self.reconcile;
        let future = guard(|| span.in_scope(|| reconcile(run.clone())));
        let (slot, care) = (popped.slot, self.care.of(&run));
        let duty = Duty::of(slot, permit, &self.port);
        let task = match future {
            Ok(future) => duty.spawn(future, span, care),
            Err(message) => duty.spawn_ended(Ended::Panicked(message), span, care),
        };
        let index = slot.index();
        if index >= self.running.len() {
            self.running.resize_with(index + 1, || None);
        }
        debug_assert!(self.running[index].is_none(), "a key never runs twice at once");
        self.running[index] = Some(Running {
            key: popped.key,
            run,
            seen: Seen { uid, seat },
            started: now,
            task,
        });
        true
    }

    /// The object is not in the store.
    fn miss(&mut self, popped: &Popped<Name>, now: Instant) {
        self.shared
            .lock()
            .queue
            .finish(popped.slot, Seen::default(), Outcome::Missing, now);
        let key = self.shared.key(&popped.key);
        self.teller.missed(&key);
        tracing::debug!(object.ref = %key, "not in the store: nothing to reconcile");
        self.tell(Error::ObjectNotFound(Box::new(key.erase())));
    }

    /// The object is paused: the change that ends it wakes the key again.
    fn leave_alone(&mut self, popped: &Popped<Name>, now: Instant) {
        self.shared
            .lock()
            .queue
            .finish(popped.slot, Seen::default(), Outcome::Missing, now);
        tracing::debug!(object.ref = %self.shared.key(&popped.key), "paused: not reconciled");
        self.teller.paused(&popped.key);
    }

    /// The key names a cluster-scoped object with a namespace: two keys for one object could run at the same time.
    fn redirect(&mut self, popped: &Popped<Name>, object: &K, now: Instant) {
        let cause = {
            let mut state = self.shared.lock();
            let cause = state.queue.causes(popped.slot).pop();
            state
                .queue
                .finish(popped.slot, Seen::default(), Outcome::Missing, now);
            cause.unwrap_or(Cause::Updated)
        };
        let mut key = self.shared.key(&popped.key);
        key.namespace.clone_from(&object.meta().namespace);
        Inlet::new(&self.shared).push(Request {
            key,
            level: popped.level,
            cause,
            uid: None,
            gone: false,
        });
    }
}
