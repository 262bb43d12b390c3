//! The informer: drives the list/watch cores of its sources, fills one store, tells its changes.

use std::{collections::BTreeSet, fmt, sync::Arc};

use kube::{Api, Client};
use tokio::sync::watch;

use super::{Config, Source, SourceStatus, source::Driver, transport::Endpoint};
use crate::{
    clock,
    object::Object,
    store::{Delta, Readiness, Reflector, Store, Subscription},
};

/// Keeps a [`Store`] equal to what a server holds, and tells every change.
///
/// A cheap handle: clones share one store and one watch. Nothing happens until [`run`](Self::run) is polled.
///
/// # Promises
///
/// - Subscribers hear every change once and in order; applied one after the other, the deltas give the store.
/// - A source that fails is tried again for ever, on its own backoff; [`status`](Self::status) says why.
/// - An object that cannot be decoded is reported, keeps its old copy, and hides no other object.
pub struct Informer<T: Object> {
    inner: Arc<Inner<T>>,
}

struct Inner<T: Object> {
    reflector: Reflector<T>,
    endpoints: Vec<Endpoint>,
    status: watch::Sender<Vec<SourceStatus>>,
    /// Held by the future that drives the informer: there is one at a time.
    driver: tokio::sync::Mutex<()>,
    config: Config,
}

impl<T: Object> Informer<T> {
    /// Watches what `api` points to.
    pub fn new(api: Api<T>, config: impl Into<Config>) -> Self
    where
        T::DynamicType: Default,
    {
        Self::new_with(api, config, T::DynamicType::default())
    }

    /// Watches what `api` points to, of a kind known at run time.
    pub fn new_with(api: Api<T>, config: impl Into<Config>, dyntype: T::DynamicType) -> Self {
        let source = (
            api.resource_url().to_owned(),
            Source::new::<T>(&dyntype, api.namespace()),
        );
        Self::assemble(&api.into_client(), vec![source], config.into(), dyntype)
    }

    /// Watches several namespaces into one store, each on its own clock. Without any, the whole cluster.
    pub fn in_namespaces<'a>(
        client: &Client,
        namespaces: impl IntoIterator<Item = &'a str>,
        config: impl Into<Config>,
        dyntype: T::DynamicType,
    ) -> Self {
        let config = config.into();
        let source = |namespace: Option<&str>| {
            let url = T::url_path(&dyntype, namespace);
            (url, Source::new::<T>(&dyntype, namespace))
        };
        // Two sources of one namespace would remove what the other has listed.
        let namespaces: BTreeSet<_> = namespaces.into_iter().collect();
        let mut sources: Vec<_> = namespaces
            .into_iter()
            .map(|namespace| source(Some(namespace)))
            .collect();
        if sources.is_empty() {
            sources.push(source(None));
        }
        Self::assemble(client, sources, config, dyntype)
    }

    fn assemble(
        client: &Client,
        sources: Vec<(String, Source)>,
        config: Config,
        dyntype: T::DynamicType,
    ) -> Self {
        let now = clock::now();
        let (urls, sources): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        let endpoints = urls
            .into_iter()
            .map(|url| Endpoint {
                client: client.clone(),
                url,
                metadata_only: T::metadata_api(),
                config: config.clone(),
            })
            .collect();
        let namespaces: Vec<_> = sources.iter().map(|source| source.namespace.clone()).collect();
        let statuses = sources
            .into_iter()
            .map(|source| SourceStatus::idle(source, now))
            .collect();
        Self {
            inner: Arc::new(Inner {
                reflector: Reflector::over(dyntype, namespaces),
                endpoints,
                status: watch::Sender::new(statuses),
                driver: tokio::sync::Mutex::new(()),
                config,
            }),
        }
    }

    /// What is watched, readable.
    pub fn store(&self) -> Store<T> {
        let inner = &self.inner;
        let readiness = Readiness::of(inner.status.subscribe(), inner.config.ready_limit);
        Store::new(&inner.reflector, readiness)
    }

    /// How each source is doing: one for each namespace, or one for all.
    pub fn status(&self) -> Vec<SourceStatus> {
        self.inner.status.borrow().clone()
    }

    /// Tells when a source begins to fail, recovers, or is in sync.
    pub fn status_changes(&self) -> watch::Receiver<Vec<SourceStatus>> {
        self.inner.status.subscribe()
    }

    /// Calls `handler` with the objects that are there, as `Initial`, and then with every later change, in order.
    ///
    /// Handlers run inline: they must not block, nor subscribe to this informer; reading stores is fine. A
    /// panic ends that call only, and is logged.
    pub fn subscribe(&self, handler: impl FnMut(&Delta<T>) + Send + 'static) -> Subscription {
        self.inner.reflector.subscribe(handler)
    }

    /// Drives the informer until the future is dropped; it never ends by itself.
    ///
    /// One future drives at a time. Another one waits, and takes over when the first is dropped.
    ///
    /// # Cancel safety
    ///
    /// Dropping it closes the watches. The store stays as it is, and a later `run` lists again.
    pub fn run(&self) -> impl Future<Output = ()> + Send + 'static + use<T> {
        let inner = Arc::clone(&self.inner);
        async move {
            let _driver = inner.driver.lock().await;
            let drivers =
                inner.endpoints.iter().enumerate().map(|(index, endpoint)| {
                    Driver::new(&inner.reflector, endpoint, &inner.status, index).run()
                });
            futures::future::join_all(drivers).await;
        }
    }
}

impl<T: Object> Clone for Informer<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<T: Object> fmt::Debug for Informer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer")
            .field("store", &self.inner.reflector)
            .field("sources", &*self.inner.status.borrow())
            .finish()
    }
}
