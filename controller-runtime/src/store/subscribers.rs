//! Who hears of the changes of a store.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::Delta;
use crate::object::Object;

type Handler<T> = Box<dyn FnMut(&Delta<T>) + Send>;

/// Keeps a handler subscribed. Dropping it ends the subscription; [`detach`](Self::detach) makes it last.
///
/// A handler that is running at that moment, on another thread, runs to its end.
#[must_use = "dropping a subscription ends it"]
pub struct Subscription {
    alive: Option<Arc<AtomicBool>>,
}

impl Subscription {
    /// Lets the handler stay for as long as the informer.
    pub fn detach(mut self) {
        self.alive = None;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(alive) = &self.alive {
            alive.store(false, Ordering::Release);
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

/// Handlers, in the order in which they came.
pub(super) struct Subscribers<T: Object> {
    all: Vec<Subscriber<T>>,
}

struct Subscriber<T: Object> {
    alive: Arc<AtomicBool>,
    handler: Handler<T>,
}

impl<T: Object> Subscribers<T> {
    pub(super) fn new() -> Self {
        Self { all: Vec::new() }
    }

    /// Gives the snapshot to `handler`, and keeps it for what comes.
    pub(super) fn add(
        &mut self,
        snapshot: impl Iterator<Item = Delta<T>>,
        handler: impl FnMut(&Delta<T>) + Send + 'static,
    ) -> Subscription {
        let mut subscriber = Subscriber {
            alive: Arc::new(AtomicBool::new(true)),
            handler: Box::new(handler),
        };
        for delta in snapshot {
            subscriber.hear(&delta);
        }
        let alive = Some(Arc::clone(&subscriber.alive));
        self.all.push(subscriber);
        Subscription { alive }
    }

    pub(super) fn tell(&mut self, delta: &Delta<T>) {
        self.all.retain(Subscriber::is_alive);
        for subscriber in &mut self.all {
            subscriber.hear(delta);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl<T: Object> Subscriber<T> {
    fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// A panic ends this call of the handler only: neither the watch nor the other handlers.
    fn hear(&mut self, delta: &Delta<T>) {
        if !self.is_alive() {
            return;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.handler)(delta)));
        if outcome.is_err() {
            tracing::error!(object = %delta.key, "a handler panicked on a change of this object; the watch goes on");
        }
    }
}
