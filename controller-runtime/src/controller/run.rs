//! From a builder to a running controller.

use std::sync::Arc;

use futures::{Stream, TryFuture, TryFutureExt, stream};
use kube::runtime::watcher;

use super::Controller;
use crate::{
    Action, Error,
    explain::{Explainer, Reader},
    object::{Object, ObjectRef},
    runner::{Before, Item, Parts, Run, Runner, Teller},
};

impl<K: Object> Controller<K> {
    /// Runs the controller: the stream yields the result of every reconcile.
    ///
    /// Everything happens while the stream is polled, so that `reconciler` and `error_policy` may borrow; only the
    /// reconciles themselves and the watches are tasks. A consumer that is slow to poll delays the start of
    /// reconciles, but no watch. The stream ends when a shutdown is through.
    ///
    /// `error_policy` is asked after each error: [`backoff()`](crate::backoff()) leaves it to the controller's
    /// [`Backoff`](crate::Backoff); an [`Action`] is followed as it is.
    ///
    /// # Panics
    ///
    /// When polled outside of a tokio runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the stream aborts running reconciles at their next await.
    pub fn run<ReconcilerFut, Ctx>(
        self,
        mut reconciler: impl FnMut(Arc<K>, Arc<Ctx>) -> ReconcilerFut,
        error_policy: impl Fn(Arc<K>, &ReconcilerFut::Error, Arc<Ctx>) -> Action,
        context: Arc<Ctx>,
    ) -> impl Stream<Item = Result<(ObjectRef<K>, Action), Error<ReconcilerFut::Error, watcher::Error>>>
    where
        ReconcilerFut: TryFuture<Ok = Action> + Send + 'static,
        ReconcilerFut::Error: std::error::Error + Send + 'static,
    {
        let policy_context = Arc::clone(&context);
        self.run_with(
            move |run| TryFutureExt::into_future(reconciler(run.object, Arc::clone(&context))),
            move |run: &Run<K>, error: &_| {
                error_policy(Arc::clone(&run.object), error, Arc::clone(&policy_context))
            },
        )
    }

    /// Like [`run`](Self::run), for a reconciler that is told more than the object.
    pub(crate) fn run_with<Fut, E>(
        mut self,
        reconcile: impl FnMut(Run<K>) -> Fut,
        policy: impl FnMut(&Run<K>, &E) -> Action,
    ) -> impl Stream<Item = Item<K, E>>
    where
        Fut: Future<Output = Result<Action, E>> + Send + 'static,
        E: std::error::Error + Send + 'static,
    {
        let teller = Teller::new(&self.name, &self.dyntype, self.observer.take(), self.book.clone());
        teller.queue(&self.gauge());
        teller.explainer(&Explainer::new(Reader {
            shared: Arc::clone(&self.shared),
            cache: Arc::clone(&self.cache),
            dyntype: self.dyntype.clone(),
            book: self.book,
            own_writes: self.own_writes,
            census: self.census,
        }));
        let mut runner = Runner::new(Parts {
            shared: self.shared,
            cache: self.cache,
            before: Before {
                inputs: self.inputs,
                stops: self.stops,
                stops_on_signal: self.stops_on_signal,
                hold: self.hold,
            },
            config: self.config,
            limit: self.limit,
            afterword: self.afterword,
            teller,
            reconcile,
            policy,
        });
        stream::poll_fn(move |cx| runner.poll_next(cx))
    }
}
