//! The paths of `kube::runtime`, so that an existing controller moves over by its `use` lines.
//!
//! Replace `kube::runtime` by `controller_runtime::compat`: what this crate has of its own (the controller with its action,
//! configuration and errors, and the finalizer) is found under the same names, and everything else is kube's.
//!
//! ```
//! use controller_runtime::compat::{
//!     Controller, WatchStreamExt,
//!     controller::{Action, Config},
//!     finalizer::{Event, finalizer},
//!     predicates, reflector, watcher,
//! };
//! ```
//!
//! What behaves differently: a debounce window is not postponed by later triggers; a panic of a reconcile is an error of
//! its object rather than of the whole stream; reconciles wait for every store, not only for that of the primary; a
//! deleted related object wakes its primaries.

#[expect(deprecated, reason = "it is there for those who still use it")]
pub use kube::runtime::metadata_watcher;
pub use kube::runtime::{
    Predicate, PredicateConfig, WatchStreamExt, conditions, events, predicates, reflector, utils, wait,
    watcher,
};

pub use crate::{Config, Controller, finalizer};

/// The names of `kube::runtime::controller`.
pub mod controller {
    pub use kube::runtime::controller::{ReconcileReason, ReconcileRequest};

    pub use crate::{Action, Config, Controller, Error, RunnerError};
}
