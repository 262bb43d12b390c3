//! From a change to the wishes that wake a primary: not for what it wrote itself, and with a note in the book.

use std::sync::Arc;

use serde::Serialize;

use crate::{
    Controller,
    declare::Declaration,
    echo::OwnWrites,
    explain::{self, Book, Fate, PRIMARY, Via},
    object::{Object, ObjectRef},
    runner::{Inlet, Teller, guard},
    store::Delta,
    trigger::{self, Predicate, Request},
    watch::Informer,
};

/// Hears every change of a primary, whatever the predicates say. Whether it must run for it, whatever they say: as one that
/// names other objects than before.
pub(super) type PrimaryHook<K> = Box<dyn FnMut(&Delta<K>) -> bool + Send>;

/// The requests of a change that go on to the queue now. What becomes of each is written into the book.
pub(super) fn admitted<K: Object, T: Object>(
    own_writes: &OwnWrites<K>,
    book: &Book<K>,
    via: &Via<T>,
    delta: &Delta<T>,
    requests: Vec<Request<K>>,
) -> Vec<Request<K>> {
    if requests.is_empty() {
        return requests;
    }
    let change = book.heard(via, delta);
    let mut goes_on = Vec::with_capacity(requests.len());
    for request in requests {
        // The key is copied only for the book.
        let key = change.is_some().then(|| request.key.clone());
        let (admitted, fate) = own_writes.admit(delta, request);
        if let Some(key) = key {
            book.note(&key, change.as_ref(), fate);
        }
        goes_on.extend(admitted);
    }
    goes_on
}

/// Wakes a primary for its own changes, after everyone who keeps a record of primaries has heard them.
pub(super) struct OwnTrigger<K: Object> {
    via: Via<K>,
    predicate: Predicate<K>,
    hooks: Vec<PrimaryHook<K>>,
    own_writes: OwnWrites<K>,
    book: Book<K>,
}

impl<K: Object + Serialize> OwnTrigger<K> {
    pub(super) fn new(
        declaration: &Declaration,
        predicates: Vec<Predicate<K>>,
        hooks: Vec<PrimaryHook<K>>,
        own_writes: &OwnWrites<K>,
        book: &Book<K>,
    ) -> Self {
        let kind = &declaration.primary.resource.kind;
        Self {
            via: Via::new(PRIMARY, kind, &declaration.predicates, explain::whole::<K>),
            predicate: Predicate::any(predicates),
            hooks,
            own_writes: own_writes.clone(),
            book: book.clone(),
        }
    }

    pub(super) fn connect(mut self, controller: Controller<K>, informer: &Informer<K>) -> Controller<K> {
        controller.connected(informer, move |delta, teller| self.requests(delta, teller))
    }

    fn requests(&mut self, delta: &Delta<K>, teller: &Teller<K>) -> Vec<Request<K>> {
        let mut must_run = begins_to_go(delta);
        for hook in &mut self.hooks {
            // The primary's own trigger must not be lost for a panic in the user's function.
            match guard(|| hook(delta)) {
                Ok(must) => must_run |= must,
                Err(panic) => {
                    tracing::error!(object.ref = %delta.key, %panic, "a function of the attribute panicked; what it reads of this object is not followed");
                }
            }
        }
        if !must_run && !teller.lets_pass(&self.predicate, delta) {
            let change = self.book.heard(&self.via, delta);
            self.book.note(&delta.key, change.as_ref(), Fate::Dropped);
            return Vec::new();
        }
        let requests = vec![trigger::own(delta)];
        admitted(&self.own_writes, &self.book, &self.via, delta, requests)
    }
}

/// Its deletion was asked for. No predicate may hide that from the cleanup.
fn begins_to_go<K: Object>(delta: &Delta<K>) -> bool {
    let dying = |side: &Option<Arc<K>>| {
        side.as_ref()
            .is_some_and(|object| object.meta().deletion_timestamp.is_some())
    };
    dying(&delta.new) && !dying(&delta.old)
}

/// Holds the changes of a running key's objects, and lets go of those that were not its own.
pub(super) struct EchoWatch<K: Object> {
    own_writes: OwnWrites<K>,
    book: Book<K>,
    inlet: Inlet<K>,
    key: ObjectRef<K>,
}

impl<K: Object> EchoWatch<K> {
    pub(super) fn begin(
        own_writes: &OwnWrites<K>,
        book: &Book<K>,
        inlet: &Inlet<K>,
        key: ObjectRef<K>,
    ) -> Self {
        own_writes.started(key.clone());
        Self {
            own_writes: own_writes.clone(),
            book: book.clone(),
            inlet: inlet.clone(),
            key,
        }
    }
}

/// However the run ends: also by a panic, a timeout or a shutdown.
impl<K: Object> Drop for EchoWatch<K> {
    fn drop(&mut self) {
        let released = self.own_writes.finished(&self.key);
        self.book.released(&self.key, &released.held);
        self.inlet.push_since(released.requests);
    }
}
