//! The operator's part in a leader election: who leads reconciles, the others keep their caches warm.

use std::time::Duration;

use kube::Client;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};

use crate::{
    clock::{self, Origin},
    leader::{ElectionStatus, Elector, ElectorOptions, Loss, Timing, WriteGate},
    manager::Board,
    metrics::Metrics,
};

/// How an operator takes part in a leader election.
#[derive(Clone, Debug)]
#[must_use]
pub struct ElectionOptions {
    lease_name: Option<String>,
    namespace: Option<String>,
    identity: Option<String>,
    timing: Timing,
    seed: Option<u64>,
}

impl ElectionOptions {
    /// A lease with the operator's name in the client's namespace, client-go's durations, an identity made up at the start.
    pub fn new() -> Self {
        Self {
            lease_name: None,
            namespace: None,
            identity: None,
            timing: Timing::default(),
            seed: None,
        }
    }

    /// The name of the Lease.
    pub fn lease_name(mut self, name: impl Into<String>) -> Self {
        self.lease_name = Some(name.into());
        self
    }

    /// The namespace of the Lease.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Who this process is, for people: its Pod's name. What makes it unique is added.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// The durations.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Name and namespace of the Lease of this operator.
    pub(super) fn lease(&self, operator: &str, client: &Client) -> (String, String) {
        let name = self.lease_name.as_deref().unwrap_or(operator);
        let namespace = self.namespace.as_deref();
        let namespace = namespace.unwrap_or_else(|| client.default_namespace());
        (name.to_owned(), namespace.to_owned())
    }

    /// Makes everything random the same again.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}

impl Default for ElectionOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A process that takes part in an election until it is dropped, loses, or releases.
pub(super) struct Candidate {
    lease: String,
    election: JoinHandle<Loss>,
    release: Option<oneshot::Sender<()>>,
    status: watch::Receiver<ElectionStatus>,
    drain: Duration,
}

impl Candidate {
    /// Enters the election. `client` neither retries nor passes the gate.
    pub(super) fn enter(
        operator: &str,
        options: &ElectionOptions,
        origin: Origin,
        client: Client,
        gate: WriteGate,
    ) -> Self {
        let timing = options.timing;
        let seed = options.seed.or_else(|| origin.seed("election"));
        let suffix = clock::rng(seed).u64(..);
        let name = options.identity.as_deref().unwrap_or(operator);
        let (lease, namespace) = options.lease(operator, &client);
        let elector = ElectorOptions {
            name: lease.clone(),
            namespace,
            identity: format!("{name}_{suffix:016x}"),
            timing,
            seed,
            epoch: Some(origin.wall()),
        };
        let elector = Elector::new(client, &elector, gate);
        let status = elector.status();
        let (release, released) = oneshot::channel::<()>();
        let election = tokio::spawn(elector.run(async move {
            // A sender that is dropped gives nothing up.
            if released.await.is_err() {
                std::future::pending::<()>().await;
            }
        }));
        Self {
            lease,
            election,
            release: Some(release),
            status,
            drain: timing.drain(),
        }
    }

    /// Resolves when this process leads.
    pub(super) fn leading(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut status = self.status.clone();
        async move {
            if status
                .wait_for(|status| *status == ElectionStatus::Leading)
                .await
                .is_err()
            {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Tells board and metrics how the election goes, until it is over.
    pub(super) async fn tell(
        mut status: watch::Receiver<ElectionStatus>,
        lease: String,
        board: Board,
        metrics: Metrics,
    ) {
        loop {
            let now = status.borrow_and_update().clone();
            metrics.set_leading(&lease, now == ElectionStatus::Leading);
            board.leadership(&match now {
                ElectionStatus::Leading => "leading".to_owned(),
                ElectionStatus::Standby { holder: None } => "standby".to_owned(),
                ElectionStatus::Standby { holder: Some(holder) } => format!("standby: {holder} leads"),
                ElectionStatus::Over(loss) => format!("over: {loss}"),
            });
            if status.changed().await.is_err() {
                return;
            }
        }
    }

    /// The name of the Lease.
    pub(super) fn lease(&self) -> &str {
        &self.lease
    }

    pub(super) fn status(&self) -> watch::Receiver<ElectionStatus> {
        self.status.clone()
    }

    /// Resolves when the election is lost, with how long what runs may still take.
    pub(super) async fn lost(&mut self) -> (Loss, Duration) {
        let loss = (&mut self.election).await.unwrap_or(Loss::Released);
        let drain = if matches!(loss, Loss::NotRenewed { .. }) {
            self.drain
        } else {
            Duration::ZERO
        };
        (loss, drain)
    }

    /// Gives the lease up. Nothing that could write may run any more.
    pub(super) async fn release(mut self) {
        if let Some(release) = self.release.take() {
            // The election may be over already.
            let _ = release.send(());
        }
        let _ = (&mut self.election).await;
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        self.election.abort();
    }
}
