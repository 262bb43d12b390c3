//! A limit on the rate of requests to the API server.
//!
//! Off by default, as in Go's controller-runtime (kubernetes-sigs/controller-runtime#3119): the server's Priority and Fairness knows what it can bear,
//! and a limit in the client only makes reconciles slow without saying why. It is here for servers without that, and for
//! operators that many clusters' worth of objects would make loud.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::clock::{self, Instant};

/// So many requests a second on average, and so many at once after a quiet spell. Clones share the limit.
#[derive(Clone, Debug)]
pub struct RateLimit(Arc<Mutex<Bucket>>);

/// A limit that lets nothing pass.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a limit of {per_second} requests a second, {burst} at once, lets nothing pass: both must be above zero"
)]
pub struct NoRate {
    /// What was asked for.
    pub per_second: f64,
    /// What was asked for.
    pub burst: u32,
}

impl RateLimit {
    /// `per_second` requests on average, `burst` at once.
    ///
    /// ```
    /// use controller_runtime::operator::RateLimit;
    ///
    /// assert!(RateLimit::new(20.0, 30).is_ok());
    /// assert!(RateLimit::new(0.0, 30).is_err());
    /// ```
    ///
    /// # Errors
    /// [`NoRate`] when one of them is zero, or the rate is no number.
    pub fn new(per_second: f64, burst: u32) -> Result<Self, NoRate> {
        if !(per_second.is_finite() && per_second > 0.0 && burst > 0) {
            return Err(NoRate { per_second, burst });
        }
        Ok(Self(Arc::new(Mutex::new(Bucket {
            per_second,
            burst: f64::from(burst),
            tokens: f64::from(burst),
            at: clock::now(),
        }))))
    }

    /// Whether a request may leave at once; it is counted only if it may.
    #[cfg(feature = "probes")]
    pub(crate) fn try_pass(&self) -> bool {
        let now = clock::now();
        let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut after = bucket.clone();
        let passes = after.next(now) <= now;
        if passes {
            *bucket = after;
        }
        passes
    }

    /// Resolves when the next request may leave. First come, first served.
    ///
    /// # Cancel safety
    /// A dropped wait counts as a request that has left.
    pub(super) async fn pass(&self) {
        let leaves = {
            let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.next(clock::now())
        };
        tokio::time::sleep_until(leaves).await;
    }
}

/// A bucket of tokens that fills with time; each request takes one, and may owe it.
#[derive(Clone, Debug)]
struct Bucket {
    per_second: f64,
    burst: f64,
    /// Below zero: owed by those who wait.
    tokens: f64,
    /// When `tokens` was true.
    at: Instant,
}

impl Bucket {
    /// When the next request may leave. It is counted.
    fn next(&mut self, now: Instant) -> Instant {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst) - 1.0;
        self.at = self.at.max(now);
        let owed = Duration::try_from_secs_f64(-self.tokens / self.per_second);
        // Nothing is owed while tokens are left.
        now + owed.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_lets_nothing_pass_is_refused() {
        for (per_second, burst) in [(0.0, 1), (-1.0, 1), (f64::NAN, 1), (f64::INFINITY, 1), (1.0, 0)] {
            assert!(RateLimit::new(per_second, burst).is_err(), "{per_second} {burst}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let limit = RateLimit::new(10.0, 5).expect("a rate");
        let began = clock::now();
        for _ in 0..5 {
            limit.pass().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..20 {
            limit.pass().await;
        }
        let took = began.elapsed();
        assert!(
            took.abs_diff(Duration::from_secs(2)) < Duration::from_millis(50),
            "{took:?}"
        );
    }

    proptest! {
        /// In any span of time no more leave than the rate lets through, beside one burst.
        #[test]
        fn no_span_of_time_sees_more_than_its_share(
            per_second in 1_u32..100,
            burst in 1_u32..20,
            pauses in prop::collection::vec(0_u64..500, 1..200),
        ) {
            let start = clock::now();
            let mut bucket = Bucket {
                per_second: f64::from(per_second),
                burst: f64::from(burst),
                tokens: f64::from(burst),
                at: start,
            };
            let mut now = start;
            let left: Vec<_> = pauses
                .iter()
                .map(|pause| {
                    now += Duration::from_millis(*pause);
                    bucket.next(now).max(now)
                })
                .collect();
            prop_assert!(left.is_sorted(), "first come, first served");
            for (first, from) in left.iter().enumerate() {
                for (last, to) in left.iter().enumerate().skip(first) {
                    let span = (*to - *from).as_secs_f64();
                    let most = f64::from(burst) + span * f64::from(per_second) + 0.01;
                    let sent = f64::from(u32::try_from(last - first).expect("few")) + 1.0;
                    prop_assert!(sent <= most + 1.0, "{sent} in {span} s");
                }
            }
        }
    }
}
