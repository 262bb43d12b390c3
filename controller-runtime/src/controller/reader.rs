//! A controller's primaries, readable whatever store they are in.

use std::{fmt, sync::Arc};

use crate::{
    object::{Object, ObjectRef},
    store::{Cache, NotReady},
};

/// Reads the primaries of a controller. Cheap to clone; has the methods of kube's `Store`.
pub struct Reader<K: Object>(Arc<dyn Cache<K>>);

impl<K: Object> Reader<K> {
    pub(crate) fn new(cache: Arc<dyn Cache<K>>) -> Self {
        Self(cache)
    }

    /// The object of that key.
    pub fn get(&self, key: &ObjectRef<K>) -> Option<Arc<K>> {
        self.0.find(key)
    }

    /// All objects, as they are at this moment.
    pub fn state(&self) -> Vec<Arc<K>> {
        self.0.all()
    }

    /// All objects that `predicate` holds for.
    pub fn state_filter(&self, predicate: impl Fn(&K) -> bool) -> Vec<Arc<K>> {
        let mut all = self.0.all();
        all.retain(|object| predicate(object));
        all
    }

    /// Some object that `predicate` holds for.
    pub fn find(&self, predicate: impl Fn(&K) -> bool) -> Option<Arc<K>> {
        self.0.all().into_iter().find(|object| predicate(object))
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.0.all().len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.0.all().is_empty()
    }

    /// Waits until the first list is complete.
    ///
    /// # Errors
    ///
    /// When that takes too long, or cannot happen any more; see [`NotReady`].
    pub async fn wait_until_ready(&self) -> Result<(), NotReady> {
        self.0.ready().await
    }
}

impl<K: Object> Clone for Reader<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Object> fmt::Debug for Reader<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
