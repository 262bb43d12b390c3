//! The server: one request path, in memory and over TCP.

mod admit;
pub(crate) mod answer;
mod body;
mod builder;
mod client;
mod control;
mod dispatch;
mod flight;
mod health;
mod incoming;
mod install;
mod metrics;
pub(crate) mod query;
pub(crate) mod route;
mod settle;
mod tcp;
mod watches;
mod workloads;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

pub use body::Body;
pub use builder::ServerBuilder;
pub use client::{Disconnected, Service};
pub use install::InstallError;
pub use settle::{ProbeGuard, SettleError};
pub use workloads::Workloads;

use crate::clock::{Instant, instant};
use crate::controllers::{self, Enabled};
use crate::fault::Faults;
use crate::journal::{self, Journal};
use crate::openapi::Documents;
use crate::state::State;
use flight::Flights;
use settle::Probes;
use watches::Watches;

/// A Kubernetes API server in this process. Clones are handles to one server.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), kube::Error> {
/// use controller_apiserver::Server;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::{Api, api::PostParams};
///
/// let server = Server::new();
/// let api = Api::<ConfigMap>::namespaced(server.client(), "default");
/// let map = serde_json::from_value(serde_json::json!({"metadata": {"name": "a"}})).unwrap();
/// api.create(&PostParams::default(), &map).await?;
/// assert_eq!(server.journal().writes().len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    inner: Arc<Inner>,
}

/// What all handles share.
#[derive(Debug)]
pub(crate) struct Inner {
    state: Mutex<State>,
    journal: Mutex<journal::Log>,
    pub(crate) watches: Watches,
    flights: Flights,
    faults: Faults,
    documents: Documents,
    probes: Probes,
    enabled: Enabled,
    /// How long the controllers inside take until they look at a change.
    latency: Duration,
    /// Tells the controllers' task that there is work.
    work: Arc<Notify>,
    controllers_run: AtomicBool,
}

impl Inner {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, journal::Log> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the controllers inside look at everything there is, now.
    fn run_controllers(&self) {
        let mut state = self.state();
        let before = state.simulation.next_due();
        controllers::run(&mut state, self.enabled);
        let due = state.simulation.next_due();
        drop(state);
        if due.is_some() && due != before {
            // The controllers' task waits for what was due before.
            self.work.notify_one();
        }
    }

    /// When the controllers look next, if they look at the latest then.
    fn next_look(&self, latest: Option<Instant>) -> Option<Instant> {
        let due = self.state().simulation.next_due();
        due.into_iter().chain(latest).min()
    }

    /// Starts the controllers' task with the first request: there is a runtime then.
    fn start_controllers(self: &Arc<Self>) {
        if self.controllers_run.swap(true, Ordering::Relaxed) {
            return;
        }
        // The task holds the server only while it works, so that the server can go.
        let server = Arc::downgrade(self);
        let work = Arc::clone(&self.work);
        let latency = self.latency;
        tokio::spawn(async move {
            let mut noticed = None;
            loop {
                let Some(look) = server.upgrade().map(|server| server.next_look(noticed)) else {
                    return;
                };
                let due = async {
                    match look {
                        Some(at) => tokio::time::sleep_until(at).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    biased;
                    () = due => {}
                    () = work.notified() => {
                        noticed = noticed.or_else(|| instant().checked_add(latency));
                        continue;
                    }
                }
                noticed = None;
                let Some(server) = server.upgrade() else {
                    return;
                };
                server.run_controllers();
            }
        });
    }
}

/// The history needed to go back is no longer there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {asked} cannot be restored: what happened up to {oldest} was compacted")]
pub struct RestoreError {
    /// The revision asked for.
    pub asked: u64,
    /// The oldest that can be restored.
    pub oldest: u64,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.work.notify_one();
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A server for tests: fixed epoch, seed 0.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A server with other than the usual settings.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// The faults of this server.
    pub fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// What was asked so far.
    pub fn journal(&self) -> Journal {
        Journal(self.inner.log().all())
    }

    /// How many requests the journal was told of so far: the sequence of its last entry.
    pub fn requests(&self) -> u64 {
        self.inner.log().sequence()
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.inner.state().store.revision()
    }

    /// The server's time.
    pub fn now(&self) -> jiff::Timestamp {
        self.inner.state().clock.now()
    }

    /// Drops the history: to go on from an old revision is 410 from now on.
    pub fn compact(&self) {
        self.inner.state().store.compact();
    }

    /// Goes back to the state of an earlier revision and ends all watches, as a server does that is restored from a
    /// backup: what was written later never was, and its revisions are given anew.
    ///
    /// # Errors
    ///
    /// What happened since is no longer known, because it was [compacted](Self::compact).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use controller_apiserver::Server;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::{Api, api::PostParams};
    ///
    /// let server = Server::new();
    /// let backup = server.revision();
    /// let api = Api::<ConfigMap>::namespaced(server.client(), "default");
    /// let map = serde_json::from_value(serde_json::json!({"metadata": {"name": "a"}}))?;
    /// api.create(&PostParams::default(), &map).await?;
    /// server.restore(backup)?;
    /// assert!(api.get_opt("a").await?.is_none());
    /// # Ok(()) }
    /// ```
    pub fn restore(&self, revision: u64) -> Result<(), RestoreError> {
        let restored = self.inner.state().restore(revision);
        restored.map_err(|compacted| RestoreError {
            asked: revision,
            oldest: compacted.oldest,
        })?;
        self.inner.watches.close();
        self.inner.work.notify_one();
        Ok(())
    }

    /// Lets new definitions of custom resources wait, accepted and not established, until this is taken back: as on a
    /// server that is slow to serve them.
    pub fn hold_definitions(&self, hold: bool) {
        self.inner.state().hold_definitions(hold);
    }

    /// Ends all watches that are open.
    pub fn close_watches(&self) {
        self.inner.watches.close();
    }

    /// Moves the server's clock, as when somebody sets the time of the machine it runs on.
    pub fn jump_clock(&self, by: jiff::SignedDuration) {
        self.inner.state().clock.jump(by);
    }
}
