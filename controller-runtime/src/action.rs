//! What a reconciler, or an error policy, wants next for its object.

use std::time::Duration;

/// What shall happen next with an object.
///
/// ```
/// use std::time::Duration;
/// use controller_runtime::Action;
///
/// // Look at the outside world every five minutes.
/// let outside = Action::requeue(Duration::from_secs(300));
/// // Everything that matters is watched.
/// let watched = Action::await_change();
/// assert_ne!(outside, watched);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action(Next);

/// The forms of an [`Action`].
///
/// The last two mean something only as the answer to a failure, so users meet them through
/// [`backoff`](crate::backoff) and `#[permanent]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait for a change.
    Await,
    /// Run again after this time, or earlier on a change.
    Requeue(Duration),
    /// Run again by the controller's own backoff.
    Retry,
    /// Run again after exactly this time, as a retry: the failure keeps counting.
    RetryAfter(Duration),
    /// Trying again cannot help: wait for a change.
    GiveUp,
}

impl Action {
    /// Run again after `duration`, or earlier on a change.
    ///
    /// For state that no watch tells of. Very long durations are clamped to thirty years, and less than a
    /// millisecond means a millisecond.
    #[must_use]
    pub const fn requeue(duration: Duration) -> Self {
        Self(Next::Requeue(duration))
    }

    /// Run again when something changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self(Next::Await)
    }

    pub(crate) const fn retry() -> Self {
        Self(Next::Retry)
    }

    // Used by the expansion of `#[controller]`, for `#[retry_after]` and `#[permanent]`.
    #[allow(dead_code)]
    pub(crate) const fn retry_after(duration: Duration) -> Self {
        Self(Next::RetryAfter(duration))
    }

    #[allow(dead_code)]
    pub(crate) const fn give_up() -> Self {
        Self(Next::GiveUp)
    }

    pub(crate) fn into_next(self) -> Next {
        self.0
    }
}

impl Default for Action {
    fn default() -> Self {
        Self::await_change()
    }
}
