//! What is known of the children of one kind: the store, own writes in it, and applies that changed nothing.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use serde_json::Value;

use super::{Child, differs::differs, write::Desired};
use crate::{
    echo::Overlay,
    memory::{Census, shrink},
    object::Object,
    store::Store,
};

/// The index of children by the uid of their controller. All controllers that share a store mean the same by it.
const OWNER: &str = "controller-runtime/controller-uid";

/// Applies that changed nothing although the live object looked different: by name, the hash of what was desired and
/// the resourceVersion that it met.
type Settled = HashMap<(String, String), (u64, String)>;

/// The children of one kind. A cheap handle.
pub(in crate::reconcile) struct Kin<T: Object> {
    /// Read through the answers to own writes.
    store: Store<T>,
    /// No more than there are live children.
    settled: Arc<Mutex<Settled>>,
}

impl<T: Object> Kin<T> {
    fn new(store: &Store<T>) -> Self {
        store.add_index(OWNER, |child| {
            controller_of(child.meta()).map(|owner| owner.uid.clone())
        });
        Self {
            store: store.with_overlay(&Overlay::new()),
            settled: Arc::default(),
        }
    }

    /// The object of this name is gone: nothing is remembered of it.
    pub(in crate::reconcile) fn forget(&self, namespace: Option<&str>, name: &str) {
        let mut settled = self.settled();
        settled.remove(&(namespace.unwrap_or_default().to_owned(), name.to_owned()));
        shrink(&mut settled);
    }

    /// Lets what is remembered of applies be counted.
    pub(in crate::reconcile) fn counted(&self, census: &Census) {
        let (kind, settled) = (T::kind(self.store.dyntype()), Arc::clone(&self.settled));
        census.add(format!("{kind} applies that changed nothing"), move || {
            settled.lock().unwrap_or_else(PoisonError::into_inner).len()
        });
    }

    fn settled(&self) -> MutexGuard<'_, Settled> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn key_of(object: &T) -> (String, String) {
        let meta = object.meta();
        (
            meta.namespace.clone().unwrap_or_default(),
            meta.name.clone().unwrap_or_default(),
        )
    }

    pub(super) fn live(&self, namespace: Option<&str>, name: &str) -> Option<Arc<T>> {
        match namespace {
            Some(namespace) => self.store.get((namespace, name)),
            None => self.store.get(name),
        }
    }

    /// Those whose controller is the object of this uid.
    pub(super) fn of_owner(&self, uid: &str) -> Vec<Arc<T>> {
        self.store.indexed(OWNER, uid).unwrap_or_default()
    }

    pub(super) fn show(&self, object: T) -> Arc<T> {
        let object = Arc::new(object);
        self.store.wrote(Arc::clone(&object));
        object
    }

    pub(super) fn gone(&self, object: &T) {
        self.store.deleted(object);
    }
}

impl<T: Child> Kin<T> {
    pub(super) fn is_as_desired(&self, desired: &Desired, live: &T, manager: &str) -> bool {
        let version = live.meta().resource_version.as_ref();
        let before = self.settled().get(&desired.key()).cloned();
        if let Some((hash, met)) = before
            && hash == desired.hash
            && Some(&met) == version
        {
            return true;
        }
        let Some(owned) = entry_of(live.meta(), manager) else {
            return false;
        };
        serde_json::to_value(live).is_ok_and(|live| !differs(&desired.value, &live, owned))
    }

    /// An apply changed nothing of this version.
    pub(super) fn settle(&self, desired: &Desired, version: Option<String>) {
        if let Some(version) = version {
            self.settled().insert(desired.key(), (desired.hash, version));
        }
    }
}

/// The owner that is the controller of the object, if it has one.
pub(super) fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = meta.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// The fields that `manager` owns by its last apply.
pub(super) fn entry_of<'a>(meta: &'a ObjectMeta, manager: &str) -> Option<&'a Value> {
    let mut entries = meta.managed_fields.iter().flatten();
    let entry = entries.find(|entry| {
        entry.manager.as_deref() == Some(manager)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.as_deref().unwrap_or_default().is_empty()
    })?;
    entry.fields_v1.as_ref().map(|fields| &fields.0)
}

/// The owned kinds of a controller.
#[derive(Clone, Default)]
pub(in crate::reconcile) struct Family(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Family {
    /// Children of this kind are read from this store; gives the store with the own writes in it.
    pub(in crate::reconcile) fn add<T: Object>(&mut self, store: &Store<T>) -> Store<T> {
        let kin = Kin::new(store);
        let store = kin.store.clone();
        self.0.insert(TypeId::of::<T>(), Arc::new(kin));
        store
    }

    pub(in crate::reconcile) fn get<T: Object>(&self) -> Option<Kin<T>> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref::<Kin<T>>().cloned()
    }
}

impl<T: Object> Clone for Kin<T> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            settled: Arc::clone(&self.settled),
        }
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Family").field("kinds", &self.0.len()).finish()
    }
}
