//! A change of one object, as the store saw it.

use std::sync::Arc;

use crate::object::{Object, ObjectRef};

/// Why a store changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeltaCause {
    /// The first list of this informer, or the snapshot given to a late subscriber.
    Initial,
    /// An event of the watch.
    Watch,
    /// The difference found by a later list.
    Relist,
}

/// One object before and after a change: at least one side is there.
///
/// Predicates compare the sides, triggers map both, so that a repointed reference wakes its old and its new target.
#[derive(Clone, Debug)]
pub struct Delta<K: Object> {
    /// Which object changed.
    pub key: ObjectRef<K>,
    /// The object before; `None` when it is new.
    pub old: Option<Arc<K>>,
    /// The object after; `None` when it is gone.
    pub new: Option<Arc<K>>,
    /// Why the store changed.
    pub cause: DeltaCause,
}
