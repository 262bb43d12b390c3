//! How long to wait before an outside stream that failed is polled again.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kube::runtime::{utils::Backoff, watcher};

/// One backoff for all outside streams of a controller, set even after they were handed in.
#[derive(Clone)]
pub(crate) struct TriggerBackoff(Arc<Mutex<State>>);

struct State {
    backoff: Box<dyn Backoff>,
    /// It has given out a delay since it was reset.
    used: bool,
}

impl TriggerBackoff {
    pub(crate) fn set(&self, backoff: impl Backoff + 'static) {
        *self.lock() = State {
            backoff: Box::new(backoff),
            used: false,
        };
    }

    /// The delay after another failure; `None` when the stream is given up.
    pub(crate) fn next(&self) -> Option<Duration> {
        let mut state = self.lock();
        state.used = true;
        state.backoff.next()
    }

    pub(crate) fn reset(&self) {
        let mut state = self.lock();
        if std::mem::take(&mut state.used) {
            state.backoff.reset();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for TriggerBackoff {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State {
            backoff: Box::<watcher::DefaultBackoff>::default(),
            used: false,
        })))
    }
}

impl fmt::Debug for TriggerBackoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TriggerBackoff").finish_non_exhaustive()
    }
}
