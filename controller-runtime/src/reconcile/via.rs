//! How a related object finds its primaries: by its owner, by a mapper, or by a field of the primary.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Reconciler, assembly::Assembly};
use crate::{
    object::{Object, ObjectRef},
    store::{Delta, Store},
    trigger::{self, Names, References, Request},
};

/// From a change of a related object to the primaries that must run.
pub(super) trait Via<T: Object, K: Object>: Send + Sync + 'static {
    fn requests(&self, delta: &Delta<T>, primaries: &Store<K>) -> Vec<Request<K>>;

    /// Also hears every change of a primary.
    fn follow<R: Reconciler<Object = K>>(&self, assembly: &mut Assembly<'_, R>) {
        let _ = assembly;
    }
}

/// By owner references.
pub(super) struct Owned;

impl<T: Object, K: Object> Via<T, K> for Owned {
    fn requests(&self, delta: &Delta<T>, primaries: &Store<K>) -> Vec<Request<K>> {
        trigger::owner(delta, primaries, primaries.dyntype())
    }
}

/// `map(…)`: a function of the user's from a related object to primaries.
pub struct Mapper<T, K: Object> {
    map: Map<T, K>,
}

type Map<T, K> = Box<dyn Fn(&T) -> Vec<ObjectRef<K>> + Send + Sync>;

impl<T: Object, K: Object> Mapper<T, K> {
    /// Takes what it gives as a list; `Option`, `Vec` and every other iterator will do.
    pub fn map<F, I>(map: F) -> Self
    where
        F: Fn(&T) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = ObjectRef<K>>,
    {
        Self {
            map: Box::new(move |object| map(object).into_iter().collect()),
        }
    }
}

impl<T: Object, K: Object> Via<T, K> for Mapper<T, K> {
    fn requests(&self, delta: &Delta<T>, _primaries: &Store<K>) -> Vec<Request<K>> {
        trigger::mapped(delta, &self.map)
    }
}

/// `references(T, …)`: a function of the user's from a primary to the names it holds.
pub struct Field<T: Object, K: Object> {
    index: Box<dyn FnOnce(K::DynamicType) -> References<K, T> + Send + Sync>,
}

impl<T: Object, K: Object> Field<T, K> {
    /// A name, an `ObjectRef`, or an `Option` or a `Vec` of such.
    pub fn new<F, N>(field: F) -> Self
    where
        F: Fn(&K) -> N + Send + Sync + 'static,
        N: Names<T>,
    {
        Self {
            index: Box::new(move |kind| References::new(kind, field)),
        }
    }

    pub(super) fn index(self, kind: K::DynamicType) -> Index<K, T> {
        Index(Arc::new(Mutex::new((self.index)(kind))))
    }
}

/// By a field of the primary.
pub(super) struct Index<K: Object, T: Object>(Arc<Mutex<References<K, T>>>);

fn lock<K: Object, T: Object>(index: &Mutex<References<K, T>>) -> MutexGuard<'_, References<K, T>> {
    // The field is read before anything is changed, so a panic in it leaves the index whole.
    index.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Object, T: Object> Via<T, K> for Index<K, T> {
    fn requests(&self, delta: &Delta<T>, _primaries: &Store<K>) -> Vec<Request<K>> {
        lock(&self.0).wake(delta)
    }

    fn follow<R: Reconciler<Object = K>>(&self, assembly: &mut Assembly<'_, R>) {
        let index = Arc::clone(&self.0);
        assembly.on_primary(Box::new(move |delta| lock(&index).primary(delta)));
    }
}

impl<T, K: Object> fmt::Debug for Mapper<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapper").finish_non_exhaustive()
    }
}

impl<T: Object, K: Object> fmt::Debug for Field<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").finish_non_exhaustive()
    }
}
