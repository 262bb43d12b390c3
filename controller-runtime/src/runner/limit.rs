//! How many reconciles of several controllers run at once, together.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures::{FutureExt, future::BoxFuture};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// How many reconciles run at once in all controllers that share it. Cheap to clone; clones are one limit.
///
/// Controllers that wait for it take turns, so that none with many objects keeps another from running.
///
/// ```
/// use controller_runtime::{Controller, runner::Limit};
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube::{Api, Client};
///
/// # async fn example(client: Client) {
/// let limit = Limit::new(32);
/// let maps = Controller::new(Api::<ConfigMap>::all(client.clone()), Default::default()).share_limit(&limit);
/// let secrets = Controller::new(Api::<Secret>::all(client), Default::default()).share_limit(&limit);
/// # }
/// ```
#[derive(Clone)]
pub struct Limit(Arc<Semaphore>);

impl Limit {
    /// At most so many reconciles at once; one at least.
    pub fn new(reconciles: u16) -> Self {
        Self(Arc::new(Semaphore::new(usize::from(reconciles.max(1)))))
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit")
            .field("free", &self.0.available_permits())
            .finish_non_exhaustive()
    }
}

/// Lets one reconcile run; dropped when that has ended.
#[derive(Debug)]
pub(super) struct Permit {
    _permit: Option<OwnedSemaphorePermit>,
}

/// A controller's place among those that share a limit.
pub(super) struct Permits {
    limit: Limit,
    waiting: Option<BoxFuture<'static, Result<OwnedSemaphorePermit, AcquireError>>>,
}

impl Permits {
    pub(super) fn of(limit: Limit) -> Self {
        Self { limit, waiting: None }
    }

    /// Takes `wanted` permits, or as many as there are; then the task is woken when there is another.
    pub(super) fn take(&mut self, wanted: usize, cx: &mut Context<'_>) -> Vec<Permit> {
        let mut taken = Vec::new();
        while taken.len() < wanted {
            match self.poll(cx) {
                Poll::Ready(permit) => taken.push(permit),
                Poll::Pending => return taken,
            }
        }
        self.leave();
        taken
    }

    /// Wants no more, and stands in nobody's way.
    pub(super) fn leave(&mut self) {
        self.waiting = None;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Permit> {
        let semaphore = &self.limit.0;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Arc::clone(semaphore).acquire_owned().boxed());
        let permit = ready!(waiting.poll_unpin(cx));
        self.waiting = None;
        // Nobody closes the semaphore, so there is always a permit in it.
        Poll::Ready(Permit { _permit: permit.ok() })
    }
}
