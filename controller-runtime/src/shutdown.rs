//! Shutdown in two stages: first finish, then stop.
//!
//! At the first signal nothing new is started and what runs may finish, within a limit. At the second, or at the limit,
//! what still runs is dropped.

/// How far a shutdown is. It only goes forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// No shutdown.
    #[default]
    Running,
    /// Nothing new is started; what runs may finish.
    Draining,
    /// What runs is dropped.
    Stopped,
}

/// Calls `advance` with the next stage at each SIGINT or SIGTERM.
pub(crate) async fn on_signals(advance: impl Fn(Stage)) {
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::error!(%error, "cannot listen for signals: only a kill will stop this process");
            return;
        }
    };
    signals.next().await;
    tracing::info!("shutting down: running reconciles may finish; signal again to stop at once");
    advance(Stage::Draining);
    signals.next().await;
    tracing::info!("stopping at once");
    advance(Stage::Stopped);
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
