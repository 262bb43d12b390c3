//! How long an object that fails waits: longer each time, until it succeeds.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kube::{ResourceExt, runtime::controller::Action};

/// How often each object failed, by its uid.
#[derive(Default)]
pub(crate) struct Backoff(Mutex<HashMap<String, u32>>);

impl Backoff {
    pub(crate) fn succeeded(&self, object: &impl ResourceExt) {
        self.failures().remove(&object.uid().unwrap_or_default());
    }

    pub(crate) fn failed(&self, object: &impl ResourceExt) -> Action {
        let mut failures = self.failures();
        let failures = failures.entry(object.uid().unwrap_or_default()).or_default();
        let wait = Duration::from_secs(2u64.saturating_pow(*failures).min(300));
        *failures += 1;
        Action::requeue(wait)
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
