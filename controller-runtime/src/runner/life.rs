//! The phases of a runner: how it ends.

use std::error::Error as StdError;

use kube::runtime::watcher;

use super::{Depth, Runner, shared::Gate};
use crate::{
    Error,
    clock::{self, Instant},
    object::Object,
    shutdown::Stage,
};

/// So many places for running keys are kept at rest.
const SMALL: usize = 1024;

/// Where a runner is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not polled yet.
    New,
    /// Takes keys from the queue.
    Running,
    /// Lets what runs finish, until then.
    Draining { until: Instant },
    /// Has nothing to do any more.
    Over,
}

impl<K: Object, R, P, E: StdError + 'static> Runner<K, R, P, E> {
    pub(super) fn tell(&mut self, error: Error<E, watcher::Error>) {
        self.outbox.push(Err(Box::new(error)));
    }

    /// Reads what inputs and signals left in the shared state.
    pub(super) fn look_around(&mut self, now: Instant) -> Stage {
        let mut shared = self.shared.lock();
        let errors = std::mem::take(&mut shared.source_errors);
        let mut stage = shared.stage;
        let broken = match &mut shared.gate {
            Gate::Broken(error) => error.take(),
            Gate::Open(_) | Gate::Closed(_) => None,
        };
        // Streams from outside may end; then what they asked for is done and the controller ends.
        if shared.open_inputs == 0 && shared.is_open() {
            shared.queue.advance(now);
            // A debounce window that is open is waited for; a requeue that is further away is not.
            let soon = shared
                .queue
                .next_due()
                .is_some_and(|due| due <= now + self.config.debounce);
            if shared.queue.ready() == 0 && shared.queue.running() == 0 && !soon {
                stage = stage.max(Stage::Draining);
            }
        }
        drop(shared);
        for error in errors {
            self.tell(Error::QueueError(error));
        }
        if let Some(error) = broken {
            self.tell(Error::RunnerError(error));
            stage = Stage::Stopped;
        }
        stage
    }

    /// Tells when all is quiet, and ends the controller when a shutdown is through.
    pub(super) fn finish_up(&mut self, view: &Depth, stage: Stage, now: Instant) {
        match self.phase {
            Phase::Running if view.synced && view.ready == 0 && view.running == 0 && !self.settled => {
                self.settled = true;
                // Nothing runs, so all places are empty: what a rush left behind is given back.
                self.running.truncate(0);
                self.running.shrink_to(SMALL);
                self.teller.settled(view.next_due);
            }
            Phase::Draining { until } if view.running == 0 || stage == Stage::Stopped || until <= now => {
                self.interrupt();
                self.phase = Phase::Over;
                self.teller.stopped();
            }
            Phase::New | Phase::Running | Phase::Draining { .. } | Phase::Over => {}
        }
    }

    /// Drops what still runs, and names it.
    fn interrupt(&mut self) {
        for pump in self.pumps.drain(..) {
            pump.abort();
        }
        let under_way = self.shared.lock().queue.under_way();
        let now = clock::now();
        for (slot, key, started) in under_way {
            let Some(running) = self.running.get_mut(slot.index()).and_then(Option::take) else {
                continue;
            };
            running.task.abort();
            tracing::warn!(object.ref = %self.shared.key(&key), "still running at the end of the shutdown: dropped");
            self.teller.interrupted(running.run.id, &key, now - started);
            self.tell(Error::Interrupted(Box::new(self.shared.key(&key).erase())));
        }
    }
}
