//! Which changes are a key's own. Pure: `now` is an argument.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use crate::{clock::Instant, memory::shrink};

/// A write is remembered for so long: longer than a watch lags, unless it is down. It is not forgotten when it is
/// first seen, for several informers may deliver it.
const MEMORY: Duration = Duration::from_secs(60);
/// So many writes are remembered; beyond, the oldest is forgotten, which costs a reconcile.
const MOST_WRITES: usize = 100_000;
/// So many changes are held for one running key; beyond, the oldest goes on, which may cost a reconcile.
const MOST_HELD: usize = 64;

/// One version of one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Version {
    /// The object of this uid, at this resourceVersion.
    At(String, String),
    /// The object of this uid, gone.
    Gone(String),
}

impl Version {
    /// A number for it, the same wherever it is met.
    pub(super) fn id(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// A change that came while its key ran, and when.
type Held<R> = (Instant, Version, R);

/// The own writes of one controller's keys, and what is held for those that run.
#[derive(Debug)]
pub(super) struct Echoes<K, R> {
    /// Who wrote a version. As many as `order` has.
    writes: HashMap<Version, K>,
    /// The writes, oldest first.
    order: VecDeque<(Instant, Version)>,
    /// What came for the keys that run, and when, oldest first; a key that does not run has no entry.
    held: HashMap<K, VecDeque<Held<R>>>,
}

impl<K: Clone + Eq + Hash, R> Echoes<K, R> {
    pub(super) fn new() -> Self {
        Self {
            writes: HashMap::new(),
            order: VecDeque::new(),
            held: HashMap::new(),
        }
    }

    /// A run of `key` begins.
    pub(super) fn started(&mut self, key: K) {
        let before = self.held.insert(key, VecDeque::new());
        debug_assert!(before.is_none(), "a key never runs twice at once");
    }

    /// The server confirmed a write of `key`.
    pub(super) fn wrote(&mut self, key: K, version: Version, now: Instant) {
        self.forget_old(now);
        if self.writes.insert(version.clone(), key).is_none() {
            self.order.push_back((now, version));
        }
        if self.order.len() > MOST_WRITES {
            self.forget_oldest();
        }
        debug_assert_eq!(self.writes.len(), self.order.len(), "a write is remembered once");
    }

    /// A change asks `key` to run. Gives back the request that is to go on to the queue, if any: not the key's
    /// own, and not one that is held until the key's run is over.
    pub(super) fn admit(&mut self, key: &K, version: Version, request: R, now: Instant) -> Option<R> {
        self.forget_old(now);
        let Some(held) = self.held.get_mut(key) else {
            return self.of_others(key, &version).then_some(request);
        };
        held.push_back((now, version, request));
        if held.len() <= MOST_HELD {
            return None;
        }
        let (_, version, request) = held.pop_front()?;
        self.of_others(key, &version).then_some(request)
    }

    /// The run of `key` is over, and all its responses have come. Gives back what was held and is not its own, and when
    /// each came.
    pub(super) fn finished(&mut self, key: &K, now: Instant) -> Vec<(Instant, R)> {
        let held = self.held.remove(key).unwrap_or_default();
        shrink(&mut self.held);
        let released = held
            .into_iter()
            .filter(|(_, version, _)| self.of_others(key, version))
            .map(|(came, _, request)| (came, request))
            .collect();
        self.forget_old(now);
        released
    }

    /// Whether `key` runs: changes for it are held.
    pub(super) fn holds(&self, key: &K) -> bool {
        self.held.contains_key(key)
    }

    /// What is held for `key`, if it runs, and whether each is its own write as far as responses have come.
    pub(super) fn held(&self, key: &K) -> impl Iterator<Item = (&Version, bool)> {
        let held = self.held.get(key).into_iter().flatten();
        held.map(move |(_, version, _)| (version, self.writes.get(version) == Some(key)))
    }

    /// How many writes are remembered, and how many keys run.
    pub(super) fn remembered(&self) -> usize {
        self.writes.len() + self.held.len()
    }

    fn of_others(&self, key: &K, version: &Version) -> bool {
        self.writes.get(version) != Some(key)
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((at, _)) = self.order.front()
            && now.saturating_duration_since(*at) > MEMORY
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, version)) = self.order.pop_front() {
            self.writes.remove(&version);
            shrink(&mut self.writes);
        }
    }
}
