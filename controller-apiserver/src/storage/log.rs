//! The bounded log of events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::{Compacted, Stored};

/// How an object changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was not there before.
    Added,
    /// It was there before.
    Modified,
    /// It is there no more.
    Deleted,
}

/// One write.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) key: Arc<str>,
    pub(crate) change: Change,
    /// The new state; after a deletion the last state, at the deletion's revision.
    pub(crate) object: Arc<Stored>,
    /// The state before.
    pub(crate) previous: Option<Arc<Stored>>,
    /// The state before at this event's revision, for watchers whose selection it left.
    departed: OnceLock<Arc<Stored>>,
    /// The event as watchers read it, by what they take it for: encoded once for all of them.
    lines: Mutex<[Option<Bytes>; 3]>,
}

/// How many events of each collection keep their lines: watchers that follow are not further behind.
const YOUNG: usize = 1024;

impl Event {
    pub(super) fn new(
        key: Arc<str>,
        change: Change,
        object: Arc<Stored>,
        previous: Option<Arc<Stored>>,
    ) -> Self {
        debug_assert_eq!(previous.is_none(), change == Change::Added);
        Self {
            key,
            change,
            object,
            previous,
            departed: OnceLock::new(),
            lines: Mutex::default(),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.object.revision
    }

    /// The event as a line; made for the first watcher, and shared with the others.
    pub(crate) fn line(&self, taken_for: Change, make: impl FnOnce() -> Bytes) -> Bytes {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines[taken_for as usize].get_or_insert_with(make).clone()
    }

    /// Lets the lines go: whoever is so far behind makes its own.
    fn forget_lines(&self) {
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
    }

    /// What a watcher sees when an object leaves its selection: the old object, the new revision.
    pub(crate) fn departed(&self) -> Arc<Stored> {
        let previous = self.previous.as_ref().unwrap_or(&self.object);
        Arc::clone(
            self.departed
                .get_or_init(|| Arc::new(previous.at(self.revision()))),
        )
    }
}

/// An event that was taken back, with its collection.
type Taken = (Arc<str>, Arc<Event>);

/// How much of the past is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Events, over all collections.
    pub(crate) events: usize,
    /// Bytes of their objects.
    pub(crate) bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events: 100_000,
            bytes: 256 << 20,
        }
    }
}

/// The events of all collections, the oldest dropped first.
#[derive(Debug)]
pub(super) struct Log {
    /// Revisions up to this one are not in the log.
    compacted: u64,
    /// By collection; revisions rise, all are above `compacted`.
    events: BTreeMap<Arc<str>, VecDeque<Arc<Event>>>,
    /// The collections of all events, oldest first: what to drop next.
    order: VecDeque<Arc<str>>,
    /// The revision of the last event of each collection that was dropped.
    dropped: BTreeMap<Arc<str>, u64>,
    bytes: usize,
    limits: Limits,
}

impl Log {
    pub(super) fn new(compacted: u64, limits: Limits) -> Self {
        Self {
            compacted,
            events: BTreeMap::new(),
            order: VecDeque::new(),
            dropped: BTreeMap::new(),
            bytes: 0,
            limits,
        }
    }

    pub(super) fn push(&mut self, collection: &Arc<str>, event: Event) {
        debug_assert!(event.revision() > self.compacted);
        self.bytes += event.object.body.len();
        self.order.push_back(Arc::clone(collection));
        let events = self.events.entry(Arc::clone(collection)).or_default();
        events.push_back(Arc::new(event));
        if let Some(old) = events.len().checked_sub(YOUNG + 1) {
            events[old].forget_lines();
        }
        while self.order.len() > self.limits.events || self.bytes > self.limits.bytes {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some(collection) = self.order.pop_front() else {
            return;
        };
        let Some(events) = self.events.get_mut(&collection) else {
            return;
        };
        if let Some(event) = events.pop_front() {
            debug_assert!(event.revision() > self.compacted);
            self.bytes -= event.object.body.len();
            self.compacted = event.revision();
            if events.is_empty() {
                self.events.remove(&collection);
            }
            self.dropped.insert(collection, event.revision());
        }
    }

    /// Of how many collections it is known what was dropped.
    pub(super) fn traces(&self) -> usize {
        self.dropped.len()
    }

    /// Forgets what was dropped from collections without events, but for those whose watchers have to know it.
    pub(super) fn forget(&mut self, is_watched: impl Fn(&str) -> bool) {
        let events = &self.events;
        self.dropped
            .retain(|collection, _| events.contains_key(collection) || is_watched(collection));
    }

    /// The events of a collection after a revision that somebody names.
    pub(super) fn after(
        &self,
        collection: &str,
        revision: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Arc<Event>> + ExactSizeIterator, Compacted> {
        if revision < self.compacted {
            return Err(Compacted {
                oldest: self.compacted,
            });
        }
        Ok(self.since(collection, revision))
    }

    /// The events of a collection for somebody who has seen all up to a revision: an error only if
    /// one of this very collection was dropped since.
    pub(super) fn following(
        &self,
        collection: &str,
        seen: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Arc<Event>> + ExactSizeIterator, Compacted> {
        match self.dropped.get(collection) {
            Some(dropped) if *dropped > seen => Err(Compacted { oldest: *dropped }),
            _ => Ok(self.since(collection, seen)),
        }
    }

    fn since(
        &self,
        collection: &str,
        revision: u64,
    ) -> impl DoubleEndedIterator<Item = &Arc<Event>> + ExactSizeIterator {
        static NONE: VecDeque<Arc<Event>> = VecDeque::new();
        let events = self.events.get(collection).unwrap_or(&NONE);
        let from = events.partition_point(|event| event.revision() <= revision);
        events.range(from..)
    }

    /// Takes back all events after a revision, the last first.
    pub(super) fn take_back(&mut self, revision: u64) -> Result<Vec<Taken>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted {
                oldest: self.compacted,
            });
        }
        let mut taken = Vec::new();
        for (collection, events) in &mut self.events {
            let from = events.partition_point(|event| event.revision() <= revision);
            let later = events.drain(from..);
            taken.extend(later.map(|event| (Arc::clone(collection), event)));
        }
        self.events.retain(|_, events| !events.is_empty());
        taken.sort_by_key(|(_, event)| std::cmp::Reverse(event.revision()));
        self.order.truncate(self.order.len() - taken.len());
        self.bytes -= taken
            .iter()
            .map(|(_, event)| event.object.body.len())
            .sum::<usize>();
        Ok(taken)
    }

    pub(super) fn clear(&mut self, revision: u64) {
        for (collection, events) in std::mem::take(&mut self.events) {
            if let Some(last) = events.back() {
                self.dropped.insert(collection, last.revision());
            }
        }
        self.order.clear();
        self.bytes = 0;
        self.compacted = revision;
    }
}
