//! What the board knows of one controller: its sources, and its live objects.

use std::collections::BTreeMap;

use super::{
    board::millis,
    objects::{Objects, identity},
    status::{
        ControllerStatus, ObjectId, QueueStatus, SourceId, SourceState, SourceStatus, UndecodableObject,
    },
};
use crate::{
    clock::{self, Instant},
    declare::{Declaration, Namespaces, Scope, Watched},
    explain::Explainer,
    name::Name,
    queue::Causes,
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
    pub(super) objects: Objects,
    pub(super) ended: Option<String>,
}

/// A run under way.
#[derive(Debug)]
pub(super) struct RunningEntry {
    pub(super) object: Name,
    pub(super) causes: Causes,
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
            objects: Objects::default(),
            ended: None,
        }
    }

    /// The last results are still the last results; nothing is due any more.
    pub(super) fn inherit(&mut self, before: Self) {
        self.objects = before.objects;
        self.objects.outlive();
    }

    /// How many entries each map has.
    pub(super) fn census(&self) -> Vec<(String, usize)> {
        let mut all = self.explainer.as_ref().map(Explainer::census).unwrap_or_default();
        all.push(("running reconciles".to_owned(), self.running.len()));
        let known = self.objects.census();
        all.extend(known.map(|(what, count)| (what.to_owned(), count)));
        all
    }

    pub(super) fn status(&self, name: &str, now: Instant) -> ControllerStatus {
        ControllerStatus {
            objects: self.objects.statuses(&self.kind, now),
            paused: self.objects.all_paused(&self.kind),
            ..self.outline(name, now)
        }
    }

    /// The names of the running objects.
    pub(super) fn running_objects(&self) -> impl Iterator<Item = ObjectId> {
        let running = self.running.values();
        running.map(|run| identity(&run.object, &self.kind))
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
