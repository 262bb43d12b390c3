//! Kubernetes controllers: watcher, reflector, triggers, queue and runner.

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
pub mod finalizer;
pub mod guide;
pub mod leader;
pub mod manager;
pub mod metrics;
pub mod object;
pub mod operator;
mod options;
pub mod prelude;
mod queue;
pub mod reconcile;
mod revision;
pub mod runner;
mod shutdown;
pub mod store;
pub mod trigger;
pub mod watch;

pub use action::Action;
pub use backoff::{Backoff, FailureCounts, backoff};
pub use controller::Controller;
pub use error::{Error, RunnerError};
pub use operator::{Operator, OperatorError};
pub use options::Config;

/// What an operator's `main` returns.
pub type Result<T, E = OperatorError> = std::result::Result<T, E>;
#[cfg(feature = "macros")]
pub use controller_macros::controller;

/// The examples of README compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ReadmeExamples;
