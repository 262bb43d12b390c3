//! The `Attempt` extractor: how often this object has failed in a row.

/// How often this object has failed in a row.
///
/// A reconcile is told the state, never the event that woke it; this is part of the state.
///
/// ```
/// use controller_runtime::reconcile::Attempt;
///
/// let attempt = Attempt::after(2);
/// assert_eq!(attempt.number(), 3);
/// assert!(attempt.is_retry());
/// assert!(!Attempt::default().is_retry());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    failures: u32,
}

impl Attempt {
    /// The attempt after so many failures.
    pub const fn after(failures: u32) -> Self {
        Self { failures }
    }

    /// 1 for the first attempt.
    pub const fn number(self) -> u32 {
        self.failures.saturating_add(1)
    }

    /// Failures in a row before this attempt.
    pub const fn failures(self) -> u32 {
        self.failures
    }

    /// The attempt before this one failed.
    pub const fn is_retry(self) -> bool {
        self.failures > 0
    }
}
