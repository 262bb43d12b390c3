//! The writing side of a store: takes lists and changes, and tells them as deltas.
//!
//! - One writer at a time (a lock sees to it); readers wait for one insertion at most.
//! - A list is applied in place, object by object: what has the same uid and resourceVersion yields nothing, what the
//!   list did not contain is removed at its end. So no reader sees a partial set, and no second set is in memory.
//! - Handlers hear deltas in order, after the store holds them, and never while readers are locked out.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{
    Delta, DeltaCause, Store, Subscription,
    readers::key_of,
    ready::Readiness,
    shared::Shared,
    subscribers::Subscribers,
    table::{Listing as Number, Put, names},
};
use crate::object::Object;

/// One list in progress: from [`Reflector::begin_list`] to [`Reflector::end_list`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing(Number);

/// The writing side of a [`Store`]. Informers drive it; tests and benchmarks may, too.
///
/// ```
/// use controller_runtime::store::Reflector;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let reflector = Reflector::<ConfigMap>::new(());
/// let store = reflector.store();
/// let listing = reflector.begin_list();
/// reflector.end_list(listing, None);
/// reflector.set_synced();
/// assert!(store.is_synced() && store.is_empty());
/// ```
pub struct Reflector<T: Object> {
    pub(super) shared: Arc<Shared<T>>,
    /// Held while a change is made and told: there is one writer, and a subscriber's snapshot has no gap.
    subscribers: Mutex<Subscribers<T>>,
    listings: AtomicU32,
}

impl<T: Object> Reflector<T> {
    /// An empty store that is not synced.
    pub fn new(dyntype: T::DynamicType) -> Self {
        Self::over(dyntype, [None])
    }

    /// An empty store that several lists and watches fill, each of one namespace.
    pub(crate) fn over(
        dyntype: T::DynamicType,
        namespaces: impl IntoIterator<Item = Option<String>>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared::new(dyntype, namespaces)),
            subscribers: Mutex::new(Subscribers::new()),
            listings: AtomicU32::new(0),
        }
    }

    /// A reader of a store whose sync nobody promises: it is ready when the writer says so, at once or never.
    pub fn store(&self) -> Store<T> {
        Store::new(self, Readiness::fixed())
    }

    /// Calls `handler` with the objects that are there, as `Initial`, and then with every later change, in order.
    ///
    /// Handlers run inline: they must not block, nor change or subscribe to the same store. Reading it is fine.
    pub fn subscribe(&self, handler: impl FnMut(&Delta<T>) + Send + 'static) -> Subscription {
        let mut subscribers = self.lock();
        let objects: Vec<_> = self.shared.read().iter().cloned().collect();
        let dyntype = self.shared.dyntype();
        let snapshot = objects.into_iter().map(|object| Delta {
            key: key_of(&*object, dyntype),
            old: None,
            new: Some(object),
            cause: DeltaCause::Initial,
        });
        subscribers.add(snapshot, handler)
    }

    /// Starts a list. What it does not contain is removed by [`end_list`](Self::end_list).
    pub fn begin_list(&self) -> Listing {
        Listing(self.listings.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }

    /// An object of the list.
    pub fn listed(&self, object: T, listing: Listing) {
        self.put(object, self.list_cause(), listing);
    }

    /// An object of a list or watch that could not be decoded: the copy before it stays, unless that was
    /// another object of the same name.
    pub fn unreadable(&self, namespace: Option<&str>, name: &str, uid: Option<&str>, listing: Listing) {
        let mut subscribers = self.lock();
        let known = self.shared.write().touch(namespace, name, listing.0).cloned();
        if let Some(known) = known
            && uid.is_some()
            && known.meta().uid.as_deref() != uid
        {
            let cause = self.list_cause();
            self.take(&mut subscribers, &known, cause);
        }
    }

    /// The list is complete: what it did not contain is gone. With a namespace, the list was of that namespace only.
    pub fn end_list(&self, listing: Listing, namespace: Option<&str>) {
        let mut subscribers = self.lock();
        let cause = self.list_cause();
        let vanished = self.shared.read().unseen(namespace, listing.0);
        for object in vanished {
            self.take(&mut subscribers, &object, cause);
        }
        drop(subscribers);
    }

    /// From now on readers see what is there, and later lists are told as `Relist`.
    pub fn set_synced(&self) {
        let _writer = self.lock();
        self.shared.set_synced();
    }

    /// An object of the watch: added or changed.
    pub fn apply(&self, object: T, listing: Listing) {
        self.put(object, DeltaCause::Watch, listing);
    }

    /// An object of the watch: gone.
    pub fn delete(&self, namespace: Option<&str>, name: &str) {
        let mut subscribers = self.lock();
        let old = self.shared.read().get(namespace, name).cloned();
        if let Some(old) = old {
            self.take(&mut subscribers, &old, DeltaCause::Watch);
        }
    }

    /// Everything of a namespace (of all, when `None`) up to `revision` has been told.
    pub(crate) fn passed(&self, namespace: Option<&str>, revision: &str, at_rest: bool) {
        if let Ok(revision) = revision.parse() {
            self.shared.set_passed(namespace, revision);
            if at_rest {
                self.shared.show_all();
            }
        }
    }

    fn put(&self, object: T, cause: DeltaCause, listing: Listing) {
        if names(object.meta()).1.is_empty() {
            tracing::warn!(kind = %T::kind(self.shared.dyntype()), "an object without a name was left out of the store");
            return;
        }
        let mut subscribers = self.lock();
        let put = self.shared.write().put(object, listing.0);
        let Put::Changed { old, new } = put else {
            return;
        };
        let (namespace, name) = names(new.meta());
        self.shared.show(namespace, name);
        if !subscribers.is_empty() {
            subscribers.tell(&Delta {
                key: key_of(&*new, self.shared.dyntype()),
                old,
                new: Some(new),
                cause,
            });
        }
    }

    fn take(&self, subscribers: &mut Subscribers<T>, object: &T, cause: DeltaCause) {
        let (namespace, name) = names(object.meta());
        let old = self.shared.write().remove(namespace, name);
        self.shared.show(namespace, name);
        if !subscribers.is_empty() {
            subscribers.tell(&Delta {
                key: key_of(object, self.shared.dyntype()),
                old,
                new: None,
                cause,
            });
        }
    }

    fn list_cause(&self) -> DeltaCause {
        if self.shared.is_synced() {
            DeltaCause::Relist
        } else {
            DeltaCause::Initial
        }
    }

    // Handlers' panics are caught before they reach the lock.
    fn lock(&self) -> MutexGuard<'_, Subscribers<T>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Object> fmt::Debug for Reflector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector")
            .field("kind", &T::kind(self.shared.dyntype()))
            .field("len", &self.shared.read().len())
            .finish_non_exhaustive()
    }
}
