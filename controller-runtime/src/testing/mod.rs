//! A cluster inside a test: an API server, operators that run on it, and virtual time. `#[controller_test]` makes one.
//!
//! ```
//! use controller_runtime::{controller_test, prelude::*, testing::{Cluster, Fault, Verb, When}};
//! use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
//!
//! #[controller(owns(ConfigMap))]
//! async fn reconcile(account: Arc<ServiceAccount>, children: Children) -> Result<Action, kube::Error> {
//!     let mut greeting = ConfigMap::default();
//!     greeting.metadata.name = account.metadata.name.clone();
//!     children.apply([greeting]).await?;
//!     Ok(Action::await_change())
//! }
//!
//! #[controller_test(run = reconcile::controller())]
//! async fn a_greeting_comes_although_the_server_is_busy(cluster: Cluster) {
//!     cluster.fault(When::verb(Verb::Patch).resource("configmaps").times(1), Fault::status(503));
//!     cluster.apply("{apiVersion: v1, kind: ServiceAccount, metadata: {name: ann}}").await;
//!     cluster.advance(Duration::from_secs(60)).await;
//!     cluster.get::<ConfigMap>("ann").await;
//! }
//! # fn main() { a_greeting_comes_although_the_server_is_busy() }
//! ```
//!
//! An operator runs here as it does on a cluster: under a service account with exactly the roles that its `rbac` command prints, on a
//! server that holds it to them, and to the admission `OwnerReferencesPermissionEnforcement`. A right that nobody declared is a 403.
//!
//! Everything happens on one thread and on a paused clock: time passes when the test says so ([`Cluster::advance`]), and the same seed
//! gives the same journal, byte for byte. When the test fails, what happened is printed: reconciles and why they ran, requests, Events.
//!
//! What a [`Cluster`] cannot do, it says in a panic that names the line of the test. Not promised: that code which leaves the runtime
//! (threads, sockets) is waited for.

mod objects;
mod record;
mod run;
mod timeline;
mod told;

use std::{
    fmt,
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use controller_apiserver::{ProbeGuard, access::User};
use jiff::Timestamp;
use kube::Client;
use serde_json::json;
use tokio::task::JoinHandle;

pub use controller_apiserver::{Entry, Fault, FaultId, Journal, PodFate, Server, Verb, When};
pub use run::{FromCluster, Settings, Startable, Verdict, run, start};
pub use told::{Event, Reconcile};

use crate::{
    OperatorError,
    clock::Origin,
    declare::rbac::Roles,
    manager::Board,
    operator::{ManifestOptions, Operator, RunOptions, Stop},
};
use record::Record;

/// How the requests of operators begin to name themselves.
const OPERATOR: &str = "operator/";
/// Who makes what a test starts from.
const SETUP: &str = "setup";

/// An API server, the operators on it, and virtual time. Clones are handles to one cluster.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    server: Server,
    client: Client,
    seed: u64,
    epoch: Timestamp,
    record: Record,
    operators: Mutex<Operators>,
}

#[derive(Default)]
struct Operators {
    running: Vec<Running>,
    /// Of every operator that was ever started, in that order.
    accounts: Vec<Account>,
}

/// Who an operator is, and what it may do.
#[derive(Clone)]
struct Account {
    operator: String,
    user: String,
    roles: Roles,
}

/// An operator at work. It ends when this is dropped.
struct Running {
    name: String,
    stop: Stop,
    task: JoinHandle<Result<(), OperatorError>>,
    _probe: ProbeGuard,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Cluster {
    /// An empty cluster. It must be made inside a tokio runtime, one with a paused clock.
    pub fn new(settings: Settings) -> Self {
        let mut server = Server::builder()
            .seed(settings.seed)
            .enforce_owner_references(true);
        if let Some(ready_after) = settings.workloads {
            server = server.workloads(ready_after);
        }
        let server = server.build();
        let inner = Inner {
            client: server.client_named("test"),
            seed: settings.seed,
            epoch: server.now(),
            record: Record::new(server.clone()),
            operators: Mutex::default(),
            server,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The API server, for what has no call of its own here.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    /// An administrator's client, named `test`.
    pub fn client(&self) -> Client {
        self.inner.client.clone()
    }

    /// Starts an operator: puts its CRDs and its roles on the server, and runs it under the service account that has them.
    ///
    /// Several may run, also two of one name, as replicas do.
    ///
    /// # Panics
    ///
    /// When the server takes its CRDs or roles not.
    #[track_caller]
    pub fn start(&self, operator: impl Startable) -> impl Future<Output = ()> {
        self.start_with(operator, RunOptions::new())
    }

    /// As [`Cluster::start`], with the namespaces and the election of `options`.
    ///
    /// # Panics
    ///
    /// As [`Cluster::start`].
    #[track_caller]
    pub fn start_with(&self, operator: impl Startable, options: RunOptions) -> impl Future<Output = ()> {
        let caller = Location::caller();
        let operator = operator.operator();
        async move {
            let account = self.install(&operator, &options, caller).await;
            self.launch(operator, options, account);
        }
    }

    /// What a deployer of the operator would apply, except its Deployment.
    async fn install(
        &self,
        operator: &Operator,
        options: &RunOptions,
        caller: &'static Location<'static>,
    ) -> Account {
        let home = home_of(operator.name());
        let place = ManifestOptions::new(&home, "").namespaces(options.watched().clone());
        let mut objects = vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": operator.name(), "namespace": home}}),
        ];
        objects.extend(operator.rbac(&place));
        let setup = self.inner.server.client_named(SETUP);
        objects::apply(&setup, &operator.crds(), caller).await;
        objects::apply(&setup, &objects, caller).await;
        Account {
            operator: operator.name().to_owned(),
            user: User::service_account(&home, operator.name()).name,
            roles: operator.roles(&place),
        }
    }

    fn launch(&self, operator: Operator, options: RunOptions, account: Account) {
        let (server, name) = (&self.inner.server, account.operator.clone());
        let home = home_of(&name);
        let user = User::service_account(&home, &name);
        let service = server.service_as(user).named(format!("{OPERATOR}{name}"));
        let mut operators = self.operators();
        // No two of them draw the same numbers.
        let seed = self.inner.seed.wrapping_add(operators.accounts.len() as u64);
        operators.accounts.push(account);
        let (board, stop) = (Board::new(&name), Stop::new());
        let options = options
            .client(Client::new(service, home))
            .origin(Origin::fixed(server.now(), seed))
            .stop_on(&stop);
        board.hear(self.inner.record.listener());
        let probe = server.on_settle(format!("the queues of {name}"), {
            let board = board.clone();
            move || board.has_work()
        });
        let task = tokio::spawn(async move { operator.run_on(&board, options).await });
        operators.running.push(Running {
            name,
            stop,
            task,
            _probe: probe,
        });
    }

    /// Stops all operators as a first signal does, and waits until they have ended. They can be started again.
    ///
    /// # Panics
    ///
    /// When one of them ends with an error.
    #[track_caller]
    pub fn stop(&self) -> impl Future<Output = ()> {
        let caller = Location::caller();
        let running = std::mem::take(&mut self.operators().running);
        async move {
            for mut operator in running {
                operator.stop.now();
                if let Some(error) = end_of((&mut operator.task).await) {
                    fail(
                        &format!("the operator {} did not stop well: {error}", operator.name),
                        caller,
                    );
                }
            }
        }
    }

    /// Waits until nothing moves any more without time passing: no request is under way, no key can run, every watch has delivered.
    ///
    /// # Panics
    ///
    /// When something does not come to rest, or an operator has ended.
    #[track_caller]
    pub fn settle(&self) -> impl Future<Output = ()> {
        self.advance(Duration::ZERO)
    }

    /// Lets time pass, each timer at its own moment, and settles.
    ///
    /// # Panics
    ///
    /// As [`Cluster::settle`].
    #[track_caller]
    pub fn advance(&self, by: Duration) -> impl Future<Output = ()> {
        let caller = Location::caller();
        async move {
            let rest = if by.is_zero() {
                self.inner.server.settle().await
            } else {
                self.inner.server.advance(by).await
            };
            self.check_operators(caller).await;
            if let Err(error) = rest {
                fail(&error.to_string(), caller);
            }
        }
    }

    /// Lets requests of the operators fail, from now on. For the requests of everyone there are
    /// [`Server::faults`](controller_apiserver::Server::faults).
    pub fn fault(&self, when: When, fault: Fault) -> FaultId {
        self.inner.server.faults().inject(when.agent(OPERATOR), fault)
    }

    /// An operator runs until it is stopped.
    async fn check_operators(&self, caller: &'static Location<'static>) {
        let ended = {
            let mut operators = self.operators();
            let place = operators.running.iter().position(|one| one.task.is_finished());
            place.map(|place| operators.running.remove(place))
        };
        if let Some(mut ended) = ended {
            let error = end_of((&mut ended.task).await).unwrap_or_else(|| "nobody asked it to".to_owned());
            fail(&format!("the operator {} has ended: {error}", ended.name), caller);
        }
    }

    fn operators(&self) -> MutexGuard<'_, Operators> {
        self.inner
            .operators
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running: Vec<_> = self
            .operators()
            .running
            .iter()
            .map(|one| one.name.clone())
            .collect();
        f.debug_struct("Cluster")
            .field("seed", &self.inner.seed)
            .field("now", &self.inner.server.now())
            .field("running", &running)
            .finish_non_exhaustive()
    }
}

fn home_of(operator: &str) -> String {
    format!("{operator}-system")
}

fn end_of(ended: Result<Result<(), OperatorError>, tokio::task::JoinError>) -> Option<String> {
    match ended {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// Fails the test, and says which of its lines cannot be done.
fn fail(what: &str, caller: &Location<'_>) -> ! {
    panic!("{what}\n  at {caller}")
}
