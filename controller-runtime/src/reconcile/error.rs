//! How the errors of a reconciler are tried again.

use std::{convert::Infallible, error::Error, fmt, time::Duration};

/// What follows a failed reconcile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// The controller's backoff, counted for each object.
    #[default]
    Backoff,
    /// Exactly this time. The failure counts all the same.
    After(Duration),
    /// Nothing, until the object changes: trying again cannot help.
    Never,
}

/// An error of a reconcile function: how it is tried again, and its name for conditions and metrics.
///
/// Made by `error = enum …` in `#[controller]`, or by `#[derive(ReconcileError)]` beside thiserror. An error that is
/// always tried again by backoff needs no more than this:
///
/// ```
/// use controller_runtime::reconcile::ReconcileError;
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("the printer is out of paper")]
/// struct OutOfPaper;
///
/// impl ReconcileError for OutOfPaper {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how it is tried again",
    label = "not a `ReconcileError`",
    note = "derive it beside thiserror, `#[derive(Debug, thiserror::Error, ReconcileError)]`, or declare the error in the attribute: `error = enum Name {{ … }}`"
)]
pub trait ReconcileError: Error + Send + Sync + 'static {
    /// What follows this failure.
    fn retry(&self) -> Retry {
        Retry::Backoff
    }

    /// One CamelCase word: the reason of the `Ready` condition.
    #[expect(clippy::unnecessary_literal_bound, reason = "others may hold it")]
    fn reason(&self) -> &str {
        "ReconcileFailed"
    }
}

impl ReconcileError for kube::Error {
    fn reason(&self) -> &'static str {
        "KubernetesError"
    }
}

impl ReconcileError for Infallible {}

/// A field as an error.
#[doc(hidden)]
pub fn cause<E: Error + 'static>(error: &E) -> &(dyn Error + 'static) {
    error
}

/// A failed reconcile, whatever the type of its error.
pub struct Failed(Box<dyn ReconcileError>);

impl Failed {
    pub(crate) fn new(error: impl ReconcileError) -> Self {
        Self(Box::new(error))
    }

    /// The error.
    pub fn get(&self) -> &dyn ReconcileError {
        &*self.0
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
