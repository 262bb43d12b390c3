//! What came for each key, as pure data: `now` is an argument.
//!
//! A key has an entry from the first change that woke it, or that it was spared, until its object is gone. An entry holds the
//! last few changes and nothing older. What was dropped for a related kind is of no known key, so it is kept for the
//! controller as a whole, up to a bound; and so are the names of objects that are gone.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use super::fields::{Field, Fields};
use crate::{clock::Instant, memory::shrink};

/// So many changes that woke a key are kept with it.
const KEPT: usize = 8;
/// So many changes that did not are kept with it.
const IGNORED: usize = 2;
/// So many dropped changes of related kinds are kept for all keys together.
const ELSEWHERE: usize = 256;
/// So many objects that are gone are remembered.
const GONE: usize = 256;
/// In this time so many changes are compared field by field; of others the rest is told.
const COMPARED: (Duration, u32) = (Duration::from_secs(1), 100);

/// How a kind wakes a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// `primary`, or the word of the declaration: `owns`, `watches`, `references`.
    pub(crate) word: &'static str,
    pub(crate) kind: String,
    /// The predicates, as they were declared.
    pub(crate) predicates: Vec<String>,
}

/// What happened to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Added,
    Changed,
    Deleted,
}

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) at: Instant,
    pub(crate) relation: Arc<Relation>,
    /// The object that changed; `None` is the key's own.
    pub(crate) object: Option<(Option<Box<str>>, Box<str>)>,
    pub(crate) what: What,
    /// A later list found it, not the watch.
    pub(crate) listed: bool,
    pub(crate) version: Box<str>,
    /// Tells object and version apart from all others.
    pub(crate) id: u64,
    /// `None`: not compared.
    pub(crate) fields: Option<Fields>,
}

/// What became of a change for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It asked the key to run.
    Woke,
    /// It came while the key ran: whether it was the key's own write is known at the end of the run.
    Held,
    /// The key wrote it itself.
    OwnWrite,
    /// A predicate did not let it through.
    Dropped,
}

/// A change and its fate.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) change: Arc<Change>,
    pub(crate) fate: Fate,
}

/// What is kept of one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// What woke it, or may yet; oldest first, at most [`KEPT`].
    pub(crate) woke: Vec<Noted>,
    /// What did not; oldest first, at most [`IGNORED`].
    pub(crate) ignored: Vec<Noted>,
    /// How often anything did not.
    pub(crate) ignored_times: u64,
}

/// The changes of one controller.
#[derive(Debug)]
pub(crate) struct Ledger<K> {
    entries: HashMap<K, Entry>,
    /// Dropped changes of related kinds, oldest first; at most [`ELSEWHERE`].
    elsewhere: VecDeque<Arc<Change>>,
    /// Objects that are gone, and when; at most [`GONE`].
    gone: VecDeque<(K, Instant)>,
    /// Changes that were compared since then.
    compared: (Option<Instant>, u32),
}

impl<K: Eq + Hash + Clone> Ledger<K> {
    pub(crate) fn new() -> Self {
        Self {
            entries: HashMap::new(),
            elsewhere: VecDeque::new(),
            gone: VecDeque::new(),
            compared: (None, 0),
        }
    }

    /// Whether a change that comes now may be compared field by field. To be asked once for each.
    pub(crate) fn may_compare(&mut self, now: Instant) -> bool {
        let (window, most) = COMPARED;
        let (since, count) = &mut self.compared;
        if since.is_none_or(|since| now.saturating_duration_since(since) >= window) {
            (*since, *count) = (Some(now), 0);
        }
        *count += 1;
        *count <= most
    }

    /// A change was meant for `key`.
    ///
    /// Only what will run the key, or is a change of its object, makes an entry: so every entry is of a live object, or of a
    /// key whose coming run finds that there is none.
    pub(crate) fn note(&mut self, key: &K, noted: Noted) {
        let makes = noted.fate == Fate::Woke || noted.change.object.is_none();
        let entry = match self.entries.get_mut(key) {
            Some(entry) => entry,
            None if makes => self.entries.entry(key.clone()).or_default(),
            None => return,
        };
        match noted.fate {
            Fate::Woke | Fate::Held => push(&mut entry.woke, noted, KEPT),
            Fate::OwnWrite | Fate::Dropped => entry.ignore(noted),
        }
    }

    /// A change of a related object was dropped, whoever it was for.
    pub(crate) fn dropped_elsewhere(&mut self, change: Arc<Change>) {
        if self.elsewhere.len() == ELSEWHERE {
            self.elsewhere.pop_front();
        }
        self.elsewhere.push_back(change);
    }

    /// A run of `key` is over: the changes with these numbers were held for it, and were its own or not.
    ///
    /// Others that were held had to make room, and have gone on to the queue.
    pub(crate) fn released(&mut self, key: &K, held: &[(u64, bool)]) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        for mut noted in std::mem::take(&mut entry.woke) {
            if noted.fate == Fate::Held {
                let own = held.contains(&(noted.change.id, true));
                noted.fate = if own { Fate::OwnWrite } else { Fate::Woke };
            }
            if noted.fate == Fate::OwnWrite {
                entry.ignore(noted);
            } else {
                entry.woke.push(noted);
            }
        }
    }

    /// The object is gone; nothing of it is kept but its name.
    pub(crate) fn gone(&mut self, key: &K, now: Instant) {
        self.missed(key);
        if self.gone.len() == GONE {
            self.gone.pop_front();
        }
        self.gone.push_back((key.clone(), now));
    }

    /// A run found no object of this key.
    pub(crate) fn missed(&mut self, key: &K) {
        self.entries.remove(key);
        shrink(&mut self.entries);
    }

    pub(crate) fn entry(&self, key: &K) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Since when the object is gone, if it was ever there and that is not too long ago.
    pub(crate) fn gone_since(&self, key: &K) -> Option<Instant> {
        let mut gone = self.gone.iter().rev();
        gone.find(|(known, _)| known == key).map(|(_, at)| *at)
    }

    /// Dropped changes of related kinds, latest first.
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = &Arc<Change>> {
        self.elsewhere.iter().rev()
    }

    /// Of how many keys something is kept.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Entry {
    fn ignore(&mut self, noted: Noted) {
        self.ignored_times += 1;
        push(&mut self.ignored, noted, IGNORED);
    }

    /// The compared changes that woke the key, oldest first.
    pub(crate) fn compared(&self) -> impl Iterator<Item = (&Change, &[Field])> {
        let woke = self.woke.iter();
        woke.filter_map(|noted| Some((&*noted.change, noted.change.fields.as_ref()?.named.as_slice())))
    }
}

/// At the end of a list of at most `most`, in place of the oldest.
fn push(list: &mut Vec<Noted>, noted: Noted, most: usize) {
    if list.len() == most {
        list.remove(0);
    }
    // Most keys have one or two: grow by one, not by Vec's four.
    list.reserve_exact(1);
    list.push(noted);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock;

    fn change(own: bool, version: u64, now: Instant) -> Arc<Change> {
        Arc::new(Change {
            at: now,
            relation: Arc::new(Relation {
                word: "owns",
                kind: "ConfigMap".to_owned(),
                predicates: Vec::new(),
            }),
            object: (!own).then(|| (None, "child".into())),
            what: What::Changed,
            listed: false,
            version: version.to_string().into(),
            id: version,
            fields: None,
        })
    }

    fn noted(own: bool, version: u64, fate: Fate, now: Instant) -> Noted {
        Noted {
            change: change(own, version, now),
            fate,
        }
    }

    fn versions(list: &[Noted]) -> Vec<&str> {
        list.iter().map(|noted| &*noted.change.version).collect()
    }

    #[test]
    fn the_last_few_are_kept_and_the_ignored_do_not_push_out_causes() {
        let now = clock::now();
        let mut ledger = Ledger::new();
        for version in 0..20 {
            ledger.note(&"a", noted(true, version, Fate::Woke, now));
        }
        for version in 20..50 {
            ledger.note(&"a", noted(true, version, Fate::Dropped, now));
        }
        let entry = ledger.entry(&"a").unwrap();
        assert_eq!(
            versions(&entry.woke),
            ["12", "13", "14", "15", "16", "17", "18", "19"]
        );
        assert_eq!(versions(&entry.ignored), ["48", "49"]);
        assert_eq!(entry.ignored_times, 30);
    }

    #[test]
    fn what_was_held_becomes_a_cause_or_an_own_write_at_the_end_of_the_run() {
        let now = clock::now();
        let mut ledger = Ledger::new();
        ledger.note(&"a", noted(true, 1, Fate::Woke, now));
        ledger.note(&"a", noted(false, 2, Fate::Held, now));
        ledger.note(&"a", noted(false, 3, Fate::Held, now));
        ledger.released(&"a", &[(2, true), (3, false)]);
        let entry = ledger.entry(&"a").unwrap();
        assert_eq!(versions(&entry.woke), ["1", "3"]);
        assert!(entry.woke.iter().all(|noted| noted.fate == Fate::Woke));
        assert_eq!(
            (versions(&entry.ignored), entry.ignored[0].fate),
            (vec!["2"], Fate::OwnWrite)
        );
    }

    #[test]
    fn comparing_is_limited_in_time() {
        let now = clock::now();
        let mut ledger = Ledger::<u32>::new();
        let allowed = (0..1000).filter(|_| ledger.may_compare(now)).count();
        assert_eq!(allowed, 100);
        assert!(ledger.may_compare(now + Duration::from_secs(1)));
    }

    #[test]
    fn churn_leaves_nothing_but_a_bounded_list_of_names() {
        let now = clock::now();
        let mut ledger = Ledger::new();
        for name in 0..100_000_u32 {
            ledger.note(&name, noted(true, 1, Fate::Woke, now));
            ledger.note(&(name + 1_000_000), noted(false, 1, Fate::Woke, now));
            ledger.note(&(name + 2_000_000), noted(false, 1, Fate::Held, now));
            ledger.dropped_elsewhere(change(false, 1, now));
        }
        assert_eq!(ledger.len(), 200_000);
        for name in 0..100_000_u32 {
            ledger.gone(&name, now);
            ledger.missed(&(name + 1_000_000));
        }
        assert_eq!((ledger.len(), ledger.gone.len()), (0, GONE));
        assert!(ledger.entries.capacity() < 4096, "{}", ledger.entries.capacity());
        assert_eq!(ledger.elsewhere().count(), ELSEWHERE);
        assert_eq!(ledger.gone_since(&99_999), Some(now));
        assert_eq!(ledger.gone_since(&1), None, "too long ago");
    }

    proptest! {
        /// Against lists that are never cut: what is kept is their end.
        #[test]
        fn it_keeps_the_end_of_what_it_was_told(steps in prop::collection::vec((0..3_u8, any::<bool>(), 0..5_u8), 0..200)) {
            let now = clock::now();
            let mut ledger = Ledger::new();
            let mut model: HashMap<u8, Vec<u64>> = HashMap::new();
            for (version, (key, own, step)) in steps.into_iter().enumerate() {
                let version = version as u64;
                match step {
                    0..=2 => {
                        ledger.note(&key, noted(own, version, Fate::Woke, now));
                        model.entry(key).or_default().push(version);
                    }
                    3 => ledger.note(&key, noted(false, version, Fate::Dropped, now)),
                    _ => {
                        ledger.gone(&key, now);
                        model.remove(&key);
                    }
                }
                prop_assert_eq!(ledger.len(), model.len());
            }
            for (key, all) in model {
                let kept: Vec<_> = all[all.len().saturating_sub(KEPT)..].iter().map(ToString::to_string).collect();
                prop_assert_eq!(versions(&ledger.entry(&key).unwrap().woke), kept);
            }
        }
    }
}
