//! `run`: the status endpoint first, then the client, then every controller, until asked to stop.

use std::{fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use futures::FutureExt;
use kube::{Client, Config, client::retry::RetryPolicy};
use tokio::task::JoinSet;

use super::{ElectionOptions, Operator, OperatorError, Stop, candidate::Candidate, client};
use crate::{
    clock::{self, Origin},
    declare::{BoxError, Environment, Namespaces, Runnable},
    leader::{Loss, WriteGate},
    manager::{Board, access},
    metrics::Metrics,
    runner::{Limit, Observer},
};

/// What the deployer of an operator chooses.
#[derive(Clone, Default)]
#[must_use]
pub struct RunOptions {
    client: Option<Client>,
    address: Option<SocketAddr>,
    address_file: Option<PathBuf>,
    namespaces: Namespaces,
    election: Option<ElectionOptions>,
    origin: Origin,
    stop: Stop,
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
            .finish_non_exhaustive()
    }
}

impl Operator {
    /// Runs all controllers until asked to stop.
    ///
    /// # Errors
    /// When the endpoint cannot be bound or no client can be made; when a controller ends though nobody asked it to; when
    /// a second wish to stop drops running reconciles.
    ///
    /// # Cancel safety
    /// Dropping the future drops running reconciles at their next await.
    pub async fn run(self, options: RunOptions) -> Result<(), OperatorError> {
        let board = Board::new(&self.name);
        self.run_on(&board, options).await
    }

    /// As [`Operator::run`], telling a board that the caller reads.
    ///
    /// # Errors
    /// As [`Operator::run`].
    pub async fn run_on(self, board: &Board, options: RunOptions) -> Result<(), OperatorError> {
        self.check()?;
        let metrics = Metrics::new(&self.name, &self.version);
        for declaration in self.declarations() {
            board.expect(declaration, &options.namespaces);
            metrics.expect(declaration);
        }
        #[cfg(feature = "probes")]
        let _endpoint = serve(board, &metrics, &options).await?;
        let gate = if options.election.is_some() {
            WriteGate::closed()
        } else {
            WriteGate::open()
        };
        let (plain, retries) = match options.client {
            Some(client) => (client, None),
            None => (
                connect(&metrics).await.map_err(OperatorError::Client)?,
                Some(RetryPolicy::server_retry()),
            ),
        };
        let client = client::gated(plain.clone(), &gate, retries);
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(board.clone()), Arc::new(metrics.clone())];
        let questions = access::questions(self.declarations(), &options.namespaces);
        let _access = OnDrop(tokio::spawn(ask_for_rights(
            client.clone(),
            questions,
            options.origin.rng("reviews"),
            board.clone(),
        )));
        let mut environment = Environment::new(client)
            .namespaces(options.namespaces)
            .observe_with(Arc::new(observers))
            .origin(options.origin)
            .shutdown_on(options.stop.first());
        environment.limit = self.concurrency.map(Limit::new);
        let candidate = options
            .election
            .map(|election| Candidate::enter(&self.name, &election, options.origin, plain, gate));
        let mut _telling = None;
        if let Some(candidate) = &candidate {
            environment = environment.hold_until(candidate.leading());
            let telling = Candidate::tell(candidate.status(), self.name.clone(), board.clone(), metrics);
            _telling = Some(OnDrop(tokio::spawn(telling)));
        }
        let running = Running::start(self.controllers, &environment);
        running.until_stopped(board, &options.stop, candidate).await
    }

    /// What would only show later, or not at all.
    fn check(&self) -> Result<(), OperatorError> {
        if self.controllers.is_empty() {
            return Err(OperatorError::NoControllers);
        }
        let mut names: Vec<_> = self.declarations().map(|declaration| &declaration.name).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(OperatorError::SameName(pair[0].clone()));
        }
        self.check_definitions()?;
        self.check_conditions()
    }
}

/// A client by the environment: `KUBECONFIG`, or the Pod's service account.
async fn connect(metrics: &Metrics) -> Result<Client, BoxError> {
    Ok(client::plain(Config::infer().await?, metrics)?)
}

/// Says which rights are missing, in the log and on the board, until none is.
async fn ask_for_rights(client: Client, questions: access::Questions, rng: fastrand::Rng, board: Board) {
    access::watch_over(client, questions, rng, |missing| {
        for right in missing {
            tracing::warn!(%right, "a right is missing: grant it, `rbac` prints the roles");
        }
        board.missing_rights(missing);
    })
    .await;
}

/// The controllers as tasks. Dropping it ends them.
struct Running {
    /// Each gives its name, and why it ended.
    tasks: JoinSet<(String, Result<(), String>)>,
}

impl Running {
    fn start(controllers: Vec<Box<dyn Runnable>>, environment: &Environment) -> Self {
        let mut tasks = JoinSet::new();
        for controller in controllers {
            let name = controller.declaration().name.clone();
            let run = controller.run(environment.clone());
            tasks.spawn(async move {
                // A panic outside of any reconcile is the end of this controller, and is told like one.
                let result = std::panic::AssertUnwindSafe(run).catch_unwind().await;
                let result = match result {
                    Ok(result) => result.map_err(|error| crate::error_text::chain(&*error)),
                    Err(_) => Err("it panicked; the message stands above".to_owned()),
                };
                (name, result)
            });
        }
        Self { tasks }
    }

    /// Waits until all controllers have ended, and gives the lease up when they have.
    async fn until_stopped(
        mut self,
        board: &Board,
        stop: &Stop,
        mut candidate: Option<Candidate>,
    ) -> Result<(), OperatorError> {
        let result = self.wait(board, stop, candidate.as_mut()).await;
        // What was dropped may still have a request on its way; the lease of such a process has to expire.
        if let (Ok(()), Some(candidate)) = (&result, candidate) {
            candidate.release().await;
        }
        result
    }

    async fn wait(
        &mut self,
        board: &Board,
        stop: &Stop,
        mut candidate: Option<&mut Candidate>,
    ) -> Result<(), OperatorError> {
        let mut first = stop.first();
        let mut second = std::pin::pin!(stop.second());
        let mut limit = std::pin::pin!(tokio::time::sleep(Duration::MAX));
        let mut stopping = false;
        let mut failure = None;
        loop {
            tokio::select! {
                biased;
                () = &mut second => {
                    return Err(OperatorError::Dropped { running: board.running() });
                }
                () = &mut limit, if candidate.is_none() && failure.is_some() => {
                    let running = board.running();
                    if !running.is_empty() {
                        tracing::warn!(?running, "dropped at the end of the leadership");
                    }
                    return failure.map_or(Ok(()), Err);
                }
                (loss, drain) = lost(&mut candidate) => {
                    candidate = None;
                    limit.as_mut().reset(clock::now() + drain);
                    failure = Some(OperatorError::LeadershipLost(loss));
                    if !stopping {
                        stop.now();
                    }
                }
                () = &mut first, if !stopping => {
                    stopping = true;
                    board.stopping();
                }
                ended = self.tasks.join_next() => match ended {
                    None => return failure.map_or(Ok(()), Err),
                    Some(ended) => {
                        if let Some(error) = end_of(ended, stopping, board) {
                            // The others stop in good order; the first failure is the one that is told.
                            failure.get_or_insert(error);
                            stop.now();
                        }
                    }
                },
            }
        }
    }
}

/// Resolves when the leadership is lost; never without an election.
async fn lost(candidate: &mut Option<&mut Candidate>) -> (Loss, Duration) {
    match candidate {
        Some(candidate) => candidate.lost().await,
        None => std::future::pending().await,
    }
}

/// What the end of one controller means: an error, unless it was asked to end and ended well.
fn end_of(
    ended: Result<(String, Result<(), String>), tokio::task::JoinError>,
    stopping: bool,
    board: &Board,
) -> Option<OperatorError> {
    let (name, result) = match ended {
        Ok(ended) => ended,
        Err(error) => (String::new(), Err(error.to_string())),
    };
    let message = match result {
        Ok(()) if stopping => return None,
        Ok(()) => "though nobody asked it to".to_owned(),
        Err(message) => message,
    };
    board.ended(&name, &message);
    Some(OperatorError::ControllerEnded { name, message })
}

/// Binds the endpoint and serves it for as long as the answer lives.
#[cfg(feature = "probes")]
async fn serve(
    board: &Board,
    metrics: &Metrics,
    options: &RunOptions,
) -> Result<Option<OnDrop>, OperatorError> {
    let Some(address) = options.address else {
        return Ok(None);
    };
    let failed = |source| OperatorError::Listen { address, source };
    let server = crate::manager::StatusServer::bind(address, board.clone(), metrics.clone())
        .await
        .map_err(failed)?;
    let bound = server.address().map_err(failed)?;
    if let Some(path) = &options.address_file {
        write_whole(path, &bound.to_string()).map_err(|source| OperatorError::AddressFile {
            path: path.clone(),
            source,
        })?;
    }
    tracing::info!(address = %bound, "status endpoint is bound");
    Ok(Some(OnDrop(tokio::spawn(server.serve()))))
}

/// A reader sees nothing or all of it.
#[cfg(feature = "probes")]
fn write_whole(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}

/// A task that ends with its owner.
struct OnDrop(tokio::task::JoinHandle<()>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
