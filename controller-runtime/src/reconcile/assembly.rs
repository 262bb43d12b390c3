//! From a wiring to a running controller.
//!
//! Every trigger goes through the record of own writes: a key does not wake for a change that it made itself.

use std::sync::Arc;

use futures::{FutureExt, Stream, StreamExt};
use kube::Client;

use super::{
    Failed, Reconciler, Related, Retry, Run, Wiring,
    around::{Around, Preparation},
    children::Family,
    circles,
    recorder::Publisher,
    relation::Connect,
    requests::Requests,
    run::{Shared, Stores},
    wakes::{EchoWatch, OwnTrigger, PrimaryHook, admitted},
};
use crate::{
    Action, Config, Controller, Error, HotLoop,
    clock::Origin,
    declare::{
        BackoffDeclaration, BoxError, ConfigDeclaration, Declaration, Environment, RelationKind, Watched,
    },
    echo::{Overlay, OwnWrites},
    explain::{Book, Via},
    memory::Census,
    object::{Object, ObjectRef},
    runner::{self, Afterword, Inlet, Observer, Teller},
    store::{Delta, Store, key_of},
    trigger::{Predicate, Request},
    watch::{Informer, Pruning},
};

/// A controller while its relations are being connected.
pub(super) struct Assembly<'a, R: Reconciler> {
    environment: &'a Environment,
    declaration: &'a Declaration,
    controller: Controller<R::Object>,
    primaries: Store<R::Object>,
    own_writes: OwnWrites<R::Object>,
    book: Book<R::Object>,
    census: Census,
    stores: Stores,
    family: Family,
    hooks: Vec<PrimaryHook<R::Object>>,
    preparations: Vec<Preparation<R::Object>>,
}

impl<'a, R: Reconciler> Assembly<'a, R> {
    /// A controller that hears of all its relations.
    fn connected(
        environment: &'a Environment,
        declaration: &'a Declaration,
        primaries: &Store<R::Object>,
        relations: Vec<Box<dyn Connect<R>>>,
    ) -> Self {
        let mut assembly = Self {
            environment,
            declaration,
            controller: empty(primaries),
            primaries: primaries.clone(),
            own_writes: OwnWrites::new(),
            book: Book::new(),
            census: Census::default(),
            stores: Stores::default(),
            family: Family::default(),
            hooks: Vec::new(),
            preparations: Vec::new(),
        };
        for relation in relations {
            relation.connect(&mut assembly);
        }
        assembly
    }

    pub(super) fn client(&self) -> &Client {
        &self.environment.client
    }

    /// What the function reads of a related kind.
    pub(super) fn insert<T: Related>(&mut self, store: Store<T>) {
        self.stores.insert(store);
    }

    /// Lets no function run for a key before `preparation` is through for it.
    pub(super) fn prepare(&mut self, preparation: Preparation<R::Object>) {
        self.preparations.push(preparation);
    }

    pub(super) fn origin(&self) -> Origin {
        self.environment.origin
    }

    pub(super) fn primaries(&self) -> &Store<R::Object> {
        &self.primaries
    }

    /// Where the maps of the controller are counted.
    pub(super) fn census(&self) -> &Census {
        &self.census
    }

    /// The informer of a related kind; its store is what the function reads.
    ///
    /// Of an owned kind, what this controller applied is kept with the object, and own writes are read at once.
    pub(super) fn informer<T: Related>(&mut self, target: &Watched) -> Informer<T> {
        let owned = self.declaration.relations.iter().any(|relation| {
            relation.kind == RelationKind::Owns && relation.target.resource == target.resource
        });
        let pruning = if owned {
            Pruning::OtherManagers(self.declaration.name.clone())
        } else {
            Pruning::ManagedFields
        };
        let informer = self
            .environment
            .informer::<T>(target, &T::DynamicType::default(), pruning);
        if self.family.get::<T>().is_none() {
            let store = if owned {
                self.family.add(&informer.store())
            } else {
                informer.store()
            };
            store.counted(&self.census);
            if let Some(kin) = self.family.get::<T>() {
                kin.counted(&self.census);
            }
            self.stores.insert(store);
        }
        informer
    }

    /// Forgets what was remembered of a child that is gone.
    pub(super) fn forget_gone<T: Related>(&self) -> impl Fn(&Delta<T>) + Send + Sync + 'static + use<R, T> {
        let kin = self.family.get::<T>();
        move |delta| {
            if let (Some(kin), None) = (&kin, &delta.new) {
                kin.forget(delta.key.namespace.as_deref(), &delta.key.name);
            }
        }
    }

    /// Lets `map` hear the changes of a related kind that pass `predicates`.
    pub(super) fn related<T: Object>(
        &mut self,
        informer: &Informer<T>,
        via: Via<T>,
        predicates: Vec<Predicate<T>>,
        mut map: impl FnMut(&Delta<T>) -> Vec<Request<R::Object>> + Send + 'static,
    ) {
        let predicate = Predicate::any(predicates);
        let (own_writes, book) = (self.own_writes.clone(), self.book.clone());
        let admit = move |delta: &Delta<T>, teller: &Teller<R::Object>| {
            if !teller.lets_pass(&predicate, delta) {
                book.dropped(&via, delta);
                return Vec::new();
            }
            let requests = map(delta);
            admitted(&own_writes, &book, &via, delta, requests)
        };
        let controller = std::mem::replace(&mut self.controller, empty(&self.primaries));
        self.controller = controller.connected(informer, admit);
    }

    /// Lets requests come from a stream of lists.
    pub(super) fn stream(
        &mut self,
        kind: String,
        stream: impl Stream<Item = Vec<Request<R::Object>>> + Send + 'static,
    ) {
        let controller = std::mem::replace(&mut self.controller, empty(&self.primaries));
        self.controller = controller.stream(kind, stream.map(Ok), |requests| requests);
    }

    /// Lets `hook` hear every change of a primary before the primary's own trigger.
    pub(super) fn on_primary(&mut self, hook: PrimaryHook<R::Object>) {
        self.hooks.push(hook);
    }
}

fn empty<K: Object>(primaries: &Store<K>) -> Controller<K> {
    Controller::over(Arc::new(primaries.clone()), primaries.dyntype().clone())
}

/// Runs a controller until its shutdown is through.
///
/// # Errors
///
/// When it cannot run.
pub(super) async fn run<R: Reconciler>(
    wiring: Wiring<R>,
    context: Arc<R::Context>,
    environment: Environment,
) -> Result<(), BoxError> {
    let Wiring {
        start,
        declaration,
        predicates,
        relations,
        function,
        cleanup,
        triggers,
        status,
    } = wiring;
    let informer =
        environment.informer::<R::Object>(&declaration.primary, start.kind(), Pruning::ManagedFields);
    let primaries = informer.store().with_overlay(&Overlay::new());
    let Assembly {
        controller,
        own_writes,
        book,
        census,
        stores,
        family,
        hooks,
        preparations,
        ..
    } = Assembly::connected(&environment, &declaration, &primaries, relations);
    let controller = triggers.into_iter().fold(controller, |controller, trigger| {
        controller.reconcile_on(trigger(Arc::clone(&context)))
    });
    let (client, kind) = (environment.client.clone(), start.kind().clone());
    primaries.counted(&census);
    let publisher = Publisher::new(client.clone(), &declaration.name, environment.origin).counted(&census);
    let controller = OwnTrigger::new(&declaration, predicates, hooks, &own_writes, &book)
        .connect(controller, &informer)
        .explained_by(book.clone(), own_writes.clone(), census);
    let observer = circles::telling(&environment, &declaration, &publisher, &primaries);
    let controller = within(controller, &declaration, &environment, observer);
    let inlet = Inlet::new(&controller.shared);
    let shared = Arc::new(Shared::<R> {
        context,
        primaries: primaries.clone(),
        kind: kind.clone(),
        manager: declaration.name.clone(),
        stores,
        family: Arc::new(family),
        publisher,
        own_writes: own_writes.clone(),
        client: client.clone(),
        origin: environment.origin,
    });
    let around = Arc::new(Around {
        requests: Requests::new(client, kind, declaration.name.clone()),
        function,
        cleanup: declaration.finalizer.clone().zip(cleanup),
        status,
        conditions: declaration.conditions,
        preparations,
    });
    let runs = Arc::new(Runs {
        around,
        shared,
        own_writes,
        book,
        inlet,
    });
    let controller = controller.after_interruption(runs.afterword());
    let reconcile = move |run| runs.reconcile(run);
    let results = controller.run_with(reconcile, |_run, error| policy(error));
    tell(&declaration.name, results).await
}

/// What the runs of one controller begin with.
struct Runs<R: Reconciler> {
    around: Arc<Around<R>>,
    shared: Arc<Shared<R>>,
    own_writes: OwnWrites<R::Object>,
    book: Book<R::Object>,
    inlet: Inlet<R::Object>,
}

impl<R: Reconciler> Runs<R> {
    fn begin(&self, run: runner::Run<R::Object>) -> (EchoWatch<R::Object>, Run<R>) {
        let key = key_of(&*run.object, &self.shared.kind);
        let watch = EchoWatch::begin(&self.own_writes, &self.book, &self.inlet, key);
        (
            watch,
            Run::new(run.object, run.failures, Arc::clone(&self.shared)),
        )
    }

    fn reconcile(
        &self,
        run: runner::Run<R::Object>,
    ) -> impl Future<Output = Result<Action, Failed>> + Send + 'static + use<R> {
        let (watch, run) = self.begin(run);
        let reconciling = Arc::clone(&self.around).run(run);
        async move {
            let _watch = watch;
            reconciling.await
        }
    }

    /// Says in the status that a run was interrupted.
    fn afterword(self: &Arc<Self>) -> Option<Afterword<R::Object>> {
        let runs = Arc::clone(self);
        self.around
            .conditions
            .then_some(Arc::new(move |run, interrupted| {
                let ((watch, run), around) = (runs.begin(run), Arc::clone(&runs.around));
                async move {
                    let _watch = watch;
                    around.interrupted(&run, interrupted).await;
                }
                .boxed()
            }))
    }
}

/// What was declared of the controller, and what the manager gives to each of its controllers.
fn within<K: Object>(
    controller: Controller<K>,
    declaration: &Declaration,
    environment: &Environment,
    observer: Arc<dyn Observer>,
) -> Controller<K> {
    let controller = match &environment.limit {
        Some(limit) => controller.share_limit(limit),
        None => controller,
    };
    controller
        .named(&declaration.name)
        .with_config(config(declaration, environment.origin))
        .observe(observer)
        .hold_until(environment.leading.clone())
        .graceful_shutdown_on(environment.shutdown.clone())
}

/// What follows a failure.
fn policy(error: &Failed) -> Action {
    match error.get().retry() {
        Retry::Backoff => Action::retry(),
        Retry::After(wait) => Action::retry_after(wait),
        Retry::Never => Action::give_up(),
    }
}

/// Logs what happens until the end.
async fn tell<K: Object>(
    controller: &str,
    results: impl Stream<Item = Result<(ObjectRef<K>, Action), Error<Failed>>>,
) -> Result<(), BoxError> {
    let mut results = std::pin::pin!(results);
    while let Some(result) = results.next().await {
        match result {
            Ok((object, action)) => tracing::debug!(controller, object.ref = %object, ?action, "reconciled"),
            Err(error @ Error::RunnerError(_)) => return Err(error.to_string().into()),
            Err(error @ Error::ObjectNotFound(_)) => tracing::debug!(controller, %error),
            // The runner has logged it.
            Err(Error::Interrupted(_)) => {}
            Err(error) => tracing::warn!(controller, %error, "a reconcile failed"),
        }
    }
    Ok(())
}

fn config(declaration: &Declaration, origin: Origin) -> Config {
    let ConfigDeclaration {
        debounce,
        concurrency,
        timeout,
        resync,
        hot_loop_cycles,
        hot_loop_max,
    } = declaration.config;
    let BackoffDeclaration {
        initial,
        max,
        factor,
        jitter,
    } = declaration.backoff;
    let backoff = crate::Backoff::default()
        .initial(initial)
        .max(max)
        .factor(factor)
        .jitter(jitter);
    let hot_loop = HotLoop::default().cycles(hot_loop_cycles).max_delay(hot_loop_max);
    let mut config = Config::default()
        .hot_loop(hot_loop)
        .debounce(debounce)
        .concurrency(concurrency)
        .backoff(backoff);
    if let Some(timeout) = timeout {
        config = config.timeout(timeout);
    }
    if let Some(resync) = resync {
        config = config.resync(resync);
    }
    if let Some(seed) = origin.seed(&declaration.name) {
        config = config.seed(seed);
    }
    config
}
