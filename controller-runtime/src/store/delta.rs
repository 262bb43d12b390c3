//! A change of one object, as the store saw it.

use std::sync::Arc;

use kube::runtime::watcher;

use super::key_of;
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

impl<K: Object> Delta<K> {
    /// An object that came by a stream from outside, which tells neither what was before nor what is gone.
    pub fn seen(object: Arc<K>, dyntype: &K::DynamicType) -> Self {
        Self {
            key: key_of(&*object, dyntype),
            old: None,
            new: Some(object),
            cause: DeltaCause::Watch,
        }
    }

    /// An event of kube's `watcher`. Of a relist it tells no deletions: kube's stream does not.
    pub fn from_event(event: watcher::Event<K>, dyntype: &K::DynamicType) -> Option<Self> {
        let (object, cause) = match event {
            watcher::Event::Apply(object) => (object, DeltaCause::Watch),
            watcher::Event::InitApply(object) => (object, DeltaCause::Initial),
            watcher::Event::Delete(object) => {
                return Some(Self {
                    key: key_of(&object, dyntype),
                    old: Some(Arc::new(object)),
                    new: None,
                    cause: DeltaCause::Watch,
                });
            }
            watcher::Event::Init | watcher::Event::InitDone => return None,
        };
        Some(Self {
            cause,
            ..Self::seen(Arc::new(object), dyntype)
        })
    }
}
