//! What the board keeps of each live object: its last run, packed, since there is one for each object of each controller.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use super::{
    board::millis,
    status::{ObjectId, ObjectStatus, RunReport, RunResult},
};
use crate::{clock::Instant, memory::shrink, name::Name, queue::Causes, trigger::Cause};

/// The live objects of one controller. Objects are told in the order of their names.
///
/// Invariant: only objects that have not been told to be gone.
#[derive(Debug, Default)]
pub(super) struct Objects {
    last_runs: HashMap<Name, LastRun>,
    paused: BTreeSet<Name>,
    /// Objects of a life before that this one has not met yet: they may have gone in between, when nobody told.
    unmet: BTreeSet<Name>,
}

/// How the last run of an object went.
#[derive(Debug)]
pub(super) struct LastRun {
    pub(super) result: RunResult,
    /// The error's text, with all its causes.
    pub(super) error: Option<Box<str>>,
    /// Failures in a row.
    pub(super) failures: u32,
    pub(super) took: Duration,
    pub(super) causes: Causes,
    /// When it ended.
    pub(super) at: Instant,
    /// When it runs again without any change.
    pub(super) next: Option<Instant>,
}

impl Objects {
    /// A run of it began.
    pub(super) fn started(&mut self, object: &Name) {
        self.paused.remove(object);
        self.unmet.remove(object);
    }

    /// A run of it ended.
    pub(super) fn ended(&mut self, object: Name, run: LastRun) {
        self.last_runs.insert(object, run);
    }

    /// It was to run and did not. Whether that is new.
    pub(super) fn paused(&mut self, object: Name) -> bool {
        self.unmet.remove(&object);
        self.paused.insert(object)
    }

    /// Whether it has run.
    pub(super) fn gone(&mut self, object: &Name) -> bool {
        self.paused.remove(object);
        self.unmet.remove(object);
        let known = self.last_runs.remove(object).is_some();
        shrink(&mut self.last_runs);
        known
    }

    /// The last results are still the last results for a controller that runs again; nothing is due any more.
    pub(super) fn outlive(&mut self) {
        for run in self.last_runs.values_mut() {
            run.next = None;
        }
        self.unmet = self.last_runs.keys().chain(&self.paused).cloned().collect();
    }

    /// All that is there has been met: the others have gone.
    pub(super) fn forget_unmet(&mut self) {
        for object in std::mem::take(&mut self.unmet) {
            self.gone(&object);
        }
    }

    pub(super) fn last_run(&self, object: &Name) -> Option<&LastRun> {
        self.last_runs.get(object)
    }

    pub(super) fn is_paused(&self, object: &Name) -> bool {
        self.paused.contains(object)
    }

    /// The last run of each that has run.
    pub(super) fn statuses(&self, kind: &str, now: Instant) -> Vec<ObjectStatus> {
        let mut runs: Vec<_> = self.last_runs.iter().collect();
        runs.sort_unstable_by_key(|(object, _)| *object);
        runs.into_iter()
            .map(|(object, run)| run.status(object, kind, now))
            .collect()
    }

    /// Those that are paused.
    pub(super) fn all_paused(&self, kind: &str) -> Vec<ObjectId> {
        self.paused.iter().map(|object| identity(object, kind)).collect()
    }

    /// How many entries each map has.
    pub(super) fn census(&self) -> [(&'static str, usize); 3] {
        [
            ("last results", self.last_runs.len()),
            ("paused objects", self.paused.len()),
            ("objects of a life before", self.unmet.len()),
        ]
    }
}

impl LastRun {
    /// In the words of the status, at the moment of its end or later.
    pub(super) fn report(&self, now: Instant) -> RunReport {
        RunReport {
            result: self.result,
            error: self.error.as_deref().map(str::to_owned),
            failures: self.failures,
            duration_ms: millis(self.took),
            next_ms: self.next.map(|next| millis(next.saturating_duration_since(now))),
            causes: self.causes.to_vec().iter().map(Cause::told).collect(),
        }
    }

    pub(super) fn status(&self, object: &Name, kind: &str, now: Instant) -> ObjectStatus {
        ObjectStatus {
            object: identity(object, kind),
            report: self.report(now),
            ago_ms: millis(now.saturating_duration_since(self.at)),
        }
    }
}

/// An object of that kind.
pub(super) fn identity(object: &Name, kind: &str) -> ObjectId {
    ObjectId {
        kind: kind.to_owned(),
        namespace: object.namespace().map(str::to_owned),
        name: object.name().to_owned(),
    }
}
