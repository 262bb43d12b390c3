//! A mapper that can fail: what it could not map is tried again, and never lost.
//!
//! Pure: `now` and the random part of a delay are arguments. For each related object the versions that could not
//! be mapped are kept. Where that would be too many, or for too long after the object is gone, none is kept and every primary is asked to
//! run instead: more than needed, nothing less, in bounded memory.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use super::{Request, mapped::once_each};
use crate::{
    Backoff,
    clock::Instant,
    memory::shrink,
    object::{Object, ObjectRef},
    store::Delta,
};

/// So many versions of one object are kept.
const MOST_VERSIONS: usize = 8;
/// An object that is gone is tried so often: what cannot be mapped by then never may be.
const MOST_TRIES: u32 = 8;
/// Of so many objects versions are kept.
const MOST_OBJECTS: usize = 10_000;

type Map<T, K, E> = Box<dyn Fn(&T) -> Result<Vec<ObjectRef<K>>, E> + Send + Sync>;

/// What came of a change, or of trying again.
#[derive(Debug)]
#[must_use]
pub struct Mapped<K: Object, E> {
    /// These are to run.
    pub requests: Vec<Request<K>>,
    /// *Every* primary is to run: what could not be mapped is too much to remember.
    pub everything: bool,
    /// The last failure of the mapper, if it failed.
    pub error: Option<E>,
}

/// A fallible mapper, and what it still owes.
pub struct TryMapped<T: Object, K: Object, E> {
    map: Map<T, K, E>,
    backoff: Backoff,
    owed: HashMap<ObjectRef<T>, Owed<T>>,
    /// When each of `owed` is tried again; as many as there are.
    due: BTreeMap<Turn, ObjectRef<T>>,
    turns: u64,
}

/// A moment, and a number that tells equal moments apart.
type Turn = (Instant, u64);

struct Owed<T: Object> {
    delta: Delta<T>,
    versions: Vec<Arc<T>>,
    failures: u32,
    turn: Turn,
}

impl<T: Object, K: Object, E> TryMapped<T, K, E> {
    /// A mapper that is tried again by `backoff`, counted for each object.
    pub fn new<I>(backoff: Backoff, map: impl Fn(&T) -> Result<I, E> + Send + Sync + 'static) -> Self
    where
        I: IntoIterator<Item = ObjectRef<K>>,
    {
        Self {
            map: Box::new(move |object| Ok(map(object)?.into_iter().collect())),
            backoff,
            owed: HashMap::new(),
            due: BTreeMap::new(),
            turns: 0,
        }
    }

    /// Maps the object before and after a change, and what is owed of it.
    pub fn change(&mut self, delta: &Delta<T>, now: Instant, roll: f64) -> Mapped<K, E> {
        let (mut versions, failures) = match self.take(&delta.key) {
            Some(owed) => (owed.versions, owed.failures),
            None => (Vec::new(), 0),
        };
        for side in delta.old.iter().chain(&delta.new) {
            if !versions.iter().any(|version| Arc::ptr_eq(version, side)) {
                versions.push(Arc::clone(side));
            }
        }
        let mut outcome = Mapped::nothing();
        self.settle(delta.clone(), versions, failures, (now, roll), &mut outcome);
        outcome
    }

    /// When something is to be tried again.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Tries again what is due.
    pub fn retry(&mut self, now: Instant, roll: f64) -> Mapped<K, E> {
        let mut outcome = Mapped::nothing();
        let due: Vec<_> = self
            .due
            .range(..=(now, u64::MAX))
            .map(|(_, key)| key.clone())
            .collect();
        for key in due {
            if let Some(owed) = self.take(&key) {
                self.settle(
                    owed.delta,
                    owed.versions,
                    owed.failures,
                    (now, roll),
                    &mut outcome,
                );
            }
        }
        outcome
    }

    /// Of how many objects something is owed.
    pub fn owed(&self) -> usize {
        self.owed.len()
    }

    fn take(&mut self, key: &ObjectRef<T>) -> Option<Owed<T>> {
        let owed = self.owed.remove(key)?;
        self.due.remove(&owed.turn);
        shrink(&mut self.owed);
        Some(owed)
    }

    fn settle(
        &mut self,
        delta: Delta<T>,
        mut versions: Vec<Arc<T>>,
        failures: u32,
        (now, roll): (Instant, f64),
        outcome: &mut Mapped<K, E>,
    ) {
        let mut keys = Vec::new();
        versions.retain(|version| match (self.map)(version) {
            Ok(some) => {
                keys.extend(some);
                false
            }
            Err(error) => {
                outcome.error = Some(error);
                true
            }
        });
        outcome.requests.extend(once_each(&delta, keys.into_iter()));
        if versions.is_empty() {
            return;
        }
        let failures = failures.saturating_add(1);
        let hopeless = delta.new.is_none() && failures >= MOST_TRIES;
        if hopeless || versions.len() > MOST_VERSIONS || self.owed.len() >= MOST_OBJECTS {
            outcome.everything = true;
            return;
        }
        self.turns += 1;
        let turn = (now + self.backoff.delay(failures, roll), self.turns);
        self.due.insert(turn, delta.key.clone());
        self.owed.insert(
            delta.key.clone(),
            Owed {
                delta,
                versions,
                failures,
                turn,
            },
        );
        debug_assert_eq!(self.due.len(), self.owed.len(), "what is owed is due once");
    }
}

impl<K: Object, E> Mapped<K, E> {
    fn nothing() -> Self {
        Self {
            requests: Vec::new(),
            everything: false,
            error: None,
        }
    }
}

impl<T: Object, K: Object, E> fmt::Debug for TryMapped<T, K, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryMapped")
            .field("owed", &self.owed.len())
            .finish_non_exhaustive()
    }
}
