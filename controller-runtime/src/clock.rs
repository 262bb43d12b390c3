//! The only place that reads a clock or a source of randomness.
//!
//! Cores take `now` and a generator as arguments; shells get them here. The clock is tokio's, so
//! that a paused runtime stops the whole pipeline.

use jiff::{SignedDuration, Timestamp};
pub use tokio::time::Instant;

/// The present moment on the runtime's clock.
pub fn now() -> Instant {
    Instant::now()
}

/// A generator for jitter. Give `Some(seed)` to get the same numbers again.
pub fn rng(seed: Option<u64>) -> fastrand::Rng {
    seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed)
}

/// The wall clock, for people to read in records and logs; nothing is decided by it.
#[expect(clippy::disallowed_methods, reason = "the one place that looks at it")]
pub fn wall() -> Timestamp {
    Timestamp::now()
}

/// Where the time on the wall and chance come from: the machine, or, for runs that shall repeat, a beginning and a seed.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use std::time::Duration;
/// use controller_runtime::clock::Origin;
///
/// let origin = Origin::fixed("2026-01-01T00:00:00Z".parse().unwrap(), 7);
/// tokio::time::advance(Duration::from_secs(3600)).await;
/// assert_eq!(origin.wall().to_string(), "2026-01-01T01:00:00Z");
/// assert_eq!(origin.rng("a queue").u64(..), origin.rng("a queue").u64(..));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin(Option<Fixed>);

#[derive(Clone, Copy, Debug)]
struct Fixed {
    epoch: Timestamp,
    start: Instant,
    seed: u64,
}

impl Origin {
    /// The machine's clock and its randomness.
    pub fn machine() -> Self {
        Self(None)
    }

    /// It is `epoch` now, and time goes on with the runtime's clock; all chance follows from `seed`.
    pub fn fixed(epoch: Timestamp, seed: u64) -> Self {
        let start = now();
        Self(Some(Fixed { epoch, start, seed }))
    }

    /// The time on the wall, for people to read.
    pub fn wall(&self) -> Timestamp {
        let Some(fixed) = self.0 else { return wall() };
        let run = SignedDuration::try_from(fixed.start.elapsed()).unwrap_or(SignedDuration::MAX);
        fixed.epoch.saturating_add(run).unwrap_or(Timestamp::MAX)
    }

    /// The seed for whoever has this name: no two names draw the same numbers. `None` on the machine.
    pub fn seed(&self, user: &str) -> Option<u64> {
        // FNV-1a.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.0
            .map(|fixed| user.bytes().fold(fixed.seed ^ 0xcbf2_9ce4_8422_2325, mix))
    }

    /// A generator for whoever has this name.
    pub fn rng(&self, user: &str) -> fastrand::Rng {
        rng(self.seed(user))
    }
}
