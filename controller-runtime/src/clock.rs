//! The only place that reads a clock or a source of randomness.
//!
//! Cores take `now` and a generator as arguments; shells get them here. The clock is tokio's, so
//! that a paused runtime stops the whole pipeline.

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
pub fn wall() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
