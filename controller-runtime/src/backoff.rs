//! How long to wait after the nth failure in a row.
//!
//! Pure: the random part comes in as an argument. The runtime counts failures for each key, forgets them on any
//! success and when the object is replaced, and waits as long as a [`Backoff`] says.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    Action, clock,
    memory::shrink,
    object::{Object, ObjectRef},
};

/// Exponential waits with a cap and a random part.
///
/// ```
/// use std::time::Duration;
/// use controller_runtime::Backoff;
///
/// let backoff = Backoff::default().initial(Duration::from_secs(1)).max(Duration::from_secs(64)).jitter(0.0);
/// assert_eq!(backoff.delay(1, 0.0), Duration::from_secs(1));
/// assert_eq!(backoff.delay(4, 0.0), Duration::from_secs(8));
/// assert_eq!(backoff.delay(1_000_000, 0.0), Duration::from_secs(64));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    initial: Duration,
    max: Duration,
    factor: f64,
    jitter: f64,
}

impl Default for Backoff {
    /// One second, doubled up to five minutes, a tenth of it random.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(300),
            factor: 2.0,
            jitter: 0.1,
        }
    }
}

impl Backoff {
    /// The wait after the first failure.
    #[must_use]
    pub fn initial(mut self, initial: Duration) -> Self {
        self.initial = initial;
        self
    }

    /// The longest wait.
    #[must_use]
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// By what each wait is longer than the one before. Less than one means one.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = if factor >= 1.0 { factor } else { 1.0 };
        self
    }

    /// Which part of a wait is random, from 0 (none) to 1 (all of it). Keys that failed together then do not come
    /// back together.
    #[must_use]
    pub fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = if jitter > 0.0 { jitter.min(1.0) } else { 0.0 };
        self
    }

    /// The wait after `failures` failures in a row; `roll` is a random number in `0.0..1.0`.
    ///
    /// The random part shortens a wait, so that `max` is never exceeded.
    pub fn delay(&self, failures: u32, roll: f64) -> Duration {
        let exponent = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        let max = self.max.as_secs_f64();
        // Infinite for large exponents, which `min` turns into `max`.
        let full = (self.initial.as_secs_f64() * self.factor.powi(exponent)).min(max);
        Duration::try_from_secs_f64(full * (1.0 - self.jitter * roll.clamp(0.0, 1.0))).unwrap_or(self.max)
    }

    /// The wait after the first failure, without its random part.
    pub(crate) fn first(&self) -> Duration {
        self.initial.min(self.max)
    }
}

/// An error policy: try again by the controller's own [`Backoff`], counted for each object.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use futures::StreamExt;
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// use controller_runtime::{Action, Controller, backoff};
///
/// # async fn reconcile(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, kube::Error> { Ok(Action::await_change()) }
/// # async fn example(client: kube::Client) {
/// Controller::new(kube::Api::<ConfigMap>::all(client), Default::default())
///     .run(reconcile, backoff(), Arc::new(()))
///     .for_each(|_| async {})
///     .await;
/// # }
/// ```
pub fn backoff<K, E, C>() -> impl Fn(Arc<K>, &E, Arc<C>) -> Action {
    |_, _, _| Action::retry()
}

/// Failures counted by hand, for reconcilers that do not leave it to the controller: a part of a context.
///
/// An error policy asks for the wait after another failure, the reconciler forgets it on success.
///
/// ```
/// use std::time::Duration;
/// use controller_runtime::{Action, Backoff, FailureCounts, object::ObjectRef};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// struct Context {
///     failures: FailureCounts<ConfigMap>,
/// }
///
/// let context = Context {
///     failures: FailureCounts::new(Backoff::default().initial(Duration::from_secs(2)).max(Duration::from_secs(64)).jitter(0.0)),
/// };
/// let object = ObjectRef::<ConfigMap>::new("a").within("default");
/// // In the error policy:
/// assert_eq!(context.failures.failed(&object), Duration::from_secs(2));
/// assert_eq!(context.failures.failed(&object), Duration::from_secs(4));
/// let _action = Action::requeue(context.failures.failed(&object));
/// // In the reconciler, after success and after cleanup:
/// context.failures.forget(&object);
/// assert_eq!(context.failures.failed(&object), Duration::from_secs(2));
/// ```
pub struct FailureCounts<K: Object> {
    backoff: Backoff,
    /// Only keys whose last run failed.
    counts: Mutex<(HashMap<ObjectRef<K>, u32>, fastrand::Rng)>,
}

impl<K: Object> FailureCounts<K> {
    /// Counts from zero.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            counts: Mutex::new((HashMap::new(), clock::rng(None))),
        }
    }

    /// Counts another failure; gives how long to wait.
    pub fn failed(&self, object: &ObjectRef<K>) -> Duration {
        let (counts, rng) = &mut *self.lock();
        let count = counts.entry(object.clone()).or_default();
        *count = count.saturating_add(1);
        self.backoff.delay(*count, rng.f64())
    }

    /// Forgets the failures of an object: it succeeded, or is gone.
    pub fn forget(&self, object: &ObjectRef<K>) {
        let (counts, _) = &mut *self.lock();
        counts.remove(object);
        shrink(counts);
    }

    fn lock(&self) -> MutexGuard<'_, (HashMap<ObjectRef<K>, u32>, fastrand::Rng)> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Object> fmt::Debug for FailureCounts<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailureCounts")
            .field("backoff", &self.backoff)
            .field("failing", &self.lock().0.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fuzz::fuzz;

    #[test]
    fn a_wait_never_exceeds_the_cap_and_never_panics() {
        let numbers = (
            (any::<u64>(), any::<u64>(), -10.0..1e300_f64),
            (-1.0..2.0_f64, 0.0..1.0_f64, any::<u32>()),
        );
        fuzz(
            256,
            &numbers,
            |((initial, max, factor), (jitter, roll, failures))| {
                let backoff = Backoff::default()
                    .initial(Duration::from_millis(initial))
                    .max(Duration::from_millis(max))
                    .factor(factor)
                    .jitter(jitter);
                let wait = backoff.delay(failures, roll).as_secs_f64();
                prop_assert!(wait <= Duration::from_millis(max).as_secs_f64());
                Ok(())
            },
        );
    }

    proptest! {
        #[test]
        fn without_jitter_waits_never_shrink(failures in 0_u32..1000) {
            let backoff = Backoff::default().jitter(0.0);
            prop_assert!(backoff.delay(failures, 0.5) <= backoff.delay(failures + 1, 0.5));
        }
    }

    /// kube-rs/kube#1896: jitter that was configured, yet never applied.
    #[test]
    fn jitter_spreads_waits() {
        let backoff = Backoff::default().jitter(0.5);
        assert_eq!(backoff.delay(1, 0.0), Duration::from_secs(1));
        assert_eq!(backoff.delay(1, 0.5), Duration::from_millis(750));
    }
}
