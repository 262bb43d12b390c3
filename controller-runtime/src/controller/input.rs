//! Where a controller's wishes come from.
//!
//! An input is started when its controller is first polled, in a task of its own, and aborted when the controller is
//! dropped. It puts wishes into the queue and never waits for the runner.

use std::{fmt, sync::Arc};

use futures::{
    FutureExt, Stream, StreamExt,
    future::{self, BoxFuture},
    pin_mut,
};
use kube::runtime::watcher;

use super::TriggerBackoff;
use crate::{
    object::Object,
    runner::{Inlet, Teller, guard},
    store::{Cache, Delta, NotReady},
    trigger::Request,
    watch::Informer,
};

/// After how many items an input that always has one lets others run.
const BUDGET: usize = 128;

type Start<K> = Box<dyn FnOnce(Inlet<K>, Teller<K>) -> BoxFuture<'static, ()> + Send>;
/// Asks whether a store is ready.
pub(crate) type Ready = Arc<dyn Fn() -> BoxFuture<'static, Result<(), NotReady>> + Send + Sync>;

/// One source of wishes.
pub(crate) struct Input<K: Object> {
    /// What it watches, for messages.
    pub(crate) kind: String,
    /// Asks whether its store is ready; `None` when it has none.
    pub(crate) ready: Option<Ready>,
    start: Start<K>,
}

impl<K: Object> Input<K> {
    /// What an informer tells, mapped to wishes. The informer is driven until the controller ends.
    pub(crate) fn informer<T: Object>(
        informer: &Informer<T>,
        mut map: impl FnMut(&Delta<T>, &Teller<K>) -> Vec<Request<K>> + Send + 'static,
    ) -> Self {
        let informer = informer.clone();
        let kind = T::kind(informer.store().dyntype()).into_owned();
        let store = informer.store();
        let name = kind.clone();
        Self {
            kind,
            ready: Some(Arc::new(move || Cache::ready(&store))),
            start: Box::new(move |inlet, teller| {
                for status in informer.status() {
                    teller.expect_source(&status);
                }
                let speaker = teller.clone();
                let subscription = informer.subscribe(move |delta| match guard(|| map(delta, &speaker)) {
                    Ok(requests) => {
                        speaker.deletions(&requests);
                        inlet.push_all(requests);
                    }
                    Err(message) => speaker.mapper_panicked(&name, &message),
                });
                let watch = future::join(informer.run(), tell_status(informer, teller));
                watch.map(move |_| drop(subscription)).boxed()
            }),
        }
    }

    /// What a stream yields, mapped to wishes.
    pub(crate) fn stream<S, T>(
        kind: String,
        stream: S,
        backoff: TriggerBackoff,
        map: impl Fn(T) -> Vec<Request<K>> + Send + 'static,
    ) -> Self
    where
        S: Stream<Item = Result<T, watcher::Error>> + Send + 'static,
        T: Send,
    {
        let name = kind.clone();
        Self {
            kind,
            ready: None,
            start: Box::new(move |inlet, teller| {
                async move {
                    pin_mut!(stream);
                    let mut budget = BUDGET;
                    while let Some(item) = stream.next().await {
                        match item {
                            Ok(item) => {
                                backoff.reset();
                                match guard(|| map(item)) {
                                    Ok(requests) => inlet.push_all(requests),
                                    Err(message) => teller.mapper_panicked(&name, &message),
                                }
                            }
                            Err(error) => {
                                inlet.source_failed(error);
                                let Some(wait) = backoff.next() else { return };
                                tokio::time::sleep(wait).await;
                            }
                        }
                        budget -= 1;
                        if budget == 0 {
                            budget = BUDGET;
                            tokio::task::yield_now().await;
                        }
                    }
                }
                .boxed()
            }),
        }
    }

    /// Subscribes at once, and gives the future that feeds the queue.
    pub(crate) fn start(self, inlet: Inlet<K>, teller: Teller<K>) -> BoxFuture<'static, ()> {
        (self.start)(inlet, teller)
    }
}

impl<K: Object> fmt::Debug for Input<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Tells the observer how the sources of an informer are doing.
async fn tell_status<T: Object, K: Object>(informer: Informer<T>, teller: Teller<K>) {
    let mut changes = informer.status_changes();
    changes.mark_changed();
    while changes.changed().await.is_ok() {
        let statuses = changes.borrow_and_update().clone();
        for status in &statuses {
            teller.source(status);
        }
    }
}

/// Resolves when every store is ready.
///
/// # Errors
///
/// When one never can be. One that is late is logged and waited for: a right that is granted later makes it ready.
pub(crate) async fn all_ready(stores: Vec<(String, Ready)>) -> Result<(), (String, NotReady)> {
    let each = stores.into_iter().map(|(kind, ready)| async move {
        loop {
            match ready().await {
                Ok(()) => return Ok(()),
                Err(error) if error.waited.is_none() => return Err((kind, error)),
                Err(error) => tracing::warn!(%kind, %error, "no reconcile before this store is ready"),
            }
        }
    });
    future::try_join_all(each).await.map(drop)
}
