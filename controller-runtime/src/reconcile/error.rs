//! How the errors of a reconciler are tried again.

use std::{convert::Infallible, error::Error, time::Duration};

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
