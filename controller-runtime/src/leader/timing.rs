//! The durations of an election, checked against each other once.

use std::time::Duration;

/// The share of the lease duration in which an old leader no longer writes and a new one may not yet lead.
///
/// A fifth covers clocks that run a tenth apart in opposite directions, and leaves a little for the network.
const MARGIN_SHARE: u32 = 5;

/// How long a lease lasts and how often it is renewed. Defaults are client-go's: 15 s, 10 s, 2 s.
///
/// ```
/// use std::time::Duration;
/// use controller_runtime::leader::Timing;
///
/// let timing = Timing::new(Duration::from_secs(30), Duration::from_secs(20), Duration::from_secs(4))?;
/// assert_eq!(timing.margin(), Duration::from_secs(6));
/// # Ok::<(), controller_runtime::leader::TimingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
}

/// Durations that cannot work together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimingError {
    /// The lease is shorter than a second, the unit in which a Lease object stores it.
    #[error("lease duration {0:?} must be a whole number of seconds, at least 1")]
    NotSeconds(Duration),
    /// A leader that gives up after its write deadline would reconcile in vain.
    #[error(
        "renew deadline {renew_deadline:?} must not exceed the lease duration less its margin, {limit:?}"
    )]
    RenewTooLate {
        /// What was asked for.
        renew_deadline: Duration,
        /// The longest that works.
        limit: Duration,
    },
    /// Less than one retry would fit before the deadline.
    #[error(
        "retry period {retry_period:?} must be above zero and at most half the renew deadline {renew_deadline:?}"
    )]
    RetryTooLong {
        /// What was asked for.
        retry_period: Duration,
        /// The deadline it must fit into.
        renew_deadline: Duration,
    },
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl Timing {
    /// Durations that fit together.
    ///
    /// # Errors
    ///
    /// [`TimingError`] names the two durations that do not.
    pub fn new(
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, TimingError> {
        let timing = Self {
            lease_duration,
            renew_deadline,
            retry_period,
        };
        if lease_duration.subsec_nanos() != 0
            || lease_duration.is_zero()
            || i32::try_from(lease_duration.as_secs()).is_err()
        {
            return Err(TimingError::NotSeconds(lease_duration));
        }
        let limit = lease_duration.saturating_sub(timing.margin());
        if renew_deadline > limit {
            return Err(TimingError::RenewTooLate {
                renew_deadline,
                limit,
            });
        }
        if retry_period.is_zero() || retry_period * 2 > renew_deadline {
            return Err(TimingError::RetryTooLong {
                retry_period,
                renew_deadline,
            });
        }
        Ok(timing)
    }

    /// For how long others leave a record of ours alone.
    pub fn lease_duration(&self) -> Duration {
        self.lease_duration
    }

    /// A leader that could not renew for so long steps down.
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    /// The pause between two attempts; a standby's is stretched by a random factor of up to 2.2, as in client-go.
    pub fn retry_period(&self) -> Duration {
        self.retry_period
    }

    /// How long before the end of the lease writes stop leaving.
    pub fn margin(&self) -> Duration {
        self.lease_duration / MARGIN_SHARE
    }

    /// How long what runs may still take after the renew deadline, until writes stop leaving.
    pub fn drain(&self) -> Duration {
        self.lease_duration
            .saturating_sub(self.margin())
            .saturating_sub(self.renew_deadline)
    }

    /// How long one request for the lease may take.
    pub fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_defaults_pass_their_own_check() {
        let timing = Timing::default();
        assert_eq!(
            Timing::new(timing.lease_duration, timing.renew_deadline, timing.retry_period),
            Ok(timing)
        );
    }

    #[test]
    fn durations_that_do_not_fit_are_refused_by_name() {
        assert!(matches!(
            Timing::new(Duration::from_millis(1500), secs(1), secs(1)),
            Err(TimingError::NotSeconds(_))
        ));
        assert!(matches!(
            Timing::new(secs(15), secs(13), secs(2)),
            Err(TimingError::RenewTooLate { .. })
        ));
        assert!(matches!(
            Timing::new(secs(15), secs(10), secs(6)),
            Err(TimingError::RetryTooLong { .. })
        ));
        assert!(matches!(
            Timing::new(secs(15), secs(10), secs(0)),
            Err(TimingError::RetryTooLong { .. })
        ));
    }
}
