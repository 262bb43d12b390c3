//! Rest: when nothing moves any more until time passes.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Inner, Server};

/// How many turns of the runtime everything has to stay as it is.
const QUIET_TURNS: u32 = 64;

/// How many turns are waited for rest.
const TURNS: u32 = 200_000;

/// Asked whether something outside the server is busy.
type Probe = Box<dyn Fn() -> bool + Send + Sync>;

/// What else must be quiet.
#[derive(Default)]
pub(crate) struct Probes(Mutex<Vec<(u64, String, Arc<Probe>)>>);

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probes")
    }
}

impl Probes {
    fn busy(&self) -> Vec<String> {
        let probes: Vec<_> = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|(_, name, probe)| (name.clone(), Arc::clone(probe)))
            .collect();
        probes
            .into_iter()
            .filter(|(_, probe)| probe())
            .map(|(name, _)| name)
            .collect()
    }
}

/// A probe is asked while this lives.
#[derive(Debug)]
pub struct ProbeGuard {
    id: u64,
    server: Arc<Inner>,
}

impl Drop for ProbeGuard {
    fn drop(&mut self) {
        self.server
            .probes
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(id, _, _)| *id != self.id);
    }
}

/// Something did not come to rest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not at rest after {turns} turns; still moving: {}", moving.join("; "))]
pub struct SettleError {
    /// How long it was waited.
    turns: u32,
    /// What still moved at the end.
    moving: Vec<String>,
}

impl SettleError {
    /// What still moved at the end.
    pub fn moving(&self) -> &[String] {
        &self.moving
    }
}

impl Server {
    /// Waits until nothing moves any more: no request is under way, every watch has delivered all
    /// there is, the controllers inside have nothing to do, every probe is quiet, and all that for
    /// some turns of the runtime. What waits for time does not count, and time does not pass (on a
    /// paused clock).
    ///
    /// # Errors
    ///
    /// Something does not come to rest; the error tells what.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// # use controller_apiserver::Server;
    /// let server = Server::new();
    /// server.settle().await.unwrap();
    /// # }
    /// ```
    pub async fn settle(&self) -> Result<(), SettleError> {
        let mut quiet = 0;
        let mut sequence = None;
        let mut moving = Vec::new();
        for _ in 0..TURNS {
            moving = self.moving();
            let now = (self.inner.log().sequence(), self.revision());
            if moving.is_empty() && sequence == Some(now) {
                quiet += 1;
                if quiet == QUIET_TURNS {
                    return Ok(());
                }
            } else {
                quiet = 0;
            }
            sequence = Some(now);
            // Garbage collection and its like have a latency; whoever waits for rest does not.
            self.inner.run_controllers();
            tokio::task::yield_now().await;
        }
        if moving.is_empty() {
            moving.push("requests keep coming".to_owned());
        }
        Err(SettleError { turns: TURNS, moving })
    }

    fn moving(&self) -> Vec<String> {
        let mut moving = self.inner.flights.moving();
        {
            let state = self.inner.state();
            moving.extend(self.inner.watches.behind(&state.store));
            if !state.work.is_empty() {
                moving.push("controllers of the server".to_owned());
            }
        }
        moving.extend(self.inner.probes.busy());
        moving
    }

    /// Lets time pass in the order in which things are due: settles, waits, and settles again.
    ///
    /// On a paused clock that takes no time, and every timer in between fires at its own moment.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub async fn advance(&self, by: Duration) -> Result<(), SettleError> {
        self.settle().await?;
        tokio::time::sleep(by).await;
        self.settle().await
    }

    /// Adds something that must be quiet for [`settle`](Self::settle): a queue with ready keys, a
    /// task that works. `busy` is asked often, and must not wait.
    pub fn on_settle(
        &self,
        name: impl Into<String>,
        busy: impl Fn() -> bool + Send + Sync + 'static,
    ) -> ProbeGuard {
        let mut probes = self.inner.probes.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = probes.last().map_or(0, |(id, _, _)| id + 1);
        probes.push((id, name.into(), Arc::new(Box::new(busy))));
        ProbeGuard {
            id,
            server: Arc::clone(&self.inner),
        }
    }
}
