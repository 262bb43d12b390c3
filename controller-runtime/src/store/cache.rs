//! Where a controller reads its primaries: a store of ours, or one of kube's.

use std::{sync::Arc, time::Duration};

use futures::future::{BoxFuture, FutureExt};
use kube::runtime::reflector;
use tokio::time::timeout;

use super::{Found, NotReady, Seat, Store};
use crate::object::{Object, ObjectRef};

/// How long a store of kube's is waited for before it is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Where a controller reads its primaries.
///
/// kube's `Store` tells neither deletions nor when it fails; what is promised about those holds for
/// [`Store`] only.
pub trait Cache<K: Object>: Send + Sync + 'static {
    /// The object of that key.
    fn find(&self, key: &ObjectRef<K>) -> Option<Arc<K>>;

    /// The object of that key, and where it is, in a store that can find it again from there.
    #[doc(hidden)]
    fn find_seat(&self, key: &ObjectRef<K>) -> Option<Found<K>> {
        self.find(key).map(Found::somewhere)
    }

    /// The object that was found there, if what is there still belongs to the same key.
    #[doc(hidden)]
    fn find_seated(&self, seat: Seat) -> Option<Found<K>> {
        let _ = seat;
        None
    }

    /// The object of that uid, even before the first list is complete. An owner reference gives a hint: the object has
    /// that `name`, and lives in `namespace` or in none.
    fn find_owner(
        &self,
        uid: &str,
        namespace: Option<&str>,
        name: &str,
        dyntype: &K::DynamicType,
    ) -> Option<Arc<K>>;

    /// All objects, as they are at this moment.
    fn all(&self) -> Vec<Arc<K>>;

    /// Resolves when the first list is complete, or with the reason why it is not (yet); then it can be asked again,
    /// unless [`NotReady::waited`] is `None`.
    fn ready(&self) -> BoxFuture<'static, Result<(), NotReady>>;
}

impl<K: Object> Cache<K> for Store<K> {
    fn find(&self, key: &ObjectRef<K>) -> Option<Arc<K>> {
        self.get(key)
    }

    fn find_seat(&self, key: &ObjectRef<K>) -> Option<Found<K>> {
        Store::find_seat(self, key)
    }

    fn find_seated(&self, seat: Seat) -> Option<Found<K>> {
        Store::find_seated(self, seat)
    }

    fn find_owner(&self, uid: &str, _: Option<&str>, _: &str, _: &K::DynamicType) -> Option<Arc<K>> {
        self.shared.read().get_uid(uid).cloned()
    }

    fn all(&self) -> Vec<Arc<K>> {
        self.snapshot()
    }

    fn ready(&self) -> BoxFuture<'static, Result<(), NotReady>> {
        let store = self.clone();
        async move { store.wait_until_ready().await }.boxed()
    }
}

impl<K: Object> Cache<K> for reflector::Store<K> {
    fn find(&self, key: &ObjectRef<K>) -> Option<Arc<K>> {
        self.get(key)
    }

    fn find_owner(
        &self,
        uid: &str,
        namespace: Option<&str>,
        name: &str,
        dyntype: &K::DynamicType,
    ) -> Option<Arc<K>> {
        let cluster = ObjectRef::new_with(name, dyntype.clone());
        let namespaced = namespace.map(|namespace| cluster.clone().within(namespace));
        namespaced
            .into_iter()
            .chain([cluster])
            .filter_map(|key| self.get(&key))
            .find(|object| object.meta().uid.as_deref() == Some(uid))
    }

    fn all(&self) -> Vec<Arc<K>> {
        self.state()
    }

    fn ready(&self) -> BoxFuture<'static, Result<(), NotReady>> {
        let store = self.clone();
        async move {
            // Of several that wait for one store, kube wakes only one: each looks again now and then.
            loop {
                if let Ok(ready) = timeout(LOOK_AGAIN, store.wait_until_ready()).await {
                    return ready.map_err(|_| NotReady::dropped(Vec::new()));
                }
            }
        }
        .boxed()
    }
}
