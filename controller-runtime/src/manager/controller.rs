//! What the board knows of one controller: its sources, and its live objects.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    board::millis,
    status::{
        ControllerStatus, ObjectId, ObjectStatus, QueueStatus, RunReport, SourceId, SourceState,
        SourceStatus, UndecodableObject,
    },
};
use crate::{
    clock::{self, Instant},
    declare::{Declaration, Namespaces, Scope, Watched},
    explain::Explainer,
    runner::Gauge,
};

/// What is known of one controller.
#[derive(Debug)]
pub(super) struct ControllerState {
    pub(super) kind: String,
    selector: Option<String>,
    pub(super) synced: bool,
    pub(super) gauge: Option<Gauge>,
    pub(super) explainer: Option<Explainer>,
    pub(super) sources: BTreeMap<SourceId, SourceEntry>,
    /// Each running object, and why it runs. Invariant: only runs that have not ended.
    pub(super) running: BTreeMap<u64, RunningEntry>,
    /// Invariant: only objects that have not been told to be gone.
    pub(super) objects: BTreeMap<ObjectId, ObjectEntry>,
    pub(super) ended: Option<String>,
    /// Invariant: only objects that have not been told to be gone.
    pub(super) paused: BTreeSet<ObjectId>,
    /// Objects of a life before that this one has not met yet: they may have gone in between, when nobody told.
    pub(super) unmet: BTreeSet<ObjectId>,
}

/// A run under way.
#[derive(Debug)]
pub(super) struct RunningEntry {
    pub(super) object: ObjectId,
    pub(super) causes: Vec<String>,
    /// The object was deleted meanwhile: its outcome is told, and nothing is kept.
    pub(super) gone: bool,
}

#[derive(Debug)]
pub(super) struct SourceEntry {
    pub(super) state: SourceState,
    pub(super) since: Instant,
    /// The server does not serve the kind, it was said at the start; `None` as soon as it does.
    pub(super) unserved: Option<String>,
    /// Bounded by the watch, which tells of a hundred at most.
    pub(super) undecodable: Vec<UndecodableObject>,
}

impl SourceEntry {
    /// Of a source that has told nothing yet.
    pub(super) fn listing(since: Instant) -> Self {
        Self {
            state: SourceState::Listing,
            since,
            unserved: None,
            undecodable: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(super) struct ObjectEntry {
    pub(super) report: RunReport,
    pub(super) at: Instant,
    pub(super) next: Option<Instant>,
}

impl ControllerState {
    /// Of a controller that has told nothing yet.
    pub(super) fn new(declaration: &Declaration, namespaces: &Namespaces) -> Self {
        let since = clock::now();
        let sources = declaration
            .watched()
            .flat_map(|watched| sources_of(watched, namespaces))
            .map(|source| (source, SourceEntry::listing(since)))
            .collect();
        Self {
            kind: declaration.primary.resource.kind.clone(),
            selector: declaration.primary.selector(),
            synced: false,
            gauge: None,
            explainer: None,
            sources,
            running: BTreeMap::new(),
            objects: BTreeMap::new(),
            paused: BTreeSet::new(),
            unmet: BTreeSet::new(),
            ended: None,
        }
    }

    /// The last results are still the last results; nothing is due any more.
    pub(super) fn inherit(&mut self, before: Self) {
        self.objects = before.objects;
        self.paused = before.paused;
        for entry in self.objects.values_mut() {
            entry.next = None;
        }
        self.unmet = self.objects.keys().chain(&self.paused).cloned().collect();
    }

    /// All that is there has been met: the others have gone.
    pub(super) fn forget_unmet(&mut self) {
        for object in std::mem::take(&mut self.unmet) {
            self.objects.remove(&object);
            self.paused.remove(&object);
        }
    }

    /// How many entries each map has.
    pub(super) fn census(&self) -> Vec<(String, usize)> {
        let mut all = self.explainer.as_ref().map(Explainer::census).unwrap_or_default();
        let known = [
            ("running reconciles", self.running.len()),
            ("last results", self.objects.len()),
            ("paused objects", self.paused.len()),
            ("objects of a life before", self.unmet.len()),
        ];
        all.extend(known.map(|(what, count)| (what.to_owned(), count)));
        all
    }

    pub(super) fn status(&self, name: &str, now: Instant) -> ControllerStatus {
        ControllerStatus {
            objects: self
                .objects
                .iter()
                .map(|(object, entry)| entry.status(object, now))
                .collect(),
            paused: self.paused.iter().cloned().collect(),
            ..self.outline(name, now)
        }
    }

    /// The status without the objects.
    pub(super) fn outline(&self, name: &str, now: Instant) -> ControllerStatus {
        let depth = self.gauge.as_ref().map(Gauge::read).unwrap_or_default();
        ControllerStatus {
            name: name.to_owned(),
            kind: self.kind.clone(),
            selector: self.selector.clone(),
            synced: self.synced,
            ended: self.ended.clone(),
            queue: QueueStatus {
                ready: depth.ready,
                running: self.running.len(),
                waiting: depth.waiting,
            },
            sources: self
                .sources
                .iter()
                .map(|(source, entry)| SourceStatus {
                    source: source.clone(),
                    state: entry.state.clone(),
                    since_ms: millis(now.saturating_duration_since(entry.since)),
                    unserved: entry.unserved.clone(),
                    undecodable: entry.undecodable.clone(),
                })
                .collect(),
            objects: Vec::new(),
            paused: Vec::new(),
        }
    }
}

impl ObjectEntry {
    pub(super) fn status(&self, object: &ObjectId, now: Instant) -> ObjectStatus {
        ObjectStatus {
            object: object.clone(),
            report: RunReport {
                next_ms: self.next.map(|next| millis(next.saturating_duration_since(now))),
                ..self.report.clone()
            },
            ago_ms: millis(now.saturating_duration_since(self.at)),
        }
    }
}

/// One watch for each namespace, or one for all.
fn sources_of(watched: &Watched, namespaces: &Namespaces) -> Vec<SourceId> {
    let kind = &watched.resource.kind;
    match (watched.scope, namespaces) {
        (Scope::Namespaced, Namespaces::Only(names)) => names
            .iter()
            .map(|name| SourceId {
                kind: kind.clone(),
                namespace: Some(name.clone()),
            })
            .collect(),
        _ => vec![SourceId::of_kind(kind)],
    }
}
