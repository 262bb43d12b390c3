//! What the operator knows of itself: the state behind `/readyz`, `/status` and the feed.
//!
//! It holds an entry for each *live* object and each source, and nothing for one that is gone. Everything here is told by
//! the controllers; nothing is asked of the API server, so that the answers do not depend on it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use super::{
    access::Unserved,
    feed::{Feed, Listener},
    readiness::{self, Readiness},
    status::{
        ControllerStatus, Happening, ObjectId, ObjectStatus, OperatorStatus, Phase, QueueStatus, RunReport,
        SourceId, SourceState, SourceStatus, UndecodableObject,
    },
};
use crate::{
    clock::{self, Instant},
    declare::{Declaration, Namespaces, Scope, Watched},
    explain::Explainer,
    runner::Gauge,
};

/// The state of one operator. Clones share it.
///
/// It is an [`Observer`](crate::runner::Observer): give it to the controllers.
#[derive(Clone, Debug)]
pub struct Board {
    name: Arc<str>,
    started: Instant,
    state: Arc<Mutex<State>>,
    feed: Feed,
    heard: Heard,
}

type Listening = Box<dyn Fn(&Happening) + Send + Sync>;

/// Who is called when something happens.
#[derive(Clone, Default)]
struct Heard(Arc<RwLock<Option<Listening>>>);

impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Heard")
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) controllers: BTreeMap<String, ControllerState>,
    missing_rights: Vec<String>,
    pub(super) leadership: Option<String>,
}

/// What is known of one controller.
#[derive(Debug)]
pub(super) struct ControllerState {
    kind: String,
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

impl Board {
    /// The board of an operator that starts now.
    pub fn new(name: &str) -> Self {
        let board = Self {
            name: name.into(),
            started: clock::now(),
            state: Arc::new(Mutex::new(State {
                phase: Phase::Running,
                controllers: BTreeMap::new(),
                missing_rights: Vec::new(),
                leadership: None,
            })),
            feed: Feed::new(),
            heard: Heard::default(),
        };
        board.tell(Happening::Started {
            operator: name.to_owned(),
        });
        board
    }

    /// A controller will run: it and its sources are not in sync until it says otherwise.
    pub fn expect(&self, declaration: &Declaration, namespaces: &Namespaces) {
        let controller = ControllerState::new(declaration, namespaces);
        self.change(|state| state.controllers.insert(declaration.name.clone(), controller));
    }

    /// Where this process stands in the election of a leader.
    pub(crate) fn leadership(&self, leadership: &str) {
        self.change(|state| state.leadership = Some(leadership.to_owned()));
        self.tell(Happening::Leadership {
            leadership: leadership.to_owned(),
        });
    }

    /// These rights are missing now.
    pub(crate) fn missing_rights(&self, missing: &[String]) {
        self.change(|state| state.missing_rights = missing.to_vec());
        self.tell(Happening::MissingRights {
            missing: missing.to_vec(),
        });
    }

    /// The server does not serve a kind. What works by now has shown that it does.
    pub(crate) fn unserved(&self, unserved: &Unserved) {
        self.change(|state| {
            let controllers = state.controllers.values_mut();
            let sources = controllers.flat_map(|controller| &mut controller.sources);
            for (source, entry) in sources {
                if source.kind == unserved.kind && entry.state != SourceState::Watching {
                    entry.unserved = Some(unserved.message.clone());
                }
            }
        });
    }

    /// A controller has ended though nobody asked it to.
    pub fn ended(&self, controller: &str, error: &str) {
        self.with(controller, |controller| controller.ended = Some(error.to_owned()));
        self.tell(Happening::ControllerFailed {
            controller: controller.to_owned(),
            message: error.to_owned(),
        });
    }

    /// A controller that has ended runs again. Its queue and its watches begin anew; what became of each object stays true.
    pub fn restarted(&self, declaration: &Declaration, namespaces: &Namespaces) {
        let mut controller = ControllerState::new(declaration, namespaces);
        self.change(|state| {
            if let Some(before) = state.controllers.remove(&declaration.name) {
                controller.inherit(before);
            }
            state.controllers.insert(declaration.name.clone(), controller);
        });
        self.tell(Happening::ControllerRestarted {
            controller: declaration.name.clone(),
        });
    }

    /// From the first signal on nothing new is started, and the operator is not ready.
    pub fn stopping(&self) {
        let running = self.change(|state| {
            state.phase = Phase::Stopping;
            state
                .controllers
                .values()
                .map(|controller| controller.running.len())
                .sum()
        });
        self.tell(Happening::Stopping { running });
    }

    /// The objects that are being reconciled.
    pub fn running(&self) -> Vec<String> {
        self.change(|state| {
            let controllers = state.controllers.values();
            let running = controllers.flat_map(|controller| controller.running.values());
            running.map(|run| run.object.to_string()).collect()
        })
    }

    /// Whether the operator does its work, and why not.
    ///
    /// Its cost does not grow with the objects: probes ask often, and every reconcile waits meanwhile.
    pub fn readiness(&self) -> Readiness {
        readiness::judge(&self.outline())
    }

    /// Everything, as it is now.
    pub fn status(&self) -> OperatorStatus {
        self.told(ControllerState::status)
    }

    /// What readiness is judged by: the status without the objects.
    pub(super) fn outline(&self) -> OperatorStatus {
        self.told(ControllerState::outline)
    }

    fn told(&self, of: impl Fn(&ControllerState, &str, Instant) -> ControllerStatus) -> OperatorStatus {
        let now = clock::now();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut status = OperatorStatus {
            operator: self.name.to_string(),
            uptime_ms: millis(now.saturating_duration_since(self.started)),
            phase: state.phase,
            ready: false,
            controllers: state
                .controllers
                .iter()
                .map(|(name, controller)| of(controller, name, now))
                .collect(),
            missing_rights: state.missing_rights.clone(),
            leadership: state.leadership.clone(),
        };
        status.ready = readiness::judge(&status).is_ready();
        status
    }

    pub(crate) fn listen(&self) -> Listener {
        self.feed.listen()
    }

    /// Since the operator's start.
    pub(super) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Calls `listener` with everything that happens from now on, at that moment. It must not wait. There is one: a second
    /// takes the place of the first.
    pub fn hear(&self, listener: impl Fn(&Happening) + Send + Sync + 'static) {
        self.heard
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(Box::new(listener));
    }

    /// Whether a key can run at this moment and no reconcile is under way that it could wait for. Until all stores are filled,
    /// none can.
    pub fn has_work(&self) -> bool {
        let now = clock::now();
        self.change(|state| {
            let gauges = state
                .controllers
                .values()
                .filter_map(|controller| controller.gauge.as_ref());
            gauges
                .map(Gauge::read)
                .any(|depth| depth.synced && depth.running == 0 && !depth.is_settled(now))
        })
    }

    pub(super) fn tell(&self, happening: Happening) {
        if let Some(listener) = &*self.heard.0.read().unwrap_or_else(PoisonError::into_inner) {
            listener(&happening);
        }
        self.feed.write(&happening.at(millis(self.uptime())));
    }

    /// Changes what is known of a controller; one that nobody expects is not known.
    pub(super) fn with<T>(
        &self,
        controller: &str,
        change: impl FnOnce(&mut ControllerState) -> T,
    ) -> Option<T> {
        self.change(|state| state.controllers.get_mut(controller).map(change))
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        self.change(|state| read(state))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ControllerState {
    /// Of a controller that has told nothing yet.
    fn new(declaration: &Declaration, namespaces: &Namespaces) -> Self {
        let since = clock::now();
        let related = declaration.relations.iter().map(|relation| &relation.target);
        let sources = std::iter::once(&declaration.primary)
            .chain(related)
            .flat_map(|watched| sources_of(watched, namespaces))
            .map(|source| (source, SourceEntry::listing(since)))
            .collect();
        Self {
            kind: declaration.primary.resource.kind.clone(),
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
    fn inherit(&mut self, before: Self) {
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

    fn status(&self, name: &str, now: Instant) -> ControllerStatus {
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
    fn outline(&self, name: &str, now: Instant) -> ControllerStatus {
        let depth = self.gauge.as_ref().map(Gauge::read).unwrap_or_default();
        ControllerStatus {
            name: name.to_owned(),
            kind: self.kind.clone(),
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

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
