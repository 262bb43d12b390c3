//! A change of a primary wakes that primary.

use super::{Cause, Level, Request};
use crate::{
    object::Object,
    store::{Delta, DeltaCause},
};

/// The request that a change of the primary itself makes.
///
/// The level says what changed: a deletion (begun or done) before the spec, the spec before anything else.
/// Without a generation to tell a spec from a status, every change counts as one of the spec.
pub fn own<K: Object>(delta: &Delta<K>) -> Request<K> {
    let uid = delta.new.as_ref().or(delta.old.as_ref());
    let (level, cause) = level(delta);
    Request {
        key: delta.key.clone(),
        level,
        cause,
        uid: uid.and_then(|object| object.meta().uid.clone()),
        gone: delta.new.is_none(),
    }
}

fn level<K: Object>(delta: &Delta<K>) -> (Level, Cause) {
    let Some(new) = &delta.new else {
        return (Level::Deletion, Cause::Deleted);
    };
    if new.meta().deletion_timestamp.is_some() {
        return (Level::Deletion, Cause::Deleted);
    }
    match (delta.cause, &delta.old) {
        (DeltaCause::Initial, _) => (Level::Initial, Cause::Initial),
        (DeltaCause::Relist, _) => (Level::Bulk, Cause::Relist),
        (DeltaCause::Watch, Some(old)) if same_spec(&**old, &**new) => (Level::Metadata, Cause::Updated),
        (DeltaCause::Watch, _) => (Level::Spec, Cause::Updated),
    }
}

fn same_spec<K: Object>(old: &K, new: &K) -> bool {
    let (old, new) = (old.meta(), new.meta());
    old.uid == new.uid && new.generation.is_some() && old.generation == new.generation
}
