//! The settings of a server.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Inner, Server};
use crate::clock::Clock;
use crate::controllers::Enabled;
use crate::object::meta_mut;
use crate::state::State;
use crate::storage::Limits;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct ServerBuilder {
    epoch: Option<Timestamp>,
    seed: u64,
    limits: Limits,
    enabled: Enabled,
    latency: Duration,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            epoch: None,
            seed: 0,
            limits: Limits::default(),
            enabled: Enabled::default(),
            latency: Duration::from_millis(50),
        }
    }
}

impl ServerBuilder {
    /// Where the server's time begins; it then runs with tokio's clock.
    #[must_use]
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// The server's time begins with the present, for servers that people talk to.
    #[must_use]
    pub fn wall_clock(self) -> Self {
        self.epoch(Clock::wall_epoch())
    }

    /// What uids and generated names are drawn from.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How many events of the past are kept.
    #[must_use]
    pub fn history(mut self, events: usize) -> Self {
        self.limits.events = events;
        self
    }

    /// Every namespace gets a ServiceAccount `default` and a ConfigMap `kube-root-ca.crt`, as on a
    /// cluster. Without it, as without a controller manager, there are none.
    #[must_use]
    pub fn service_accounts(mut self, on: bool) -> Self {
        self.enabled.accounts = on;
        self
    }

    /// How long garbage collection and its like wait before they look at a change. `settle` does
    /// not wait for it.
    #[must_use]
    pub fn controller_latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The server, with the namespaces every cluster has.
    pub fn build(self) -> Server {
        let clock = Clock::starting_at(self.epoch.unwrap_or_else(Clock::fixed_epoch));
        let mut state = State::new(clock, self.seed, self.limits);
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            add_namespace(&mut state, name);
        }
        state.store.compact();
        Server {
            inner: Arc::new(Inner {
                state: Mutex::new(state),
                journal: Mutex::default(),
                watches: super::Watches::default(),
                flights: super::Flights::default(),
                faults: crate::fault::Faults::default(),
                probes: super::Probes::default(),
                enabled: self.enabled,
                latency: self.latency,
                work: Arc::new(Notify::new()),
                controllers_run: AtomicBool::new(false),
            }),
        }
    }
}

fn add_namespace(state: &mut State, name: &str) {
    let mut namespace = json!({
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    });
    let uid = state.ids.uid();
    let now = state.now();
    let metadata = meta_mut(&mut namespace);
    metadata.insert("name".into(), name.into());
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), Value::from(now));
    metadata.insert("labels".into(), json!({"kubernetes.io/metadata.name": name}));
    state.put_at("namespaces", name, namespace, 0);
}
