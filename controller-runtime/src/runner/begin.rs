//! What a runner starts when it is first polled: inputs, the wait for the stores, the wait for a shutdown.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::{
    FutureExt,
    future::{self, BoxFuture, Either},
};
use tokio::task::JoinHandle;

use super::{
    Teller, guard,
    shared::{Gate, Inlet, Lives, Shared},
};
use crate::{
    RunnerError, clock,
    controller::{Input, Ready, all_ready},
    object::Object,
    shutdown::{self, Stage},
    store::{Cache, NotReady},
};

/// What waits for the first poll.
pub(crate) struct Before<K: Object> {
    pub(crate) inputs: Vec<Input<K>>,
    /// What begins each stage of the shutdown.
    pub(crate) stops: Vec<(Stage, BoxFuture<'static, ()>)>,
    pub(crate) stops_on_signal: bool,
    /// Reconciles begin only after this.
    pub(crate) hold: Option<BoxFuture<'static, ()>>,
}

impl<K: Object> Before<K> {
    /// Starts everything; the tasks end with the runner.
    pub(super) fn begin(
        self,
        shared: &Arc<Shared<K>>,
        cache: &Arc<dyn Cache<K>>,
        teller: &Teller<K>,
    ) -> Vec<JoinHandle<()>> {
        let primary = primary_store(cache, teller);
        let mut stores = vec![primary.clone()];
        stores.extend(
            self.inputs
                .iter()
                .filter_map(|input| Some((input.kind.clone(), input.ready.clone()?))),
        );
        shared.lock().open_inputs = self.inputs.len();
        // All are known before the first one tells anything: a kind is no better than the worst of its sources.
        let feeds: Vec<_> = self
            .inputs
            .into_iter()
            .map(|input| feed(input, shared, teller))
            .collect();
        let mut tasks: Vec<_> = feeds.into_iter().map(tokio::spawn).collect();
        let gate = Gatekeeper {
            shared: Arc::clone(shared),
            cache: Arc::clone(cache),
            teller: teller.clone(),
        };
        tasks.push(tokio::spawn(gate.open(primary, stores, self.hold)));
        for (stage, begins) in self.stops {
            let shared = Arc::clone(shared);
            tasks.push(tokio::spawn(begins.map(move |()| shared.stop(stage))));
        }
        if self.stops_on_signal {
            let shared = Arc::clone(shared);
            tasks.push(tokio::spawn(shutdown::on_signals(move |stage| {
                shared.stop(stage);
            })));
        }
        tasks
    }
}

fn primary_store<K: Object>(cache: &Arc<dyn Cache<K>>, teller: &Teller<K>) -> (String, Ready) {
    let cache = Arc::clone(cache);
    (teller.kind().to_owned(), Arc::new(move || cache.ready()))
}

/// Runs an input. What it told the queue stays when it ends.
fn feed<K: Object>(
    input: Input<K>,
    shared: &Arc<Shared<K>>,
    teller: &Teller<K>,
) -> impl Future<Output = ()> + Send + use<K> {
    let kind = input.kind.clone();
    let feeding = AssertUnwindSafe(input.start(Inlet::new(shared), teller.clone())).catch_unwind();
    let shared = Arc::clone(shared);
    feeding.map(move |end| {
        if let Err(payload) = end {
            let message = guard::message(payload.as_ref());
            tracing::error!(%kind, panic = %message, "a source of changes panicked: it tells nothing any more");
        }
        shared.update(|state| state.open_inputs -= 1);
    })
}

/// Lets reconciles start when every store is ready and nothing holds them back.
struct Gatekeeper<K: Object> {
    shared: Arc<Shared<K>>,
    cache: Arc<dyn Cache<K>>,
    teller: Teller<K>,
}

impl<K: Object> Gatekeeper<K> {
    async fn open(
        self,
        primary: (String, Ready),
        stores: Vec<(String, Ready)>,
        hold: Option<BoxFuture<'static, ()>>,
    ) {
        let gate = match self.all_ready(primary, stores).await {
            Ok(()) => {
                self.teller.synced();
                if let Some(hold) = hold {
                    self.shared.keep_what_lives(self.lives());
                    hold.await;
                }
                Gate::Open(clock::now())
            }
            Err((kind, error)) => {
                tracing::error!(%kind, %error, "the controller cannot run");
                Gate::Broken(Some(RunnerError::StoreGone(kind)))
            }
        };
        self.shared.update(|state| state.gate = gate);
    }

    /// Waits for every store. While the primary's is ready and another is not, only keys that live are kept.
    async fn all_ready(
        &self,
        primary: (String, Ready),
        stores: Vec<(String, Ready)>,
    ) -> Result<(), (String, NotReady)> {
        let all = Box::pin(all_ready(stores));
        let first = Box::pin(filled(primary));
        match future::select(all, first).await {
            Either::Left((ready, _)) => ready,
            Either::Right(((), all)) => {
                self.shared.keep_what_lives(self.lives());
                all.await
            }
        }
    }

    fn lives(&self) -> Lives {
        let (cache, book) = (Arc::clone(&self.cache), self.teller.book().clone());
        let kind = self.shared.kind.clone();
        Box::new(move |name| {
            let key = name.of_kind(&kind);
            let lives = cache.find_seat(&key).is_some();
            if !lives {
                book.missed(&key);
            }
            lives
        })
    }
}

/// Resolves when a store is ready, and never if it cannot be.
async fn filled((_, ready): (String, Ready)) {
    while let Err(error) = ready().await {
        if error.waited.is_none() {
            future::pending::<()>().await;
        }
    }
}
