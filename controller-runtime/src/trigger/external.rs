//! Triggers that are not changes of a watched object.

use super::{Cause, Level, Request};
use crate::{
    object::{Object, ObjectRef},
    store::{Cache, key_of},
};

/// The request that someone outside makes for one primary.
pub fn external<K: Object>(key: ObjectRef<K>, reason: impl Into<String>) -> Request<K> {
    Request {
        uid: key.extra.uid.clone(),
        key,
        level: Level::Explicit,
        cause: Cause::External(reason.into()),
        gone: false,
    }
}

/// The requests of "reconcile everything": one for each primary there is.
pub fn bulk<K: Object>(primaries: &(impl Cache<K> + ?Sized), dyntype: &K::DynamicType) -> Vec<Request<K>> {
    let request = |primary: &K| Request {
        key: key_of(primary, dyntype),
        level: Level::Bulk,
        cause: Cause::Bulk,
        uid: primary.meta().uid.clone(),
        gone: false,
    };
    primaries.all().iter().map(|primary| request(primary)).collect()
}
