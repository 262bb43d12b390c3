//! The delays of one source: longer with each failure, capped, never the same for two sources.

use std::time::Duration;

/// Counts failures in a row. The owner says when they are forgotten.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    initial: Duration,
    max: Duration,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new(initial: Duration, max: Duration) -> Self {
        Self {
            initial,
            max: max.max(initial),
            failures: 0,
        }
    }

    /// Counts a failure; the delay lies between half of the step and the step.
    pub(crate) fn fail(&mut self, rng: &mut fastrand::Rng) -> Duration {
        let doublings = self.failures.min(31);
        self.failures = self.failures.saturating_add(1);
        let step = self.initial.saturating_mul(1 << doublings).min(self.max);
        step.mul_f64(rng.f64().mul_add(0.5, 0.5))
    }

    pub(crate) fn forget(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff() -> Backoff {
        Backoff::new(Duration::from_millis(800), Duration::from_secs(30))
    }

    /// EmbarkStudios/quilkin#731: thirty failures in a row must not mean days of delay.
    #[test]
    fn a_delay_never_passes_the_cap() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut backoff = backoff();
        for _ in 0..10_000 {
            assert!(backoff.fail(&mut rng) <= Duration::from_secs(30));
        }
    }

    /// kube-rs/kube#1896: jitter that is configured but not applied.
    #[test]
    fn sources_that_fail_together_do_not_come_back_together() {
        let delays: std::collections::BTreeSet<_> = (0..100)
            .map(|seed| backoff().fail(&mut fastrand::Rng::with_seed(seed)))
            .collect();
        assert_eq!(delays.len(), 100);
        let (first, last) = (delays.first().unwrap(), delays.last().unwrap());
        assert!(*last > *first + Duration::from_millis(300), "{first:?}..{last:?}");
    }

    #[test]
    fn after_forgetting_it_starts_from_the_first_step() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut backoff = backoff();
        for _ in 0..6 {
            backoff.fail(&mut rng);
        }
        backoff.forget();
        assert!(backoff.fail(&mut rng) <= Duration::from_millis(800));
    }
}
