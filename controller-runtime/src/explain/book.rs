//! The ledger of one controller, as its triggers write it: a cheap handle that costs next to nothing while nobody reads it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    fields::Compare,
    ledger::{Change, Entry, Fate, Ledger, Noted, Relation, What},
};
use crate::{
    clock,
    declare::RelationDeclaration,
    echo::version_id,
    object::{Object, ObjectRef},
    store::{Delta, DeltaCause},
};

/// The changes that came for the keys of one controller. Clones share them.
pub(crate) struct Book<K: Object>(Arc<Shared<K>>);

struct Shared<K: Object> {
    /// Someone will read it. Until then nothing is written.
    open: AtomicBool,
    ledger: Mutex<Ledger<ObjectRef<K>>>,
}

/// How objects of a kind wake keys, and how their fields are compared.
pub(crate) struct Via<T> {
    pub(super) relation: Arc<Relation>,
    pub(super) compare: Compare<T>,
}

impl<T: Object> Via<T> {
    pub(crate) fn new(word: &'static str, kind: &str, predicates: &[String], compare: Compare<T>) -> Self {
        Self {
            relation: Arc::new(Relation {
                word,
                kind: kind.to_owned(),
                predicates: predicates.to_vec(),
            }),
            compare,
        }
    }

    /// By a relation, as it was declared.
    pub(crate) fn declared(relation: &RelationDeclaration, compare: Compare<T>) -> Self {
        let kind = &relation.target.resource.kind;
        Self::new(relation.kind.as_str(), kind, &relation.predicates, compare)
    }

    fn is_primary(&self) -> bool {
        self.relation.word == PRIMARY
    }
}

/// The word of the relation of a key to its own object.
pub(crate) const PRIMARY: &str = "primary";

impl<K: Object> Book<K> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            open: AtomicBool::new(false),
            ledger: Mutex::new(Ledger::new()),
        }))
    }

    /// From now on changes are written down.
    pub(crate) fn open(&self) {
        self.0.open.store(true, Ordering::Relaxed);
    }

    /// A change came. `None` when it need not be noted: the first list is no change.
    pub(crate) fn heard<T: Object>(&self, via: &Via<T>, delta: &Delta<T>) -> Option<Arc<Change>> {
        if delta.cause == DeltaCause::Initial || !self.0.open.load(Ordering::Relaxed) {
            return None;
        }
        let now = clock::now();
        let (what, fields) = match (&delta.old, &delta.new) {
            (Some(old), Some(new)) if old.meta().uid == new.meta().uid => {
                let compared = self.ledger().may_compare(now);
                (What::Changed, compared.then(|| (via.compare)(old, new)))
            }
            (_, Some(_)) => (What::Added, None),
            (_, None) => (What::Deleted, None),
        };
        let shown = delta.new.as_ref().or(delta.old.as_ref());
        let version = shown.and_then(|object| object.meta().resource_version.as_deref());
        let name = || {
            (
                delta.key.namespace.as_deref().map(Into::into),
                delta.key.name.as_str().into(),
            )
        };
        Some(Arc::new(Change {
            at: now,
            relation: Arc::clone(&via.relation),
            object: (!via.is_primary()).then(name),
            what,
            listed: delta.cause == DeltaCause::Relist,
            version: version.unwrap_or_default().into(),
            id: version_id(delta),
            fields,
        }))
    }

    /// What became of a change that was meant for this key.
    pub(crate) fn note(&self, key: &ObjectRef<K>, change: Option<&Arc<Change>>, fate: Fate) {
        if let Some(change) = change {
            let change = Arc::clone(change);
            self.ledger().note(key, Noted { change, fate });
        }
    }

    /// No predicate let this change of a related object through, whoever it was for.
    pub(crate) fn dropped<T: Object>(&self, via: &Via<T>, delta: &Delta<T>) {
        if let Some(change) = self.heard(via, delta) {
            self.ledger().dropped_elsewhere(change);
        }
    }

    /// A run of this key is over: see [`Ledger::released`].
    pub(crate) fn released(&self, key: &ObjectRef<K>, held: &[(u64, bool)]) {
        if !held.is_empty() {
            self.ledger().released(key, held);
        }
    }

    /// The object is gone.
    pub(crate) fn gone(&self, key: &ObjectRef<K>) {
        self.ledger().gone(key, clock::now());
    }

    /// A run found no object of this key.
    pub(crate) fn missed(&self, key: &ObjectRef<K>) {
        self.ledger().missed(key);
    }

    /// Reads what is kept of a key.
    pub(crate) fn entry<R>(&self, key: &ObjectRef<K>, read: impl FnOnce(&Entry) -> R) -> R {
        let entry = self.ledger().entry(key).cloned();
        read(&entry.unwrap_or_default())
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger<ObjectRef<K>>> {
        // No step of the ledger calls foreign code while it is halfway.
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Object> Clone for Book<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Object> fmt::Debug for Book<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").finish_non_exhaustive()
    }
}
