//! What can go wrong in a running controller, told in its result stream.

use std::{error::Error as StdError, time::Duration};

use kube::{api::DynamicObject, runtime::watcher};

use crate::object::ObjectRef;

/// What went wrong with one object, or with a source.
///
/// None of these ends a controller except [`Error::RunnerError`]; they are told for logs and counters. The first
/// parameter is the error of the reconciler, the second that of a stream handed in from outside.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<ReconcilerErr: StdError + 'static, QueueErr: StdError + 'static = watcher::Error> {
    /// A key was asked to run whose object is not in the store.
    ///
    /// Usually harmless: a mapper, or an external trigger, named an object that does not exist (yet).
    #[error("object {0} was asked to reconcile, but is not in the store")]
    ObjectNotFound(Box<ObjectRef<DynamicObject>>),

    /// The reconciler returned an error.
    #[error("reconciler for object {1} failed: {0}")]
    ReconcilerFailed(#[source] ReconcilerErr, Box<ObjectRef<DynamicObject>>),

    /// The reconciler, or its error policy, panicked. The key counts a failure and is tried again by backoff.
    #[error("reconciler for object {1} panicked: {0}")]
    Panicked(String, Box<ObjectRef<DynamicObject>>),

    /// The reconciler did not finish in time and was dropped. The key counts a failure and is tried again by backoff.
    #[error("reconciler for object {1} did not finish within {0:?}")]
    TimedOut(Duration, Box<ObjectRef<DynamicObject>>),

    /// The reconciler still ran when the time to shut down was over, and was dropped.
    #[error("reconciler for object {0} was dropped: it still ran at the end of the shutdown")]
    Interrupted(Box<ObjectRef<DynamicObject>>),

    /// A stream handed in from outside gave an error; it is polled again after the trigger backoff.
    #[error("event source failed: {0}")]
    QueueError(#[source] QueueErr),

    /// The controller cannot run. The stream ends after this.
    #[error("controller cannot run: {0}")]
    RunnerError(#[source] RunnerError),
}

/// Why a controller cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// A store can never become ready, because what fills it is gone.
    #[error("the store of {0} will never be ready: what fills it was dropped")]
    StoreGone(String),
}
