//! How an operator takes and runs a controller of any type.

use std::{fmt, sync::Arc};

use futures::future::{BoxFuture, FutureExt, Shared};
use kube::Client;

use super::{Declaration, Watched};
use crate::{
    clock::Origin,
    manager::Informers,
    object::Object,
    runner::{Limit, Observer},
    watch::{Informer, Pruning},
};

/// An error of a kind that only the user knows.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A controller, whatever its types: what `Operator::controller` takes.
pub trait Runnable: Send {
    /// What it watches, writes and promises.
    fn declaration(&self) -> &Declaration;

    /// Makes the context and runs until `environment.shutdown`. Each call is a run of its own: an operator that restarts its controllers
    /// calls it again when the last one has ended.
    ///
    /// # Errors
    ///
    /// When the context could not be made, or a source ended for good. Failed reconciles are retried, not returned.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops running reconciles at their next await.
    fn run(&self, environment: Environment) -> BoxFuture<'static, Result<(), BoxError>>;
}

impl Runnable for Box<dyn Runnable> {
    fn declaration(&self) -> &Declaration {
        (**self).declaration()
    }

    fn run(&self, environment: Environment) -> BoxFuture<'static, Result<(), BoxError>> {
        (**self).run(environment)
    }
}

/// What a manager gives to each of its controllers.
#[derive(Clone)]
#[non_exhaustive]
pub struct Environment {
    /// The client that controllers and their informers use.
    pub client: Client,
    /// The namespaces that are watched: the deployer's choice.
    pub namespaces: Namespaces,
    /// The informers that controllers share.
    pub informers: Informers,
    /// Hears what the controller does.
    pub observer: Arc<dyn Observer>,
    /// Where the time on the wall and chance come from.
    pub origin: Origin,
    /// Resolves when this process may reconcile: at once, or when it leads. Caches fill before that.
    pub leading: Shared<BoxFuture<'static, ()>>,
    /// How many reconciles of all controllers run at once; `None` is no limit but their own.
    pub limit: Option<Limit>,
    /// Resolves at the first signal: nothing new is started, running reconciles finish.
    pub shutdown: Shared<BoxFuture<'static, ()>>,
}

impl Environment {
    /// All namespaces, nobody who listens, and no shutdown.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            namespaces: Namespaces::All,
            informers: Informers::new(),
            observer: Arc::new(Vec::new()),
            origin: Origin::machine(),
            leading: std::future::ready(()).boxed().shared(),
            limit: None,
            shutdown: std::future::pending().boxed().shared(),
        }
    }

    /// The informer of what is watched, shared with the other controllers of this environment.
    pub fn informer<T: Object>(
        &self,
        watched: &Watched,
        dyntype: &T::DynamicType,
        pruning: Pruning,
    ) -> Informer<T> {
        self.informers
            .informer(&self.client, &self.namespaces, watched, dyntype, pruning)
    }

    /// Watches only these namespaces.
    #[must_use]
    pub fn namespaces(mut self, namespaces: Namespaces) -> Self {
        self.namespaces = namespaces;
        self
    }

    /// Tells `observer` what happens.
    #[must_use]
    pub fn observe_with(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Takes the time on the wall and chance from here.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.informers = self.informers.seeded(origin);
        self.origin = origin;
        self
    }

    /// Reconciles nothing before `leading` resolves.
    #[must_use]
    pub fn hold_until(mut self, leading: impl Future<Output = ()> + Send + 'static) -> Self {
        self.leading = leading.boxed().shared();
        self
    }

    /// Runs at most so many reconciles of all controllers at once.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Stops when `signal` resolves.
    #[must_use]
    pub fn shutdown_on(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.shutdown = signal.boxed().shared();
        self
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("namespaces", &self.namespaces)
            .finish_non_exhaustive()
    }
}

/// The namespaces that an operator watches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// The whole cluster.
    #[default]
    All,
    /// Only these; cluster-scoped kinds are watched all the same.
    Only(Vec<String>),
}
