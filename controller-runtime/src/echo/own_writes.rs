//! The own writes of one controller, shared by its runner and by what writes for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::echoes::{Echoes, Version};
use crate::{
    clock::{self, Instant},
    explain::Fate,
    object::{Object, ObjectRef},
    store::{Delta, DeltaCause},
    trigger::Request,
};

/// Keeps the keys of one controller from waking for their own writes. A cheap handle.
///
/// The runner calls [`started`](Self::started) before a run and [`finished`](Self::finished) after it, and passes every
/// request that a change makes through [`admit`](Self::admit). What writes for a reconcile reports
/// each response through [`wrote`](Self::wrote) or [`deleted`](Self::deleted) before the run is over.
#[derive(Clone, Debug)]
pub(crate) struct OwnWrites<K: Object> {
    echoes: Arc<Mutex<Echoes<ObjectRef<K>, Request<K>>>>,
}

impl<K: Object> OwnWrites<K> {
    pub(crate) fn new() -> Self {
        Self {
            echoes: Arc::new(Mutex::new(Echoes::new())),
        }
    }

    /// A run of `key` begins.
    pub(crate) fn started(&self, key: ObjectRef<K>) {
        self.lock().started(key);
    }

    /// The run of `key` is over.
    pub(crate) fn finished(&self, key: &ObjectRef<K>) -> Released<K> {
        let mut echoes = self.lock();
        let held: Vec<_> = echoes
            .held(key)
            .map(|(version, own)| (version.id(), own))
            .collect();
        Released {
            requests: echoes.finished(key, clock::now()),
            held,
        }
    }

    /// The request that is to go on to the queue now because of a change, and what becomes of the change itself.
    pub(crate) fn admit<T: Object>(
        &self,
        delta: &Delta<T>,
        request: Request<K>,
    ) -> (Option<Request<K>>, Fate) {
        // A list may have jumped over somebody else's change to ours; and that a primary is gone is told at once.
        if delta.cause != DeltaCause::Watch || request.gone {
            return (Some(request), Fate::Woke);
        }
        let Some(version) = version_of(delta) else {
            return (Some(request), Fate::Woke);
        };
        let key = request.key.clone();
        let mut echoes = self.lock();
        let held = echoes.holds(&key);
        let admitted = echoes.admit(&key, version, request, clock::now());
        let fate = match &admitted {
            _ if held => Fate::Held,
            Some(_) => Fate::Woke,
            None => Fate::OwnWrite,
        };
        (admitted, fate)
    }

    /// How many changes are held for `key`, which runs.
    pub(crate) fn held(&self, key: &ObjectRef<K>) -> usize {
        self.lock().held(key).count()
    }

    /// The server answered a write of `key` with this version of the object of this uid.
    pub(crate) fn wrote_version(&self, key: &ObjectRef<K>, uid: &str, version: &str) {
        let version = Version::At(uid.to_owned(), version.to_owned());
        self.lock().wrote(key.clone(), version, clock::now());
    }

    /// The server answered that the object of this uid, which `key` deleted, is gone.
    pub(crate) fn deleted(&self, key: &ObjectRef<K>, uid: &str) {
        self.lock()
            .wrote(key.clone(), Version::Gone(uid.to_owned()), clock::now());
    }

    /// How many writes are remembered, and how many keys run.
    pub(crate) fn remembered(&self) -> usize {
        self.lock().remembered()
    }

    fn lock(&self) -> MutexGuard<'_, Echoes<ObjectRef<K>, Request<K>>> {
        self.echoes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the end of a run sets free.
#[derive(Debug)]
pub(crate) struct Released<K: Object> {
    /// These go to the queue *before* the queue hears of the end, each as of the time when it came.
    pub(crate) requests: Vec<(Instant, Request<K>)>,
    /// The [`version_id`] of each change that was held, and whether it was the run's own.
    pub(crate) held: Vec<(u64, bool)>,
}

/// A number for the version of an object that a change brought.
pub(crate) fn version_id<T: Object>(delta: &Delta<T>) -> u64 {
    version_of(delta).map_or(0, |version| version.id())
}

fn version_of<T: Object>(delta: &Delta<T>) -> Option<Version> {
    match (&delta.old, &delta.new) {
        (_, Some(new)) => {
            let meta = new.meta();
            Some(Version::At(meta.uid.clone()?, meta.resource_version.clone()?))
        }
        (Some(old), None) => Some(Version::Gone(old.meta().uid.clone()?)),
        (None, None) => None,
    }
}
