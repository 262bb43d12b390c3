//! Reading one's own writes before the watch delivers them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use kube::api::ObjectMeta;

use crate::object::Object;

/// Namespace and name.
pub(crate) type Name = (Option<String>, String);

/// The answers to writes of one kind that no watch has delivered yet. A cheap handle.
///
/// A store reads through it, and clears it: an answer is held until the watch shows that version, a later one or the end of
/// the object, or passes its revision without showing it (the object is outside of its selector). So no more is
/// held than the watch is behind. Without numeric resourceVersions nothing is held.
pub(crate) struct Overlay<T> {
    written: Arc<Mutex<BTreeMap<Name, Written<T>>>>,
}

/// An [`Overlay`] that its store knows of.
pub(crate) struct WeakOverlay<T>(Weak<Mutex<BTreeMap<Name, Written<T>>>>);

impl<T> WeakOverlay<T> {
    pub(crate) fn upgrade(&self) -> Option<Overlay<T>> {
        self.0.upgrade().map(|written| Overlay { written })
    }
}

/// The last answer to a write of one object.
pub(crate) enum Written<T> {
    /// The object as it is at this revision.
    Object(Arc<T>, u64),
    /// The object of this uid is gone; it was at this revision when it was known last.
    Gone(String, u64),
}

impl<T: Object> Overlay<T> {
    pub(crate) fn new() -> Self {
        Self {
            written: Arc::default(),
        }
    }

    /// A handle that does not keep the answers.
    pub(crate) fn downgrade(&self) -> WeakOverlay<T> {
        WeakOverlay(Arc::downgrade(&self.written))
    }

    /// The server answered a write with this object.
    pub(crate) fn wrote(&self, object: Arc<T>) {
        let meta = object.meta();
        if let Some(revision) = revision_of(meta) {
            let name = name_of(meta);
            self.lock().insert(name, Written::Object(object, revision));
        }
    }

    /// The server answered that the object is gone.
    pub(crate) fn deleted(&self, object: &T) {
        let meta = object.meta();
        if let (Some(uid), Some(revision)) = (meta.uid.clone(), revision_of(meta)) {
            self.lock().insert(name_of(meta), Written::Gone(uid, revision));
        }
    }

    /// What a reader has to know of one object. To be taken before the store is read.
    pub(crate) fn of(&self, namespace: Option<&str>, name: &str) -> Option<Written<T>> {
        let written = self.lock();
        if written.is_empty() {
            return None;
        }
        written
            .get(&(namespace.map(str::to_owned), name.to_owned()))
            .cloned()
    }

    /// What a reader has to know of all objects, by namespace and name. To be taken before the store is read.
    pub(crate) fn all(&self) -> Vec<(Name, Written<T>)> {
        let written = self.lock();
        written
            .iter()
            .map(|(name, written)| (name.clone(), written.clone()))
            .collect()
    }

    /// The store holds this copy of an object, and the watch has passed that revision.
    pub(crate) fn shown(&self, namespace: Option<&str>, name: &str, copy: Option<&T>, passed: u64) {
        let mut written = self.lock();
        if written.is_empty() {
            return;
        }
        let name = (namespace.map(str::to_owned), name.to_owned());
        if written
            .get(&name)
            .is_some_and(|written| !written.is_ahead(copy, passed))
        {
            written.remove(&name);
        }
    }

    /// Forgets all answers.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// How many answers are held.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Written<T>>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Object> Written<T> {
    /// Whether this is newer than the copy that the store holds, when the watch had passed that revision before.
    pub(crate) fn is_ahead(&self, copy: Option<&T>, passed: u64) -> bool {
        let (uid, revision) = match self {
            Self::Object(_, revision) => (None, *revision),
            Self::Gone(uid, revision) => (Some(uid), *revision),
        };
        let of_copy = copy.and_then(|copy| revision_of(copy.meta()));
        let to_come = passed < revision && of_copy.is_none_or(|of_copy| of_copy < revision);
        let to_go = uid.is_some() && copy.is_some_and(|copy| copy.meta().uid.as_ref() == uid);
        to_come || to_go
    }

    /// The object, if it is there.
    pub(crate) fn object(self) -> Option<Arc<T>> {
        match self {
            Self::Object(object, _) => Some(object),
            Self::Gone(..) => None,
        }
    }
}

fn revision_of(meta: &ObjectMeta) -> Option<u64> {
    meta.resource_version.as_ref()?.parse().ok()
}

pub(crate) fn name_of(meta: &ObjectMeta) -> Name {
    (meta.namespace.clone(), meta.name.clone().unwrap_or_default())
}

impl<T> Clone for Written<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Object(object, revision) => Self::Object(Arc::clone(object), *revision),
            Self::Gone(uid, revision) => Self::Gone(uid.clone(), *revision),
        }
    }
}

impl<T: Object> Default for Overlay<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Overlay<T> {
    fn clone(&self) -> Self {
        Self {
            written: Arc::clone(&self.written),
        }
    }
}

impl<T: Object> fmt::Debug for Overlay<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlay").field("held", &self.len()).finish()
    }
}
