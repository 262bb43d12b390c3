//! `run`: the status endpoint first, then the client, then every controller, until asked to stop.

use std::sync::Arc;
#[cfg(feature = "probes")]
use std::sync::OnceLock;

use kube::{Client, Config, client::retry::RetryPolicy};

use super::{
    Operator, OperatorError, RunOptions,
    candidate::Candidate,
    client,
    pod::tell_of_rights,
    running::{Care, Running},
};
#[cfg(feature = "probes")]
use crate::manager::Reviewer;
use crate::{
    clock::Origin,
    declare::{BoxError, Environment},
    leader::WriteGate,
    manager::{Board, access},
    metrics::Metrics,
    reconcile::Recorder,
    runner::{Limit, Observer},
};

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
    pub async fn run_on(self, board: &Board, mut options: RunOptions) -> Result<(), OperatorError> {
        self.check()?;
        let metrics = Metrics::new(&self.name, &self.version);
        self.expect(board, &metrics, &options);
        #[cfg(feature = "probes")]
        let reviewer = options.protect_metrics.then(Arc::<OnceLock<Reviewer>>::default);
        #[cfg(feature = "probes")]
        let _endpoint = serve(board, &metrics, &options, reviewer.clone()).await?;
        let gate = if options.election.is_some() {
            WriteGate::closed()
        } else {
            WriteGate::open()
        };
        let (plain, retries) = match options.client.take() {
            Some(client) => (client, None),
            None => (
                connect(&metrics).await.map_err(OperatorError::Client)?,
                Some(RetryPolicy::server_retry()),
            ),
        };
        let questions = self.questions(&options, &plain);
        let refusals = access::Refusals::of(&questions);
        let plain = client::heard(plain, &refusals);
        #[cfg(feature = "probes")]
        if let Some(reviewer) = reviewer {
            // It is set once, here.
            let _ = reviewer.set(Reviewer::new(plain.clone()));
        }
        let client = client::gated(plain.clone(), &gate, retries, options.rate_limit);
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(board.clone()), Arc::new(metrics.clone())];
        // It does not ask the gate: no other process writes of this Pod, and a standby lacks rights, too.
        let recorder = self.recorder(options.pod, &options.namespaces, &plain, options.origin);
        let _asking = self.ask(&client, questions, refusals, options.origin, board, recorder);
        let mut environment = Environment::new(client)
            .namespaces(options.namespaces)
            .observe_with(Arc::new(observers))
            .origin(options.origin)
            .shutdown_on(options.stop.first());
        environment.limit = options.concurrency.or(self.concurrency).map(Limit::new);
        let candidate = options
            .election
            .map(|election| Candidate::enter(&self.name, &election, options.origin, plain, gate));
        let mut _telling = None;
        if let Some(candidate) = &candidate {
            environment = environment.hold_until(candidate.leading());
            let telling = Candidate::tell(
                candidate.status(),
                candidate.lease().to_owned(),
                board.clone(),
                metrics.clone(),
            );
            _telling = Some(OnDrop(tokio::spawn(telling)));
        }
        let care = Care {
            environment,
            when_ended: options.when_ended,
            board: board.clone(),
            metrics,
        };
        let running = Running::start(self.controllers, &care);
        running.until_stopped(board, &options.stop, candidate).await
    }

    /// Everything is known from the start, and nothing of it is well yet.
    fn expect(&self, board: &Board, metrics: &Metrics, options: &RunOptions) {
        for declaration in self.declarations() {
            board.expect(declaration, &options.namespaces);
            metrics.expect(declaration);
        }
    }

    /// What this process needs to be allowed.
    fn questions(&self, options: &RunOptions, client: &Client) -> access::Questions {
        let mut questions = access::questions(self.declarations(), &options.namespaces);
        if let Some(election) = &options.election {
            let (lease, namespace) = election.lease(&self.name, client);
            questions = questions.elects(&lease, &namespace);
        }
        if options.protect_metrics {
            questions = questions.protects_metrics();
        }
        questions
    }

    /// Asks the server which kinds it serves and what this process may do, for as long as the answer lives.
    fn ask(
        &self,
        client: &Client,
        questions: access::Questions,
        refusals: access::Refusals,
        origin: Origin,
        board: &Board,
        recorder: Option<Recorder>,
    ) -> [OnDrop; 2] {
        let kinds = ask_for_kinds(
            client.clone(),
            access::kinds(self.declarations()),
            origin.rng("discovery"),
            board.clone(),
        );
        let rights = ask_for_rights(
            client.clone(),
            questions,
            refusals,
            origin.rng("reviews"),
            board.clone(),
            recorder,
        );
        [OnDrop(tokio::spawn(kinds)), OnDrop(tokio::spawn(rights))]
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

/// Says which kinds are not served, in the log and on the board.
async fn ask_for_kinds(client: Client, kinds: access::Kinds, rng: fastrand::Rng, board: Board) {
    access::discover(client, kinds, rng, |unserved| {
        tracing::warn!(kind = unserved.kind, "{}", unserved.message);
        board.unserved(unserved);
    })
    .await;
}

/// Says which rights come and go, each once in the log, and which are missing on the board and in an Event.
async fn ask_for_rights(
    client: Client,
    questions: access::Questions,
    refusals: access::Refusals,
    rng: fastrand::Rng,
    board: Board,
    recorder: Option<Recorder>,
) {
    access::watch_over(client, questions, refusals, rng, |changes, missing| {
        for change in changes {
            match change {
                access::Change::Missing(right) => {
                    tracing::warn!(%right, "a right is missing: grant it, `rbac` prints the roles");
                }
                access::Change::Granted(right) => {
                    tracing::info!(%right, "a right that was missing is granted");
                }
            }
        }
        board.missing_rights(missing);
        if let Some(recorder) = &recorder {
            tell_of_rights(recorder, missing);
        }
    })
    .await;
}

/// Binds the endpoint and serves it for as long as the answer lives.
#[cfg(feature = "probes")]
async fn serve(
    board: &Board,
    metrics: &Metrics,
    options: &RunOptions,
    reviewer: Option<Arc<OnceLock<Reviewer>>>,
) -> Result<Option<OnDrop>, OperatorError> {
    let Some(address) = options.address else {
        return Ok(None);
    };
    let failed = |source| OperatorError::Listen { address, source };
    let mut server = crate::manager::StatusServer::bind(address, board.clone(), metrics.clone())
        .await
        .map_err(failed)?;
    if let Some(reviewer) = reviewer {
        server = server.protect_metrics(reviewer);
    }
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
