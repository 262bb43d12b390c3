//! The numbers of a controller.

use std::time::Duration;

use crate::{Backoff, HotLoop};

/// The numbers of a controller, each with a default that suits most.
///
/// ```
/// use std::time::Duration;
/// use controller_runtime::{Backoff, Config};
///
/// let config = Config::default()
///     .debounce(Duration::from_millis(500))
///     .concurrency(16)
///     .timeout(Duration::from_secs(30))
///     .backoff(Backoff::default().max(Duration::from_secs(64)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub(crate) debounce: Duration,
    pub(crate) concurrency: u16,
    pub(crate) timeout: Option<Duration>,
    pub(crate) resync: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) backoff: Backoff,
    pub(crate) hot_loop: HotLoop,
    pub(crate) seed: Option<u64>,
}

impl Default for Config {
    /// No debounce, no limit, no timeout, no resync, 25 seconds for shutting down.
    fn default() -> Self {
        Self {
            debounce: Duration::ZERO,
            concurrency: 0,
            timeout: None,
            resync: None,
            grace: Duration::from_secs(25),
            backoff: Backoff::default(),
            hot_loop: HotLoop::default(),
            seed: None,
        }
    }
}

impl Config {
    /// How long a key waits for more triggers before it runs. 0 (the default) runs it at once.
    ///
    /// The first trigger opens the window and nothing postpones it, so that a steady flow cannot hold a key back.
    /// Requeues and retries are not made longer by it.
    #[must_use]
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.debounce = debounce;
        self
    }

    /// How many objects reconcile at the same time. 0 (the default) is no limit.
    #[must_use]
    pub fn concurrency(mut self, concurrency: u16) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// How long one reconcile may take before it is dropped and counted as a failure of its object.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How often every object runs without any change.
    #[must_use]
    pub fn resync(mut self, resync: Duration) -> Self {
        self.resync = Some(resync);
        self
    }

    /// How long running reconciles may take to finish once a shutdown began. 25 seconds by default, which fits the
    /// 30 seconds that Kubernetes gives a Pod.
    #[must_use]
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How failures are tried again.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// When an object counts as running in circles, and how much it is slowed then.
    #[must_use]
    pub fn hot_loop(mut self, hot_loop: HotLoop) -> Self {
        self.hot_loop = hot_loop;
        self
    }

    /// Makes jitter the same in every run, for tests.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}
