//! What the deployer of an operator chooses.

use std::{fmt, net::SocketAddr, path::PathBuf};

use kube::Client;

use super::{ElectionOptions, OwnPod, RateLimit, Stop};
use crate::{Backoff, clock::Origin, declare::Namespaces};

/// What the deployer of an operator chooses.
#[derive(Clone, Default)]
#[must_use]
pub struct RunOptions {
    pub(super) client: Option<Client>,
    pub(super) address: Option<SocketAddr>,
    pub(super) address_file: Option<PathBuf>,
    pub(super) namespaces: Namespaces,
    pub(super) election: Option<ElectionOptions>,
    pub(super) concurrency: Option<u16>,
    pub(super) rate_limit: Option<RateLimit>,
    pub(super) protect_metrics: bool,
    pub(super) when_ended: WhenEnded,
    pub(super) pod: Option<OwnPod>,
    pub(super) origin: Origin,
    pub(super) stop: Stop,
}

/// What follows when a controller ends though nobody asked it to: its context could not be made, or it panicked outside of any
/// reconcile. Failed reconciles do not end a controller.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum WhenEnded {
    /// The others stop in good order, and the operator ends with an error, so that whoever runs the process starts it again.
    #[default]
    Exit,
    /// It is started again after a pause, and the others go on. Meanwhile the operator is not ready.
    Restart(Backoff),
}

impl RunOptions {
    /// No status endpoint, all namespaces, the client of the environment, and nobody who stops it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses this client, not the one of the environment (`KUBECONFIG`, or the Pod's service account).
    pub fn client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Serves the status endpoint here.
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Writes the endpoint's bound address to this file.
    pub fn address_file(mut self, file: PathBuf) -> Self {
        self.address_file = Some(file);
        self
    }

    /// Watches these namespaces.
    pub fn namespaces(mut self, namespaces: Namespaces) -> Self {
        self.namespaces = namespaces;
        self
    }

    /// The namespaces it watches.
    pub fn watched(&self) -> &Namespaces {
        &self.namespaces
    }

    /// Reconciles only while this process leads.
    pub fn elect(mut self, election: ElectionOptions) -> Self {
        self.election = Some(election);
        self
    }

    /// Runs so many reconciles at once in all controllers together, whatever [`Operator::concurrency`](super::Operator::concurrency)
    /// says. The limit of each controller counts as well.
    pub fn max_concurrent_reconciles(mut self, limit: u16) -> Self {
        self.concurrency = Some(limit);
        self
    }

    /// Sends requests to the API server at this rate at most; those for the lease are not held up.
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }

    /// Shows `/metrics` only to whoever has a token and the right to `get` that path, by the word of the API server.
    pub fn protect_metrics(mut self) -> Self {
        self.protect_metrics = true;
        self
    }

    /// Chooses what follows when a controller ends though nobody asked it to.
    pub fn when_ended(mut self, then: WhenEnded) -> Self {
        self.when_ended = then;
        self
    }

    /// The Pod that this process runs in: Events tell there which rights are missing, if a controller may publish Events.
    pub fn pod(mut self, pod: OwnPod) -> Self {
        self.pod = Some(pod);
        self
    }

    /// Takes the time on the wall and chance from here, not from the machine: for runs that shall repeat.
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Stops when asked by this.
    pub fn stop_on(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("address", &self.address)
            .field("address_file", &self.address_file)
            .field("namespaces", &self.namespaces)
            .field("concurrency", &self.concurrency)
            .field("rate_limit", &self.rate_limit)
            .field("when_ended", &self.when_ended)
            .finish_non_exhaustive()
    }
}
