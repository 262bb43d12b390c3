//! The pure core: objects, revisions and the events between them.
//!
//! One counter numbers every write on the whole server (API conventions, "Concurrency Control and
//! Consistency"): a revision names one state of everything. The store keeps the present state and a
//! bounded log of events; from both it answers what a collection looked like at a revision, and what
//! happened since. What was dropped from the log is *compacted*, and asking for it is an error.
//!
//! No I/O, no clock, no chance, no waiting: the same calls give the same bytes.

mod log;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use log::{Change, Event, Limits};
pub(crate) use stored::{Stored, encode};

use log::Log;

/// The revision asked for is older than the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted {
    /// The oldest revision that can still be asked for.
    pub(crate) oldest: u64,
}

/// All objects of one resource, by key: `namespace/name`, or `name`.
///
/// Keys are ordered as bytes, so that namespace `x-2` comes before `x`, as in etcd.
type Objects = BTreeMap<Arc<str>, Arc<Stored>>;

/// A place whose object changed, and the object that was there.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) collection: Arc<str>,
    pub(crate) key: Arc<str>,
    pub(crate) was: Option<Arc<Stored>>,
}

/// Everything that is stored.
#[derive(Debug)]
pub(crate) struct Store {
    /// The revision of the last write.
    revision: u64,
    /// Invariant: none is empty.
    collections: BTreeMap<Arc<str>, Objects>,
    log: Log,
}

impl Store {
    /// An empty store whose revisions up to `revision` count as compacted.
    pub(crate) fn new(revision: u64, limits: Limits) -> Self {
        Self {
            revision,
            collections: BTreeMap::new(),
            log: Log::new(revision, limits),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn get(&self, collection: &str, key: &str) -> Option<&Arc<Stored>> {
        self.collections.get(collection)?.get(key)
    }

    /// The keys and objects whose key starts with `prefix`, in key order.
    pub(crate) fn scan<'a>(
        &'a self,
        collection: &str,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Stored>)> + use<'a> {
        self.scan_from(collection, prefix, prefix)
    }

    /// As [`scan`](Self::scan), from a key on.
    pub(crate) fn scan_from<'a>(
        &'a self,
        collection: &str,
        prefix: &'a str,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Stored>)> + use<'a> {
        let range = (Bound::Included(start), Bound::Unbounded);
        self.collections
            .get(collection)
            .into_iter()
            .flat_map(move |objects| objects.range::<str, _>(range))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The names of all collections that hold objects.
    pub(crate) fn collections(&self) -> impl Iterator<Item = &Arc<str>> {
        self.collections.keys()
    }

    /// Of how many collections something is kept beside objects and events.
    pub(crate) fn traces(&self) -> usize {
        self.log.traces()
    }

    /// Forgets what is kept of collections whose last event was compacted; watchers still have to know what they missed.
    pub(crate) fn forget(&mut self, is_watched: impl Fn(&str) -> bool) {
        self.log.forget(is_watched);
    }

    /// Creates or replaces an object. Its `resourceVersion` is set to the new revision.
    pub(crate) fn put(&mut self, collection: &str, key: &str, object: Value, stamp: u64) -> Arc<Stored> {
        self.revision += 1;
        let stored = Arc::new(Stored::new(object, self.revision, stamp));
        let collection = self.collection(collection);
        let objects = self.collections.entry(Arc::clone(&collection)).or_default();
        let key: Arc<str> = objects
            .get_key_value(key)
            .map_or_else(|| key.into(), |(key, _)| Arc::clone(key));
        let previous = objects.insert(Arc::clone(&key), Arc::clone(&stored));
        let change = if previous.is_some() {
            Change::Modified
        } else {
            Change::Added
        };
        self.log.push(
            &collection,
            Event::new(key, change, Arc::clone(&stored), previous),
        );
        stored
    }

    /// Removes an object. Watchers see it as it last was, at the new revision.
    pub(crate) fn remove(&mut self, collection: &str, key: &str) -> Option<Arc<Stored>> {
        let name = self.collection(collection);
        let objects = self.collections.get_mut(collection)?;
        let (key, previous) = objects.remove_entry(key)?;
        if objects.is_empty() {
            self.collections.remove(collection);
        }
        self.revision += 1;
        let last = Arc::new(previous.at(self.revision));
        let event = Event::new(key, Change::Deleted, Arc::clone(&last), Some(previous));
        self.log.push(&name, event);
        Some(last)
    }

    /// What a collection held at `revision`, in key order.
    pub(crate) fn at(
        &self,
        collection: &str,
        prefix: &str,
        revision: u64,
    ) -> Result<BTreeMap<Arc<str>, Arc<Stored>>, Compacted> {
        let mut objects: Objects = self
            .scan(collection, prefix)
            .map(|(key, object)| (Arc::clone(key), Arc::clone(object)))
            .collect();
        let since = self.log.after(collection, revision)?;
        for event in since.rev().filter(|event| event.key.starts_with(prefix)) {
            match &event.previous {
                Some(previous) => objects.insert(Arc::clone(&event.key), Arc::clone(previous)),
                None => objects.remove(&event.key),
            };
        }
        Ok(objects)
    }

    /// The events of a collection after `revision`, oldest first.
    #[cfg(test)]
    pub(crate) fn events(
        &self,
        collection: &str,
        revision: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Arc<Event>> + ExactSizeIterator, Compacted> {
        self.log.after(collection, revision)
    }

    /// The events of a collection for a watch that has seen all up to `seen`: what was dropped from
    /// other collections does not concern it.
    pub(crate) fn following(
        &self,
        collection: &str,
        seen: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Arc<Event>> + ExactSizeIterator, Compacted> {
        self.log.following(collection, seen)
    }

    /// Everything after this revision is still known.
    pub(crate) fn remembers(&self, revision: u64) -> bool {
        self.log.after("", revision).is_ok()
    }

    /// Goes back to the state of a revision, as a server does that is restored from a backup: what was
    /// written later never was. Tells the places that changed, with what was there.
    pub(crate) fn restore(&mut self, revision: u64) -> Result<Vec<Place>, Compacted> {
        let mut places = BTreeMap::new();
        for (collection, event) in self.log.take_back(revision)? {
            let objects = self.collections.entry(Arc::clone(&collection)).or_default();
            let last = match &event.previous {
                Some(previous) => objects.insert(Arc::clone(&event.key), Arc::clone(previous)),
                None => objects.remove(&event.key),
            };
            // Events are taken back last first: the first meeting is with the present state.
            places.entry((collection, Arc::clone(&event.key))).or_insert(last);
        }
        self.collections.retain(|_, objects| !objects.is_empty());
        self.revision = self.revision.min(revision);
        Ok(places
            .into_iter()
            .map(|((collection, key), was)| Place { collection, key, was })
            .collect())
    }

    /// Forgets all events up to now: asking for what came before is answered with 410.
    pub(crate) fn compact(&mut self) {
        self.log.clear(self.revision);
    }

    /// Collections share one name each, in objects and log.
    fn collection(&self, name: &str) -> Arc<str> {
        self.collections
            .get_key_value(name)
            .map_or_else(|| name.into(), |(name, _)| Arc::clone(name))
    }
}
