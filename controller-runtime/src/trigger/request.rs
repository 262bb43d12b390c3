//! A wish that one key runs, and how urgent it is.

use crate::object::{Object, ObjectRef};

/// How urgent a request is, low to high. Waiting lifts a key, so that a low level never starves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The first list.
    Initial,
    /// A later list, or "reconcile everything".
    Bulk,
    /// The reconciler asked to run again.
    Requeue,
    /// A failure is tried again.
    Retry,
    /// An owned or related object changed.
    Related,
    /// Labels, annotations or status of the primary changed.
    Metadata,
    /// The spec of the primary changed.
    Spec,
    /// Someone asked for exactly this key.
    Explicit,
    /// The primary is being deleted, or is gone.
    Deletion,
}

impl Level {
    /// All levels, low to high.
    pub const ALL: [Self; 9] = [
        Self::Initial,
        Self::Bulk,
        Self::Requeue,
        Self::Retry,
        Self::Related,
        Self::Metadata,
        Self::Spec,
        Self::Explicit,
        Self::Deletion,
    ];

    /// A word for metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Bulk => "bulk",
            Self::Requeue => "requeue",
            Self::Retry => "retry",
            Self::Related => "related",
            Self::Metadata => "metadata",
            Self::Spec => "spec",
            Self::Explicit => "explicit",
            Self::Deletion => "deletion",
        }
    }
}

/// Why a key was asked to run; told in spans and to `explain`, never to the reconciler.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The primary was in the first list.
    Initial,
    /// The primary changed.
    Updated,
    /// The primary is gone, or being deleted.
    Deleted,
    /// A related object changed: its kind, namespace and name.
    Related {
        /// Kind of the related object.
        kind: String,
        /// Its namespace, if it has one.
        namespace: Option<String>,
        /// Its name.
        name: String,
    },
    /// A later list showed a difference.
    Relist,
    /// The reconciler returned `Action::requeue`.
    Requeue,
    /// The last run failed.
    Retry,
    /// "Reconcile everything".
    Bulk,
    /// An external trigger, with its reason.
    External(String),
}

impl Cause {
    /// In a person's words.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Initial => "first list".to_owned(),
            Self::Updated => "changed".to_owned(),
            Self::Deleted => "deleted".to_owned(),
            Self::Related {
                kind,
                namespace,
                name,
            } => match namespace {
                Some(namespace) => format!("{kind} {namespace}/{name} changed"),
                None => format!("{kind} {name} changed"),
            },
            Self::Relist => "changed while the watch was down".to_owned(),
            Self::Requeue => "asked to run again".to_owned(),
            Self::Retry => "tried again".to_owned(),
            Self::Bulk => "all objects were asked to run".to_owned(),
            Self::External(reason) => reason.clone(),
        }
    }
}

/// A wish that one key runs.
#[derive(Clone, Debug)]
pub struct Request<K: Object> {
    /// Which primary.
    pub key: ObjectRef<K>,
    /// How urgent.
    pub level: Level,
    /// Why.
    pub cause: Cause,
    /// The uid of the primary, where the trigger knows it.
    pub uid: Option<String>,
    /// The primary itself is gone from its store.
    pub gone: bool,
}
