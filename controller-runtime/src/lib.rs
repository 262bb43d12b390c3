#![doc = include_str!("docs/landing.md")]

// Generated code names this crate by its name, also in its own tests.
#[allow(unused_extern_crates)]
extern crate self as controller_runtime;

#[doc(hidden)]
pub mod __private;

mod action;
mod backoff;
pub mod clock;
pub mod compat;
pub mod controller;
pub mod declare;
mod echo;
mod error;
mod error_text;
pub mod explain;
pub mod finalizer;
#[cfg(test)]
mod fuzz;
pub mod guide;
pub mod hot_loop;
pub mod leader;
#[cfg(test)]
#[cfg(feature = "cli")]
mod logs;
pub mod manager;
mod memory;
pub mod metrics;
mod name;
pub mod object;
pub mod operator;
mod options;
#[cfg(feature = "otel")]
mod otel;
mod patience;
mod pause;
pub mod prelude;
mod queue;
pub mod reconcile;
mod revision;
pub mod runner;
mod shutdown;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod trigger;
mod uid;
pub mod watch;

/// What the fuzz targets play.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use crate::queue::history;

    /// The history of a queue that these bytes tell.
    pub fn queue(bytes: &[u8]) {
        let (stage, ops) = history::read(bytes);
        history::play(stage, &ops);
    }
}

pub use action::Action;
pub use backoff::{Backoff, FailureCounts, backoff};
pub use controller::Controller;
pub use error::{Error, RunnerError};
pub use hot_loop::HotLoop;
pub use operator::{Operator, OperatorError};
pub use options::Config;
pub use pause::PAUSED;
pub use reconcile::ReconcileError;

/// What an operator's `main` returns.
pub type Result<T, E = OperatorError> = std::result::Result<T, E>;
/// How a user's own error is tried again: `#[permanent]`, `#[retry_after = "…"]`, or by backoff.
///
/// Beside thiserror, on an enum (each variant says its own) or on a structure. The name of the variant is the reason of the
/// `Ready` condition. `#[reconcile_error(crate = path)]` says where this crate is found, if not as `::controller_runtime`.
///
/// ```
/// use controller_runtime::{ReconcileError, reconcile::Retry};
///
/// #[derive(Debug, thiserror::Error, ReconcileError)]
/// enum PrintError {
///     #[error("out of paper")]
///     OutOfPaper,
///     #[error("not a document")]
///     #[permanent]
///     NotADocument,
/// }
///
/// assert_eq!(PrintError::OutOfPaper.retry(), Retry::Backoff);
/// assert_eq!(PrintError::NotADocument.retry(), Retry::Never);
/// assert_eq!(PrintError::NotADocument.reason(), "NotADocument");
/// ```
#[cfg(feature = "macros")]
pub use controller_macros::ReconcileError;
#[cfg(feature = "macros")]
#[doc = include_str!("docs/controller.md")]
pub use controller_macros::controller;
#[cfg(feature = "testing")]
#[doc = include_str!("docs/controller_test.md")]
pub use controller_macros::controller_test;

/// The examples of README compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ReadmeExamples;
