//! The wish to stop, in two stages.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, Shared};
use tokio::sync::watch;

/// Asks an operator to stop. Clones ask the same one.
///
/// The first call of [`Stop::now`] lets running reconciles finish, the second drops them.
#[derive(Clone, Debug)]
pub struct Stop {
    stage: Arc<watch::Sender<u8>>,
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

impl Stop {
    /// Nobody has asked yet.
    pub fn new() -> Self {
        Self {
            stage: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Asks once more.
    pub fn now(&self) {
        self.stage.send_modify(|stage| *stage = stage.saturating_add(1));
    }

    /// Asks, unless someone has.
    pub(super) fn begin(&self) {
        self.stage.send_if_modified(|stage| {
            let new = *stage == 0;
            *stage = (*stage).max(1);
            new
        });
    }

    /// Resolves when someone has asked once.
    pub(super) fn first(&self) -> Shared<BoxFuture<'static, ()>> {
        self.reached(1).boxed().shared()
    }

    /// Resolves when someone has asked twice.
    pub(super) fn second(&self) -> impl Future<Output = ()> + Send + 'static {
        self.reached(2)
    }

    fn reached(&self, wanted: u8) -> impl Future<Output = ()> + Send + 'static {
        let mut stage = self.stage.subscribe();
        async move {
            if stage.wait_for(|stage| *stage >= wanted).await.is_err() {
                // Whoever could have asked is gone, and so nobody ever will.
                std::future::pending::<()>().await;
            }
        }
    }
}
