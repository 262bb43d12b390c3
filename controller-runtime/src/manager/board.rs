//! What the operator knows of itself: the state behind `/readyz`, `/status` and the feed.
//!
//! It holds an entry for each *live* object and each source, and nothing for one that is gone. Everything here is told by
//! the controllers; nothing is asked of the API server, so that the answers do not depend on it.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use super::{
    access::Unserved,
    controller::ControllerState,
    feed::{Feed, Listener},
    readiness::{self, Asker, Readiness},
    status::{ControllerStatus, Happening, ObjectId, OperatorStatus, Phase, SourceState},
};
use crate::{
    clock::{self, Instant},
    declare::{Declaration, Namespaces},
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
    /// What still ran at the end of the shutdown.
    pub(super) dropped: Vec<String>,
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
                dropped: Vec::new(),
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
            let running = controllers.flat_map(ControllerState::running_objects);
            running.map(|object| object.to_string()).collect()
        })
    }

    /// A reconcile was dropped at the end of the shutdown.
    pub(super) fn drop_run(&self, object: &ObjectId) {
        self.change(|state| state.dropped.push(object.to_string()));
    }

    /// The objects whose reconciles were dropped at the end of the shutdown.
    pub(crate) fn dropped(&self) -> Vec<String> {
        self.read(|state| state.dropped.clone())
    }

    /// Whether the operator does its work, and why not.
    ///
    /// Its cost does not grow with the objects: probes ask often, and every reconcile waits meanwhile.
    pub fn readiness(&self) -> Readiness {
        self.readiness_for(Asker::Here)
    }

    /// As [`readiness`](Self::readiness), with the names that this asker may read.
    pub(super) fn readiness_for(&self, asker: Asker) -> Readiness {
        readiness::judge(&self.outline(), asker)
    }

    /// How many entries each map of each controller has: by controller, what is held and how much of it.
    ///
    /// All follow what lives, or what happened in the last minutes; nothing grows with what ever lived.
    pub fn census(&self) -> BTreeMap<String, Vec<(String, usize)>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let controllers = state.controllers.iter();
        controllers
            .map(|(name, controller)| (name.clone(), controller.census()))
            .collect()
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
        status.ready = readiness::judge(&status, Asker::Here).is_ready();
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

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
