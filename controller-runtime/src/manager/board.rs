//! What the operator knows of itself: the state behind `/readyz`, `/status`, the metrics and the feed.
//!
//! It holds an entry for each *live* object and each source, and nothing for one that is gone. Everything here is told by
//! the controllers; nothing is asked of the API server, so that the answers do not depend on it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    feed::{Feed, Listener},
    readiness::{self, Readiness},
    status::{
        ControllerStatus, Happening, ObjectId, ObjectStatus, OperatorStatus, Phase, QueueStatus, RunReport,
        SourceId, SourceState, SourceStatus,
    },
};
use crate::clock;

/// The state of one operator. Clones share it.
#[derive(Clone, Debug)]
pub struct Board {
    name: Arc<str>,
    started: Instant,
    state: Arc<Mutex<State>>,
    feed: Feed,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Problems that make the operator less than whole without making it unready.
    controllers: BTreeMap<String, ControllerState>,
}

#[derive(Debug)]
struct ControllerState {
    kind: String,
    synced: bool,
    queue: QueueStatus,
    sources: BTreeMap<SourceId, SourceEntry>,
    /// Invariant: only objects that are in the primary store, or running.
    objects: BTreeMap<ObjectId, ObjectEntry>,
    stopped: Option<String>,
}

#[derive(Debug)]
struct SourceEntry {
    state: SourceState,
    since: Instant,
}

#[derive(Debug)]
struct ObjectEntry {
    report: RunReport,
    at: Instant,
    next: Option<Instant>,
}

impl Board {
    /// The board of an operator that starts now.
    pub fn new(name: &str) -> Self {
        let board = Self {
            name: name.into(),
            started: clock::now(),
            state: Arc::new(Mutex::new(State {
                phase: Phase::Starting,
                controllers: BTreeMap::new(),
            })),
            feed: Feed::new(),
        };
        board.tell(Happening::Started {
            operator: name.to_owned(),
        });
        board
    }

    /// A controller will run: it is unsynced until it says otherwise.
    pub fn expect(&self, controller: &str, kind: &str, sources: impl IntoIterator<Item = SourceId>) {
        let now = clock::now();
        self.change(|state| {
            let sources = sources
                .into_iter()
                .map(|source| {
                    let entry = SourceEntry {
                        state: SourceState::Listing,
                        since: now,
                    };
                    (source, entry)
                })
                .collect();
            let controller_state = ControllerState {
                kind: kind.to_owned(),
                synced: false,
                queue: QueueStatus::default(),
                sources,
                objects: BTreeMap::new(),
                stopped: None,
            };
            state.controllers.insert(controller.to_owned(), controller_state);
        });
    }

    /// All stores of a controller are in sync.
    pub fn synced(&self, controller: &str) {
        let first = self.with(controller, |controller| {
            !std::mem::replace(&mut controller.synced, true)
        });
        if first == Some(true) {
            self.tell(Happening::Synced {
                controller: controller.to_owned(),
                after_ms: millis(self.started.elapsed()),
            });
        }
    }

    /// The state of one source. Saying the same again changes nothing.
    pub fn source(&self, controller: &str, source: &SourceId, new: SourceState) {
        let before = self.with(controller, |controller| {
            let entry = controller.sources.entry(source.clone()).or_insert(SourceEntry {
                state: SourceState::Listing,
                since: clock::now(),
            });
            let before = entry.state.clone();
            if before != new {
                entry.since = clock::now();
                entry.state = new.clone();
            }
            before
        });
        let Some(before) = before else { return };
        let source = source.clone();
        let controller = controller.to_owned();
        match (before, new) {
            (before, new) if before == new => {}
            (_, SourceState::Failing { verb, message }) => self.tell(Happening::SourceFailing {
                controller,
                source,
                verb,
                message,
            }),
            (SourceState::Failing { .. }, _) => self.tell(Happening::SourceRecovered { controller, source }),
            _ => {}
        }
    }

    /// An object that cannot be decoded.
    pub fn undecodable(&self, controller: &str, object: ObjectId, message: &str) {
        self.tell(Happening::Undecodable {
            controller: controller.to_owned(),
            object,
            message: message.to_owned(),
        });
    }

    /// How many keys are ready, running and waiting.
    pub fn queue(&self, controller: &str, queue: QueueStatus) {
        self.with(controller, |controller| controller.queue = queue);
    }

    /// A reconcile has ended, and the key runs again after `next`, if at all.
    pub fn reconciled(&self, controller: &str, object: ObjectId, report: RunReport) {
        let now = clock::now();
        self.with(controller, |controller| {
            let entry = ObjectEntry {
                next: report.next_ms.map(|ms| now + Duration::from_millis(ms)),
                report: report.clone(),
                at: now,
            };
            controller.objects.insert(object.clone(), entry);
        });
        self.tell(Happening::Reconciled {
            controller: controller.to_owned(),
            object,
            report,
        });
    }

    /// An object is gone, and so is its entry.
    pub fn forget(&self, controller: &str, object: &ObjectId) {
        let known = self.with(controller, |controller| {
            controller.objects.remove(object).is_some()
        });
        if known == Some(true) {
            self.tell(Happening::Gone {
                controller: controller.to_owned(),
                object: object.clone(),
            });
        }
    }

    /// A controller has ended; `error` tells why, if it was not asked to.
    pub fn ended(&self, controller: &str, error: Option<&str>) {
        self.with(controller, |controller| {
            controller.stopped = Some(error.unwrap_or("stopped").to_owned());
        });
        if let Some(error) = error {
            self.tell(Happening::ControllerFailed {
                controller: controller.to_owned(),
                message: error.to_owned(),
            });
        }
    }

    /// From the first signal on nothing new is started, and the operator is not ready.
    pub fn stopping(&self) {
        let running = self.change(|state| {
            state.phase = Phase::Stopping;
            state
                .controllers
                .values()
                .map(|controller| controller.queue.running)
                .sum()
        });
        self.tell(Happening::Stopping { running });
    }

    /// Whether the operator does its work, and why not.
    pub fn readiness(&self) -> Readiness {
        readiness::judge(&self.status())
    }

    /// Everything, as it is now.
    pub fn status(&self) -> OperatorStatus {
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
                .map(|(name, controller)| controller.status(name, now))
                .collect(),
        };
        status.ready = readiness::judge(&status).is_ready();
        status
    }

    pub(crate) fn listen(&self) -> Listener {
        self.feed.listen()
    }

    fn tell(&self, happening: Happening) {
        self.feed.write(&happening.at(millis(self.started.elapsed())));
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with<T>(&self, controller: &str, change: impl FnOnce(&mut ControllerState) -> T) -> Option<T> {
        self.change(|state| state.controllers.get_mut(controller).map(change))
    }
}

impl ControllerState {
    fn status(&self, name: &str, now: Instant) -> ControllerStatus {
        ControllerStatus {
            name: name.to_owned(),
            kind: self.kind.clone(),
            synced: self.synced,
            stopped: self.stopped.clone(),
            queue: self.queue,
            sources: self
                .sources
                .iter()
                .map(|(source, entry)| SourceStatus {
                    source: source.clone(),
                    state: entry.state.clone(),
                    since_ms: millis(now.saturating_duration_since(entry.since)),
                })
                .collect(),
            objects: self
                .objects
                .iter()
                .map(|(object, entry)| entry.status(object, now))
                .collect(),
        }
    }
}

impl ObjectEntry {
    fn status(&self, object: &ObjectId, now: Instant) -> ObjectStatus {
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

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
