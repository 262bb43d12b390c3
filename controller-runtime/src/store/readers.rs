//! The reading side of a store.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{
    Found, Key, Seat,
    index::IndexFn,
    ready::{NotReady, Readiness},
    reflector::Reflector,
    shared::Shared,
    table::Table,
};
use crate::{
    echo::{Name, Overlay, Written, name_of},
    memory::Census,
    object::{Object, ObjectRef},
};

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
pub struct Store<T> {
    pub(super) shared: Arc<Shared<T>>,
    readiness: Readiness,
    namespace: Option<Arc<str>>,
    overlay: Option<Overlay<T>>,
}

impl<T: Object> Store<T> {
    pub(crate) fn new(reflector: &Reflector<T>, readiness: Readiness) -> Self {
        Self {
            shared: Arc::clone(&reflector.shared),
            readiness,
            namespace: None,
            overlay: None,
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

    /// The same store, bound to no namespace: a snapshot gives the objects of all.
    #[must_use]
    pub fn everywhere(&self) -> Self {
        Self {
            namespace: None,
            ..self.clone()
        }
    }

    /// The same store, read through the answers to one's own writes.
    #[must_use]
    pub(crate) fn with_overlay(&self, overlay: &Overlay<T>) -> Self {
        self.shared.add_overlay(overlay);
        Self {
            overlay: Some(overlay.clone()),
            ..self.clone()
        }
    }

    /// The server answered a write with this object: readers of this handle see it from now on.
    pub(crate) fn wrote(&self, object: Arc<T>) {
        if let Some(overlay) = &self.overlay {
            let (namespace, name) = name_of(object.meta());
            overlay.wrote(object);
            self.shared.show(namespace.as_deref(), &name);
        }
    }

    /// The server answered that this object is gone: readers of this handle do not see it any more.
    pub(crate) fn deleted(&self, object: &T) {
        if let Some(overlay) = &self.overlay {
            let (namespace, name) = name_of(object.meta());
            overlay.deleted(object);
            self.shared.show(namespace.as_deref(), &name);
        }
    }

    /// The object of that key, if it is there.
    pub fn get(&self, key: impl Key<T>) -> Option<Arc<T>> {
        if !self.is_synced() {
            return None;
        }
        key.look_up(self.namespace.as_deref(), |namespace, name| {
            self.find(namespace, name)
        })
    }

    /// The object of that key, and where it is.
    pub(super) fn find_seat(&self, key: &ObjectRef<T>) -> Option<Found<T>> {
        if self.reads_through_writes() {
            return self.get(key).map(Found::somewhere);
        }
        if !self.is_synced() {
            return None;
        }
        let table = self.shared.read();
        table.seated(table.seat(key.namespace.as_deref(), &key.name)?)
    }

    /// The object that was found there, if what is there still belongs to the same key.
    pub(super) fn find_seated(&self, seat: Seat) -> Option<Found<T>> {
        let from_table = self.is_synced() && !self.reads_through_writes();
        from_table.then(|| self.shared.read().seated(seat)).flatten()
    }

    fn reads_through_writes(&self) -> bool {
        self.overlay.as_ref().is_some_and(|overlay| overlay.len() > 0)
    }

    /// The object of that uid, if it is there.
    pub fn get_uid(&self, uid: &str) -> Option<Arc<T>> {
        if !self.is_synced() {
            return None;
        }
        let has_uid = |object: &Arc<T>| object.meta().uid.as_deref() == Some(uid);
        let written = self
            .held()
            .into_values()
            .filter_map(|(written, _)| written.object());
        let candidate = written.into_iter().find(has_uid);
        let candidate = candidate.or_else(|| self.shared.read().get_uid(uid).cloned())?;
        let (namespace, name) = name_of(candidate.meta());
        self.find(namespace.as_deref(), &name).filter(has_uid)
    }

    /// All objects, as they are at this moment. A handle bound to a namespace gives only those in it.
    pub fn snapshot(&self) -> Vec<Arc<T>> {
        if !self.is_synced() {
            return Vec::new();
        }
        let held = self.held();
        let bound = self.namespace.as_deref();
        let belongs = |object: &T| bound.is_none() || object.meta().namespace.as_deref() == bound;
        let table = self.shared.read();
        let copies = table.iter().filter(|object| belongs(object)).cloned().collect();
        read_through(&table, held, copies, belongs)
    }

    /// The same as [`snapshot`](Self::snapshot); the name that kube's `Store` has for it.
    pub fn state(&self) -> Vec<Arc<T>> {
        self.snapshot()
    }

    /// How many objects there are, in all namespaces.
    pub fn len(&self) -> usize {
        if self.overlay.as_ref().is_some_and(|overlay| overlay.len() > 0) {
            return self.snapshot().len();
        }
        if self.is_synced() {
            self.shared.read().len()
        } else {
            0
        }
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
        let values_of: IndexFn<T> =
            Arc::new(move |object| values_of(object).into_iter().map(Into::into).collect());
        self.shared.write().build_index(name, values_of);
    }

    /// The objects that the index `name` files under `value`; `None` when there is no such index.
    pub fn indexed(&self, name: &str, value: &str) -> Option<Vec<Arc<T>>> {
        let held = self.held();
        let table = self.shared.read();
        let positions = table.indexes.find(name, value)?;
        if !self.is_synced() {
            return Some(Vec::new());
        }
        let copies = positions
            .filter_map(|position| table.at(position).cloned())
            .collect();
        Some(read_through(&table, held, copies, |object| {
            table.indexes.files(name, object, value)
        }))
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

    /// Lets its objects be counted, what their indexes know, and the own writes that no watch has shown yet.
    pub(crate) fn counted(&self, census: &Census) {
        let kind = T::kind(self.shared.dyntype());
        let (objects, indexes) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        census.add(format!("{kind} objects"), move || objects.read().len());
        census.add(format!("{kind} index values"), move || {
            indexes.read().indexes.len()
        });
        if let Some(overlay) = self.overlay.clone() {
            census.add(format!("{kind} own writes to come"), move || overlay.len());
        }
    }

    /// The dynamic type of the objects.
    pub fn dyntype(&self) -> &T::DynamicType {
        self.shared.dyntype()
    }

    /// A reference to an object of this store.
    pub fn key_of(&self, object: &T) -> ObjectRef<T> {
        key_of(object, self.shared.dyntype())
    }

    fn find(&self, namespace: Option<&str>, name: &str) -> Option<Arc<T>> {
        let Some(written) = self
            .overlay
            .as_ref()
            .and_then(|overlay| overlay.of(namespace, name))
        else {
            return self.shared.copy(namespace, name);
        };
        let passed = self.shared.passed(namespace);
        let copy = self.shared.copy(namespace, name);
        if written.is_ahead(copy.as_deref(), passed) {
            written.object()
        } else {
            copy
        }
    }

    /// The answers to own writes, and how far the watch was then. To be taken before the table is read.
    fn held(&self) -> Held<T> {
        let written = self.overlay.as_ref().map(Overlay::all).unwrap_or_default();
        written
            .into_iter()
            .map(|(name, written)| {
                let passed = self.shared.passed(name.0.as_deref());
                (name, (written, passed))
            })
            .collect()
    }
}

type Held<T> = BTreeMap<Name, (Written<T>, u64)>;

/// Replaces the copies that answers to own writes are ahead of, and adds those answers that `belong`.
fn read_through<T: Object>(
    table: &Table<T>,
    mut held: Held<T>,
    mut copies: Vec<Arc<T>>,
    belongs: impl Fn(&T) -> bool,
) -> Vec<Arc<T>> {
    held.retain(|(namespace, name), (written, passed)| {
        let copy = table.get(namespace.as_deref(), name);
        written.is_ahead(copy.map(|copy| &**copy), *passed)
    });
    if !held.is_empty() {
        copies.retain(|copy| !held.contains_key(&name_of(copy.meta())));
        let written = held.into_values().filter_map(|(written, _)| written.object());
        copies.extend(written.filter(|object| belongs(object)));
    }
    copies
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

impl<T> Store<T> {
    /// The same store, bound to a namespace: names alone are looked for there.
    #[must_use]
    pub fn within(&self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.into()),
            ..self.clone()
        }
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            readiness: self.readiness.clone(),
            namespace: self.namespace.clone(),
            overlay: self.overlay.clone(),
        }
    }
}

impl<T: Object> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("kind", &T::kind(self.shared.dyntype()))
            .field("synced", &self.is_synced())
            .field("len", &self.len())
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
