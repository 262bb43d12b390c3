//! When a key counts as running in circles.

use std::time::Duration;

/// When a key counts as running in circles, and how much it is slowed.
///
/// ```
/// use std::time::Duration;
/// use controller_runtime::{Config, HotLoop};
///
/// let patient = HotLoop::default().cycles(100).max_delay(Duration::from_secs(60));
/// let config = Config::default().hot_loop(patient);
/// let unguarded = Config::default().hot_loop(HotLoop::off());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct HotLoop {
    pub(super) cycles: u32,
    pub(super) max_delay: Duration,
}

impl Default for HotLoop {
    /// Suspicious after 20 runs in a row, each at once after a change that followed the run before; slowed up to five minutes.
    fn default() -> Self {
        Self {
            cycles: 20,
            max_delay: Duration::from_secs(300),
        }
    }
}

impl HotLoop {
    /// Nothing is watched for, and nothing slowed.
    pub fn off() -> Self {
        Self {
            cycles: 0,
            ..Self::default()
        }
    }

    /// After so many runs in a row, each woken by the same object that changed right after the run before, the key is
    /// tested. 0 is [`off`](Self::off).
    pub fn cycles(mut self, cycles: u32) -> Self {
        self.cycles = cycles;
        self
    }

    /// A key that runs in circles waits no longer than this; at least a second.
    pub fn max_delay(mut self, max: Duration) -> Self {
        self.max_delay = max;
        self
    }
}
