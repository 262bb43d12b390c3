//! A change of a related object wakes the primaries that a function names.

use std::collections::HashSet;

use super::{Request, related};
use crate::{
    object::{Object, ObjectRef},
    store::Delta,
};

/// The requests of a mapper. It is asked for the object before and after the change, so that a repointed label or field
/// wakes both targets; a primary that both name is woken once.
pub fn mapped<T, K, I>(delta: &Delta<T>, map: impl Fn(&T) -> I) -> Vec<Request<K>>
where
    T: Object,
    K: Object,
    I: IntoIterator<Item = ObjectRef<K>>,
{
    let sides = delta.old.iter().chain(&delta.new);
    once_each(delta, sides.flat_map(|object| map(object)))
}

/// A request for each key, in order, the first time it comes.
pub(super) fn once_each<T: Object, K: Object>(
    delta: &Delta<T>,
    keys: impl Iterator<Item = ObjectRef<K>>,
) -> Vec<Request<K>> {
    let mut seen = HashSet::new();
    keys.filter(|key| seen.insert(key.clone()))
        .map(|key| related(delta, key))
        .collect()
}
