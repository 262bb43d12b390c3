//! Kubernetes controllers: watcher, reflector, triggers, queue and runner.

mod action;
mod backoff;
pub mod clock;
pub mod declare;
mod error;
mod error_text;
pub mod leader;
pub mod manager;
pub mod object;
pub mod operator;
mod options;
mod queue;
pub mod reconcile;
pub mod runner;
pub mod store;
pub mod trigger;
pub mod watch;

pub use action::Action;
pub use backoff::{Backoff, backoff};
pub use error::{Error, RunnerError};
pub use operator::{Operator, OperatorError};
pub use options::Config;

/// What an operator's `main` returns.
pub type Result<T, E = OperatorError> = std::result::Result<T, E>;
