//! Reads what is known of one key of one controller: its queue, its store and its book at one moment.

use std::{fmt, sync::Arc};

use super::{
    Book,
    ledger::Fate,
    why::{ChangeReport, KeyState, SlowedReport, millis},
};
use crate::{
    clock::{self, Instant},
    echo::OwnWrites,
    hot_loop::{Slowed, flapping},
    manager::ObjectId,
    memory::Census,
    object::{Object, ObjectRef},
    runner::Shared,
    store::{Cache, key_of},
};

/// So many dropped changes of related objects are told.
const ELSEWHERE: usize = 16;
/// So many objects with a like name are told.
const SIMILAR: usize = 3;
/// A name is like another from here on, 0 to 1.
const LIKE: f64 = 0.8;

/// Tells what a controller knows of its objects. Cheap to clone; outlives its controller.
#[derive(Clone)]
pub struct Explainer(Arc<dyn Explain>);

impl Explainer {
    pub(crate) fn new(explain: impl Explain + 'static) -> Self {
        Self(Arc::new(explain))
    }

    /// How many entries each map of the controller has.
    pub(crate) fn census(&self) -> Vec<(String, usize)> {
        self.0.census()
    }

    /// What is known of an object at this moment.
    pub(crate) fn tell(&self, namespace: Option<&str>, name: &str) -> Told {
        self.0.tell(namespace, name)
    }
}

impl fmt::Debug for Explainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Explainer").finish_non_exhaustive()
    }
}

/// What an [`Explainer`] asks.
pub(crate) trait Explain: Send + Sync {
    fn tell(&self, namespace: Option<&str>, name: &str) -> Told;

    fn census(&self) -> Vec<(String, usize)>;
}

/// What a controller says to the name of an object.
pub(crate) enum Told {
    Known(Box<Known>),
    Deleted {
        ago_ms: u64,
    },
    /// Objects with a like name, if there are any.
    Unknown {
        similar: Vec<String>,
    },
}

/// What a controller knows of an object.
pub(crate) struct Known {
    pub(crate) object: ObjectId,
    pub(crate) queue: KeyState,
    pub(crate) failures: u32,
    /// So many changes wait for the end of its run.
    pub(crate) held: usize,
    pub(crate) slowed: Option<SlowedReport>,
    /// The controller may run it: all its stores are ready, and nothing holds it back.
    pub(crate) gate_open: bool,
    pub(crate) changes: Vec<ChangeReport>,
    pub(crate) ignored: Vec<ChangeReport>,
    pub(crate) ignored_times: u64,
    pub(crate) elsewhere: Vec<ChangeReport>,
}

/// The parts of a controller that know something of its keys.
pub(crate) struct Reader<K: Object> {
    pub(crate) shared: Arc<Shared<K>>,
    pub(crate) cache: Arc<dyn Cache<K>>,
    pub(crate) dyntype: K::DynamicType,
    pub(crate) book: Book<K>,
    /// `None` where own writes are not known.
    pub(crate) own_writes: Option<OwnWrites<K>>,
    /// Its other maps.
    pub(crate) census: Census,
}

impl<K: Object> Explain for Reader<K> {
    fn census(&self) -> Vec<(String, usize)> {
        let (keys, circling) = self.shared.held();
        let own_writes = self.own_writes.as_ref().map_or(0, OwnWrites::remembered);
        let known = [
            ("keys in the queue", keys),
            ("keys that may run in circles", circling),
            ("keys with explanations", self.book.ledger().len()),
            ("own writes", own_writes),
        ];
        let mut all: Vec<_> = known.map(|(what, count)| (what.to_owned(), count)).into();
        all.extend(self.census.take());
        all
    }

    fn tell(&self, namespace: Option<&str>, name: &str) -> Told {
        let now = clock::now();
        let mut key = ObjectRef::new_with(name, self.dyntype.clone());
        if let Some(namespace) = namespace {
            key = key.within(namespace);
        }
        let looked = self.shared.look(&key, now);
        if self.cache.find(&key).is_some() || looked.known {
            return Told::Known(Box::new(self.known(&key, looked, now)));
        }
        match self.book.ledger().gone_since(&key) {
            Some(at) => Told::Deleted {
                ago_ms: millis(now.saturating_duration_since(at)),
            },
            None => Told::Unknown {
                similar: self.similar(&key),
            },
        }
    }
}

/// What the queue knows of a key.
pub(crate) struct Looked {
    /// It has a place in the queue.
    pub(crate) known: bool,
    pub(crate) queue: KeyState,
    pub(crate) failures: u32,
    pub(crate) gate_open: bool,
    pub(crate) slowed: Option<Slowed>,
}

impl<K: Object> Reader<K> {
    fn known(&self, key: &ObjectRef<K>, looked: Looked, now: Instant) -> Known {
        let object = ObjectId {
            kind: K::kind(&self.dyntype).into_owned(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        };
        let ledger = self.book.ledger();
        let entry = ledger.entry(key).cloned().unwrap_or_default();
        let elsewhere = ledger.elsewhere().take(ELSEWHERE);
        Known {
            elsewhere: elsewhere
                .map(|change| ChangeReport::new(change, Fate::Dropped, &object, now))
                .collect(),
            queue: looked.queue,
            failures: looked.failures,
            gate_open: looked.gate_open,
            held: self
                .own_writes
                .as_ref()
                .map_or(0, |own_writes| own_writes.held(key)),
            slowed: looked.slowed.map(|slowed| SlowedReport {
                cycles: slowed.cycles,
                delay_ms: millis(slowed.delay),
                fields: flapping(entry.compared()),
            }),
            changes: ChangeReport::latest_first(&entry.woke, &object, now),
            ignored: ChangeReport::latest_first(&entry.ignored, &object, now),
            ignored_times: entry.ignored_times,
            object,
        }
    }

    /// Objects that someone may have meant, the likeliest first.
    fn similar(&self, key: &ObjectRef<K>) -> Vec<String> {
        let meant = shown(key);
        let mut all: Vec<_> = self
            .cache
            .all()
            .iter()
            .map(|object| {
                let other = key_of(&**object, &self.dyntype);
                // The right name in another namespace, or with none, is the likeliest mistake.
                let like = if other.name == key.name {
                    1.0
                } else {
                    strsim::jaro(&shown(&other), &meant)
                };
                (like, shown(&other))
            })
            .filter(|(like, _)| *like >= LIKE)
            .collect();
        all.sort_by(|(one, first), (other, second)| other.total_cmp(one).then_with(|| first.cmp(second)));
        all.into_iter().take(SIMILAR).map(|(_, name)| name).collect()
    }
}

fn shown<K: Object>(key: &ObjectRef<K>) -> String {
    match &key.namespace {
        Some(namespace) => format!("{namespace}/{}", key.name),
        None => key.name.clone(),
    }
}
