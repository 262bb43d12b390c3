//! The reading side of a store.

use std::{
    fmt,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    Key,
    ready::{NotReady, Readiness},
    reflector::Reflector,
    table::Table,
};
use crate::object::{Object, ObjectRef};

/// What the readers and the one writer of a store share.
pub(super) struct Shared<T: Object> {
    pub(super) dyntype: T::DynamicType,
    table: RwLock<Table<T>>,
    synced: AtomicBool,
}

impl<T: Object> Shared<T> {
    pub(super) fn new(dyntype: T::DynamicType) -> Self {
        Self {
            dyntype,
            table: RwLock::new(Table::new()),
            synced: AtomicBool::new(false),
        }
    }

    // No user code that may panic runs under the lock, so a poisoned table is whole.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Table<T>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Table<T>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire)
    }

    pub(super) fn set_synced(&self) {
        self.synced.store(true, Ordering::Release);
    }
}

/// A readable copy of the objects that an informer watches. Cloning gives another handle to the same objects.
///
/// - Until the first list is complete the store reads as empty; after that, no reader ever sees a partial set.
/// - Objects are shared, never copied and never changed. A change is a new `Arc`.
/// - It is as old as the watch: a read after a write of your own may still give the object as it was before.
///
/// ```
/// use controller_runtime::store::Store;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// # fn config_map(_: &str, _: &str) -> ConfigMap {
/// #     let mut it = ConfigMap::default();
/// #     it.metadata.name = Some("a".into());
/// #     it.metadata.namespace = Some("docs".into());
/// #     it
/// # }
/// let store = Store::from_objects([config_map("docs", "a")]);
/// assert!(store.get(("docs", "a")).is_some());
/// assert!(store.within("docs").get("a").is_some());
/// ```
pub struct Store<T: Object> {
    pub(super) shared: Arc<Shared<T>>,
    readiness: Readiness,
    namespace: Option<Arc<str>>,
}

impl<T: Object> Store<T> {
    pub(crate) fn new(reflector: &Reflector<T>, readiness: Readiness) -> Self {
        Self {
            shared: Arc::clone(&reflector.shared),
            readiness,
            namespace: None,
        }
    }

    /// A store of these objects, synced and never changing: for tests of plain functions.
    ///
    /// Of several objects of one name the last one stays; objects without a name are left out.
    pub fn from_objects(objects: impl IntoIterator<Item = T>) -> Self
    where
        T::DynamicType: Default,
    {
        let reflector = Reflector::new(T::DynamicType::default());
        let listing = reflector.begin_list();
        for object in objects {
            reflector.listed(object, listing);
        }
        reflector.end_list(listing, None);
        reflector.set_synced();
        reflector.store()
    }

    /// The same store, bound to a namespace: names alone are looked for there.
    #[must_use]
    pub fn within(&self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.into()),
            ..self.clone()
        }
    }

    /// The object of that key, if it is there.
    pub fn get(&self, key: impl Key<T>) -> Option<Arc<T>> {
        let table = self.visible()?;
        key.look_up(self.namespace.as_deref(), |namespace, name| {
            table.get(namespace, name).cloned()
        })
    }

    /// The object of that uid, if it is there.
    pub fn get_uid(&self, uid: &str) -> Option<Arc<T>> {
        self.visible()?.get_uid(uid).cloned()
    }

    /// All objects, as they are at this moment. A handle bound to a namespace gives only those in it.
    pub fn snapshot(&self) -> Vec<Arc<T>> {
        let Some(table) = self.visible() else {
            return Vec::new();
        };
        let bound = self.namespace.as_deref();
        table
            .iter()
            .filter(|object| bound.is_none() || object.meta().namespace.as_deref() == bound)
            .cloned()
            .collect()
    }

    /// The same as [`snapshot`](Self::snapshot); the name that kube's `Store` has for it.
    pub fn state(&self) -> Vec<Arc<T>> {
        self.snapshot()
    }

    /// How many objects there are, in all namespaces.
    pub fn len(&self) -> usize {
        self.visible().map_or(0, |table| table.len())
    }

    /// Whether there is no object, in any namespace.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds (or replaces) an index: `values_of` reads the values under which an object is found.
    ///
    /// It runs on every change while readers wait, so it must be cheap. Objects that are there already are filed at once.
    pub fn add_index<V>(&self, name: &str, values_of: impl Fn(&T) -> V + Send + Sync + 'static)
    where
        V: IntoIterator<Item: Into<String>>,
    {
        let values_of = Arc::new(move |object: &T| values_of(object).into_iter().map(Into::into).collect());
        let mut table = self.shared.write();
        let objects: Vec<_> = table.iter().cloned().collect();
        table.indexes.build(name, values_of, objects.iter());
    }

    /// The objects that the index `name` files under `value`; `None` when there is no such index.
    pub fn indexed(&self, name: &str, value: &str) -> Option<Vec<Arc<T>>> {
        let table = self.shared.read();
        let positions = table.indexes.find(name, value)?;
        if !self.is_synced() {
            return Some(Vec::new());
        }
        Some(
            positions
                .filter_map(|position| table.at(position).cloned())
                .collect(),
        )
    }

    /// Whether the first list is complete, of every source of this store.
    pub fn is_synced(&self) -> bool {
        self.shared.is_synced()
    }

    /// Waits until the first list is complete.
    ///
    /// # Errors
    ///
    /// When that takes longer than the informer's `ready_limit`, or when nothing drives the informer any
    /// more. The error names group, kind, verb and namespace of each source that is not there, and why. The
    /// informer itself goes on: a right that is granted later makes the store ready, and one can wait again.
    pub async fn wait_until_ready(&self) -> Result<(), NotReady> {
        self.readiness.wait().await
    }

    /// The dynamic type of the objects.
    pub fn dyntype(&self) -> &T::DynamicType {
        &self.shared.dyntype
    }

    /// A reference to an object of this store.
    pub fn key_of(&self, object: &T) -> ObjectRef<T> {
        key_of(object, &self.shared.dyntype)
    }

    fn visible(&self) -> Option<RwLockReadGuard<'_, Table<T>>> {
        self.is_synced().then(|| self.shared.read())
    }
}

/// Like `ObjectRef::from_obj_with`, without its panic and without copies of uid and resourceVersion.
pub(crate) fn key_of<T: Object>(object: &T, dyntype: &T::DynamicType) -> ObjectRef<T> {
    let meta = object.meta();
    let key = ObjectRef::new_with(meta.name.as_deref().unwrap_or_default(), dyntype.clone());
    match &meta.namespace {
        Some(namespace) => key.within(namespace),
        None => key,
    }
}

impl<T: Object> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            readiness: self.readiness.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

impl<T: Object> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("kind", &T::kind(&self.shared.dyntype))
            .field("synced", &self.is_synced())
            .field("len", &self.len())
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
