//! What a runner starts when it is first polled: inputs, the wait for the stores, the wait for a shutdown.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use tokio::task::JoinHandle;

use super::{
    Teller, guard,
    shared::{Gate, Inlet, Shared},
};
use crate::{
    RunnerError,
    controller::{Input, Ready, all_ready},
    object::Object,
    shutdown::{self, Stage},
    store::Cache,
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
        let mut stores = vec![primary_store(cache, teller)];
        stores.extend(
            self.inputs
                .iter()
                .filter_map(|input| Some((input.kind.clone(), input.ready.clone()?))),
        );
        shared.lock().open_inputs = self.inputs.len();
        let mut tasks: Vec<_> = self
            .inputs
            .into_iter()
            .map(|input| feed(input, shared, teller))
            .collect();
        tasks.push(tokio::spawn(open_gate(
            stores,
            self.hold,
            Arc::clone(shared),
            teller.clone(),
        )));
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
fn feed<K: Object>(input: Input<K>, shared: &Arc<Shared<K>>, teller: &Teller<K>) -> JoinHandle<()> {
    let kind = input.kind.clone();
    let feeding = AssertUnwindSafe(input.start(Inlet::new(shared), teller.clone())).catch_unwind();
    let shared = Arc::clone(shared);
    tokio::spawn(feeding.map(move |end| {
        if let Err(payload) = end {
            let message = guard::message(payload.as_ref());
            tracing::error!(%kind, panic = %message, "a source of changes panicked: it tells nothing any more");
        }
        shared.update(|state| state.open_inputs -= 1);
    }))
}

/// Lets reconciles start when every store is ready and nothing holds them back.
async fn open_gate<K: Object>(
    stores: Vec<(String, Ready)>,
    hold: Option<BoxFuture<'static, ()>>,
    shared: Arc<Shared<K>>,
    teller: Teller<K>,
) {
    let gate = match all_ready(stores).await {
        Ok(()) => {
            teller.synced();
            if let Some(hold) = hold {
                hold.await;
            }
            Gate::Open
        }
        Err((kind, error)) => {
            tracing::error!(%kind, %error, "the controller cannot run");
            Gate::Broken(Some(RunnerError::StoreGone(kind)))
        }
    };
    shared.update(|state| state.gate = gate);
}
