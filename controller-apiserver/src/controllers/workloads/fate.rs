//! What becomes of Pods, and when: what was told, and what is due.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;
use crate::controllers::work::Place;

/// What becomes of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PodFate {
    /// It runs and is ready after this time.
    Ready(Duration),
    /// It runs, and is never ready.
    NeverReady,
    /// It fails after this time, a millisecond at least. A Pod that is always restarted crashes again and again instead.
    Fails(Duration),
    /// It runs, and succeeds after this time, a millisecond at least. A Pod that is always restarted crashes instead.
    Succeeds(Duration),
    /// It finds no node.
    Pending,
}

impl PodFate {
    /// How long it takes.
    pub(super) fn after(self) -> Duration {
        match self {
            Self::Ready(after) => after,
            // Pods that end at once would be made anew without end, and without time passing.
            Self::Fails(after) | Self::Succeeds(after) => after.max(Duration::from_millis(1)),
            Self::NeverReady | Self::Pending => Duration::ZERO,
        }
    }
}

/// What was told about Pods with these labels.
#[derive(Clone, Debug)]
struct Told {
    labels: BTreeMap<String, String>,
    fate: PodFate,
    at: Instant,
}

/// The simulated layer's memory besides the objects.
#[derive(Debug)]
pub(crate) struct Simulation {
    /// How long Pods take of which nothing was told; `None` while the layer is off.
    takes: Option<Duration>,
    /// The time of this pass.
    pub(super) now: Instant,
    told: Vec<Told>,
    /// When each Pod came, by uid.
    came: BTreeMap<Box<str>, Instant>,
    /// Since when each ready Pod is ready, by uid.
    ready: BTreeMap<Box<str>, Instant>,
    /// What each workload last looked like, by uid, and since when it has not moved.
    progress: BTreeMap<Box<str>, (String, Instant)>,
    dues: BTreeSet<(Instant, Place)>,
}

impl Simulation {
    pub(crate) fn new(takes: Option<Duration>, now: Instant) -> Self {
        Self {
            takes,
            now,
            told: Vec::new(),
            came: BTreeMap::new(),
            ready: BTreeMap::new(),
            progress: BTreeMap::new(),
            dues: BTreeSet::new(),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.takes.is_some()
    }

    /// Remembers what becomes of Pods with these labels; it goes before what was told earlier.
    pub(super) fn tell(&mut self, labels: BTreeMap<String, String>, fate: PodFate, now: Instant) {
        self.told.retain(|told| told.labels != labels);
        self.told.push(Told {
            labels,
            fate,
            at: now,
        });
    }

    /// The fate of a Pod, and when it comes true.
    pub(super) fn fate(
        &mut self,
        uid: &str,
        once: bool,
        label: impl Fn(&str) -> Option<String>,
    ) -> (PodFate, Instant) {
        let now = self.now;
        let came = *self.came.entry(uid.into()).or_insert(now);
        let takes = self.takes.unwrap_or_default();
        let told = self.told.iter().rev().find(|told| {
            told.labels
                .iter()
                .all(|(key, value)| label(key).as_ref() == Some(value))
        });
        let (fate, from) = match told {
            Some(told) => (told.fate, came.max(told.at)),
            None if once => (PodFate::Succeeds(takes), came),
            None => (PodFate::Ready(takes), came),
        };
        // A time beyond what the clock can tell never comes; a year is as good.
        let year = Duration::from_secs(365 * 24 * 3600);
        (fate, from + fate.after().min(year))
    }

    /// Takes note that a Pod is ready, or is not; since when it is.
    pub(super) fn ready_since(&mut self, uid: &str, ready: bool) -> Option<Instant> {
        if !ready {
            self.ready.remove(uid);
            return None;
        }
        let now = self.now;
        Some(*self.ready.entry(uid.into()).or_insert(now))
    }

    /// Since when a workload looks as it does.
    pub(super) fn still_since(&mut self, uid: &str, looks: String) -> Instant {
        let now = self.now;
        let entry = self
            .progress
            .entry(uid.into())
            .or_insert_with(|| (looks.clone(), now));
        if entry.0 != looks {
            *entry = (looks, now);
        }
        entry.1
    }

    /// Looks at a place again at a time.
    pub(super) fn wake(&mut self, at: Instant, collection: &str, key: &str) {
        self.dues.insert((at, (Arc::from(collection), key.to_owned())));
    }

    /// When something is due next.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.dues.first().map(|(at, _)| *at)
    }

    /// Begins a pass: what is due by now.
    pub(in crate::controllers) fn begin(&mut self, now: Instant) -> Vec<Place> {
        self.now = now;
        let mut due = Vec::new();
        while let Some((at, place)) = self.dues.pop_first() {
            if at > now {
                self.dues.insert((at, place));
                break;
            }
            due.push(place);
        }
        due
    }

    /// An object is gone.
    pub(crate) fn forget(&mut self, uid: &str) {
        self.came.remove(uid);
        self.ready.remove(uid);
        self.progress.remove(uid);
    }
}
