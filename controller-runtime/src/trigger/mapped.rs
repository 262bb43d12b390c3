//! A change of a related object wakes the primaries that a function names.

use super::{Request, related};
use crate::{
    object::{Object, ObjectRef},
    store::Delta,
};

/// The requests of a mapper: it is asked for the object before and after the change, so that a repointed label or field
/// wakes both targets. A primary that both name is woken once.
pub fn mapped<T, K, I>(delta: &Delta<T>, map: impl Fn(&T) -> I) -> Vec<Request<K>>
where
    T: Object,
    K: Object,
    I: IntoIterator<Item = ObjectRef<K>>,
{
    let sides = delta.old.iter().chain(&delta.new);
    let mut keys: Vec<ObjectRef<K>> = Vec::new();
    for key in sides.flat_map(|object| map(object)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.into_iter().map(|key| related(delta, key)).collect()
}
