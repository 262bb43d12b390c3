//! `Failure`: any error, for controllers that need no error type of their own.

use std::{error::Error, fmt, time::Duration};

use super::{Failed, ReconcileError, Retry};
use crate::declare::BoxError;

/// Any error, and how it is tried again: by backoff, unless something else is said.
///
/// `?` makes one of every error. It is no `std::error::Error` itself, for that reason.
///
/// ```
/// use std::sync::Arc;
/// use controller_runtime::{Action, controller, reconcile::{Failure, OrFail}};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// #[controller]
/// async fn reconcile(config: Arc<ConfigMap>) -> Result<Action, Failure> {
///     let replicas = config.data.iter().flatten().find(|(key, _)| *key == "replicas");
///     let Some((_, text)) = replicas else {
///         return Err(Failure::permanent("NoReplicas", "data.replicas is missing"));
///     };
///     let _replicas: u16 = text.parse().permanent("InvalidReplicas")?;
///     Ok(Action::await_change())
/// }
/// ```
pub struct Failure {
    error: BoxError,
    retry: Retry,
    reason: Option<&'static str>,
}

impl Failure {
    /// Trying again cannot help; `reason` is one CamelCase word for the `Ready` condition.
    pub fn permanent(reason: &'static str, error: impl Into<BoxError>) -> Self {
        Self {
            error: error.into(),
            retry: Retry::Never,
            reason: Some(reason),
        }
    }

    /// To be tried again after exactly this time.
    pub fn retry_after(wait: Duration, error: impl Into<BoxError>) -> Self {
        Self {
            error: error.into(),
            retry: Retry::After(wait),
            reason: None,
        }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            retry: Retry::Backoff,
            reason: None,
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

/// Says of a result how its error is tried again.
pub trait OrFail<T> {
    /// Trying again cannot help; `reason` is one CamelCase word for the `Ready` condition.
    ///
    /// # Errors
    ///
    /// The error of the result.
    fn permanent(self, reason: &'static str) -> Result<T, Failure>;

    /// To be tried again after exactly this time.
    ///
    /// # Errors
    ///
    /// The error of the result.
    fn retry_after(self, wait: Duration) -> Result<T, Failure>;
}

impl<T, E: Into<BoxError>> OrFail<T> for Result<T, E> {
    fn permanent(self, reason: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::permanent(reason, error))
    }

    fn retry_after(self, wait: Duration) -> Result<T, Failure> {
        self.map_err(|error| Failure::retry_after(wait, error))
    }
}

/// What a function may fail with: a [`ReconcileError`], or a [`Failure`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how it is tried again",
    label = "not a `ReconcileError`",
    note = "derive it beside thiserror, `#[derive(Debug, thiserror::Error, ReconcileError)]`, declare the error in the attribute, `error = enum Name {{ … }}`, or return a `Failure`"
)]
pub trait Fails: Send + 'static {
    /// The same, with its type forgotten.
    fn forget(self) -> Failed;
}

#[diagnostic::do_not_recommend]
impl<E: ReconcileError> Fails for E {
    fn forget(self) -> Failed {
        Failed::new(self)
    }
}

impl Fails for Failure {
    fn forget(self) -> Failed {
        Failed::new(Whole(self))
    }
}

/// A failure as an error.
#[derive(Debug)]
struct Whole(Failure);

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for Whole {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.error.source()
    }
}

impl ReconcileError for Whole {
    fn retry(&self) -> Retry {
        self.0.retry
    }

    fn reason(&self) -> &str {
        self.0.reason.unwrap_or("ReconcileFailed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_keeps_what_was_said_of_it() {
        let parsed: Result<u8, Failure> = "x".parse::<u8>().permanent("NoNumber");
        let failed = parsed.unwrap_err().forget();
        assert_eq!(
            (failed.get().retry(), failed.get().reason()),
            (Retry::Never, "NoNumber")
        );
        let plain: Failure = std::io::Error::other("io").into();
        assert_eq!(plain.forget().get().retry(), Retry::Backoff);
        let later = Failure::retry_after(Duration::from_secs(5), "later").forget();
        assert_eq!(later.get().retry(), Retry::After(Duration::from_secs(5)));
        assert_eq!(later.to_string(), "later");
    }
}
