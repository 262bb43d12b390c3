//! The builder: what is reconciled, what wakes it, and with which numbers.
//!
//! [`Controller`] takes the calls of `kube::runtime::Controller`, so that an existing controller moves over by its `use`
//! line; those names are in one file, as one-line calls of the few methods that carry the logic. What is promised
//! about deletions and readiness holds for the controller's own informers; a stream handed in from outside tells neither.

mod input;
mod maps;
mod names;
mod reader;
mod run;
mod shared_stream;
#[cfg(test)]
mod tests;
mod trigger_backoff;

use std::{fmt, sync::Arc};

use futures::{FutureExt, Stream, future::BoxFuture};
use kube::runtime::watcher;

pub(crate) use input::{Input, Ready, all_ready};
pub use reader::Reader;
use trigger_backoff::TriggerBackoff;

use crate::{
    Config,
    echo::OwnWrites,
    explain::{self, Book, Fate, PRIMARY, Via},
    memory::Census,
    object::Object,
    runner::{Afterword, Gauge, Limit, Observer, Shared, Teller},
    shutdown::Stage,
    store::{Cache, Delta},
    trigger::{self, Predicate, Request},
    watch::Informer,
};

/// Reconciles the objects of one kind.
///
/// ```no_run
/// use std::sync::Arc;
/// use controller_runtime::{Action, Controller, backoff};
/// use futures::StreamExt;
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use kube::{Api, Client};
///
/// async fn reconcile(deployment: Arc<Deployment>, client: Arc<Client>) -> Result<Action, kube::Error> {
///     // … make the world as the object says …
///     Ok(Action::await_change())
/// }
///
/// # async fn example(client: Client) {
/// Controller::new(Api::<Deployment>::all(client.clone()), Default::default())
///     .owns(Api::<ConfigMap>::all(client.clone()), Default::default())
///     .shutdown_on_signal()
///     .run(reconcile, backoff(), Arc::new(client))
///     .for_each(|result| async move {
///         if let Err(error) = result {
///             eprintln!("{error}");
///         }
///     })
///     .await;
/// # }
/// ```
#[must_use = "a controller does nothing until the stream of its `run` is polled"]
pub struct Controller<K: Object> {
    name: String,
    dyntype: K::DynamicType,
    cache: Arc<dyn Cache<K>>,
    inputs: Vec<Input<K>>,
    config: Config,
    limit: Option<Limit>,
    afterword: Option<Afterword<K>>,
    backoff: TriggerBackoff,
    /// What begins each stage of the shutdown.
    stops: Vec<(Stage, BoxFuture<'static, ()>)>,
    stops_on_signal: bool,
    hold: Option<BoxFuture<'static, ()>>,
    observer: Option<Arc<dyn Observer>>,
    book: Book<K>,
    own_writes: Option<OwnWrites<K>>,
    census: Census,
    pub(crate) shared: Arc<Shared<K>>,
}

impl<K: Object> Controller<K> {
    /// Reconciles what is in `cache`, woken by nothing yet.
    pub(crate) fn over(cache: Arc<dyn Cache<K>>, dyntype: K::DynamicType) -> Self {
        Self {
            name: K::kind(&dyntype).to_lowercase(),
            cache,
            inputs: Vec::new(),
            config: Config::default(),
            limit: None,
            afterword: None,
            backoff: TriggerBackoff::default(),
            stops: Vec::new(),
            stops_on_signal: false,
            hold: None,
            observer: None,
            book: Book::new(),
            own_writes: None,
            census: Census::default(),
            shared: Arc::new(Shared::new(dyntype.clone())),
            dyntype,
        }
    }

    /// Reconciles the objects of an informer, woken by their changes that pass `predicate`.
    ///
    /// The informer may be shared with other controllers; it is driven as long as one of them runs.
    pub fn for_informer(informer: &Informer<K>, predicate: Predicate<K>) -> Self {
        let store = informer.store();
        let dyntype = store.dyntype().clone();
        let via = Via::new(PRIMARY, &K::kind(&dyntype), &[], explain::of_metadata::<K>);
        let controller = Self::over(Arc::new(store), dyntype);
        let book = controller.book.clone();
        controller.connected(informer, move |delta, teller| {
            let change = book.heard(&via, delta);
            if teller.lets_pass(&predicate, delta) {
                book.note(&delta.key, change.as_ref(), Fate::Woke);
                vec![trigger::own(delta)]
            } else {
                book.note(&delta.key, change.as_ref(), Fate::Dropped);
                Vec::new()
            }
        })
    }

    /// Is woken by changes of another kind: `map` says which primaries a change is for.
    ///
    /// The informer may be shared. Nothing is reconciled before its store is ready. `map` sees the object before and
    /// after the change; [`trigger::owner`] and [`trigger::mapped`] are the usual ones.
    pub fn related<T: Object>(
        self,
        informer: &Informer<T>,
        map: impl FnMut(&Delta<T>) -> Vec<Request<K>> + Send + 'static,
    ) -> Self {
        self.related_by("watches", informer, map)
    }

    /// Like [`related`](Self::related), told by this word.
    pub(crate) fn related_by<T: Object>(
        self,
        word: &'static str,
        informer: &Informer<T>,
        mut map: impl FnMut(&Delta<T>) -> Vec<Request<K>> + Send + 'static,
    ) -> Self {
        let kind = T::kind(informer.store().dyntype()).into_owned();
        let via = Via::new(word, &kind, &[], explain::of_metadata::<T>);
        let book = self.book.clone();
        self.connected(informer, move |delta, _| {
            let requests = map(delta);
            if !requests.is_empty() {
                let change = book.heard(&via, delta);
                for request in &requests {
                    book.note(&request.key, change.as_ref(), Fate::Woke);
                }
            }
            requests
        })
    }

    /// Is woken as `map` says, which writes its own book.
    pub(crate) fn connected<T: Object>(
        self,
        informer: &Informer<T>,
        map: impl FnMut(&Delta<T>, &Teller<K>) -> Vec<Request<K>> + Send + 'static,
    ) -> Self {
        self.input(Input::informer(informer, map))
    }

    /// The book that its triggers write, the record of its own writes, and what else it keeps.
    pub(crate) fn explained_by(mut self, book: Book<K>, own_writes: OwnWrites<K>, census: Census) -> Self {
        self.book = book;
        self.own_writes = Some(own_writes);
        self.census = census;
        self
    }

    /// Is woken by the items of a stream; `map` says which primaries an item is for.
    pub(crate) fn stream<T: Send>(
        self,
        kind: String,
        stream: impl Stream<Item = Result<T, watcher::Error>> + Send + 'static,
        map: impl Fn(T) -> Vec<Request<K>> + Send + 'static,
    ) -> Self {
        let backoff = self.backoff.clone();
        self.input(Input::stream(kind, stream, backoff, map))
    }

    fn input(mut self, input: Input<K>) -> Self {
        self.inputs.push(input);
        self
    }

    /// Names the controller in logs, metrics and the status endpoint. By default it is the kind in lower case.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Tells `observer` what the controller does.
    pub fn observe(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Reads how full the queue is, now and while the controller runs.
    pub fn gauge(&self) -> Gauge {
        Gauge::new(Arc::clone(&self.shared) as _)
    }

    /// Reconciles nothing before `begin` resolves, such as this process becoming the leader.
    ///
    /// Watches run meanwhile, so that a standby takes over with warm caches.
    pub fn hold_until(mut self, begin: impl Future<Output = ()> + Send + 'static) -> Self {
        self.hold = Some(begin.boxed());
        self
    }

    /// What is done after a run that panicked or took too long.
    pub(crate) fn after_interruption(mut self, afterword: Option<Afterword<K>>) -> Self {
        self.afterword = afterword;
        self
    }

    /// Counts its reconciles into `limit` too, which other controllers share.
    pub fn share_limit(mut self, limit: &Limit) -> Self {
        self.limit = Some(limit.clone());
        self
    }

    /// Drops what runs when `trigger` resolves: the second stage of a shutdown.
    pub fn forceful_shutdown_on(mut self, trigger: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stops.push((Stage::Stopped, trigger.boxed()));
        self
    }
}

impl<K: Object> fmt::Debug for Controller<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("inputs", &self.inputs)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
