//! The controllers of an operator at work: each in a task of its own, looked after until all have ended.

use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;

use super::{OperatorError, Stop, WhenEnded, candidate::Candidate};
use crate::{
    clock,
    declare::{Environment, Runnable},
    leader::Loss,
    manager::Board,
    metrics::Metrics,
    runner::guard,
};

/// Why a controller ended that gives no reason.
const UNASKED: &str = "though nobody asked it to";
/// A controller that has lived for so long was well: what ends it later is not the trouble of before.
const WELL: Duration = Duration::from_secs(600);

/// The controllers as tasks. Dropping it ends them.
pub(super) struct Running {
    /// Each gives its name, and why it ended.
    tasks: JoinSet<(String, Result<(), String>)>,
}

impl Running {
    pub(super) fn start(controllers: Vec<Box<dyn Runnable>>, care: &Care) -> Self {
        let mut tasks = JoinSet::new();
        for controller in controllers {
            tasks.spawn(care.clone().look_after(controller));
        }
        Self { tasks }
    }

    /// Waits until all controllers have ended, and gives the lease up when they have.
    pub(super) async fn until_stopped(
        mut self,
        board: &Board,
        stop: &Stop,
        mut candidate: Option<Candidate>,
    ) -> Result<(), OperatorError> {
        let mut result = self.wait(board, stop, candidate.as_mut()).await;
        let running = board.dropped();
        if result.is_ok() && !running.is_empty() {
            result = Err(OperatorError::Dropped { running });
        }
        // What was dropped may still have a request on its way; the lease of such a process has to expire.
        if let (Ok(()), Some(candidate)) = (&result, candidate) {
            candidate.release().await;
        }
        result
    }

    async fn wait(
        &mut self,
        board: &Board,
        stop: &Stop,
        mut candidate: Option<&mut Candidate>,
    ) -> Result<(), OperatorError> {
        let mut first = stop.first();
        let mut second = std::pin::pin!(stop.second());
        let mut limit = std::pin::pin!(tokio::time::sleep(Duration::MAX));
        let mut stopping = false;
        let mut failure = None;
        loop {
            tokio::select! {
                biased;
                () = &mut second => {
                    return Err(OperatorError::Dropped { running: board.running() });
                }
                () = &mut limit, if candidate.is_none() && failure.is_some() => {
                    let running = board.running();
                    if !running.is_empty() {
                        tracing::warn!(?running, "dropped at the end of the leadership");
                    }
                    return failure.map_or(Ok(()), Err);
                }
                (loss, drain) = lost(&mut candidate) => {
                    candidate = None;
                    limit.as_mut().reset(clock::now() + drain);
                    failure = Some(OperatorError::LeadershipLost(loss));
                    stop.begin();
                }
                () = &mut first, if !stopping => {
                    stopping = true;
                    board.stopping();
                }
                ended = self.tasks.join_next() => match ended {
                    None => return failure.map_or(Ok(()), Err),
                    Some(ended) => {
                        if let Some(error) = end_of(ended, stopping, board) {
                            // The others stop in good order; the first failure is the one that is told.
                            failure.get_or_insert(error);
                            stop.begin();
                        }
                    }
                },
            }
        }
    }
}

/// Resolves when the leadership is lost; never without an election.
async fn lost(candidate: &mut Option<&mut Candidate>) -> (Loss, Duration) {
    match candidate {
        Some(candidate) => candidate.lost().await,
        None => std::future::pending().await,
    }
}

/// What the end of one controller means: an error, unless it was asked to end and ended well.
fn end_of(
    ended: Result<(String, Result<(), String>), tokio::task::JoinError>,
    stopping: bool,
    board: &Board,
) -> Option<OperatorError> {
    let (name, result) = match ended {
        Ok(ended) => ended,
        Err(error) => (String::new(), Err(error.to_string())),
    };
    let message = match result {
        Ok(()) if stopping => return None,
        Ok(()) => UNASKED.to_owned(),
        Err(message) => message,
    };
    board.ended(&name, &message);
    Some(OperatorError::ControllerEnded { name, message })
}

/// What a controller needs to live, and who hears how it does.
#[derive(Clone)]
pub(super) struct Care {
    pub(super) environment: Environment,
    pub(super) when_ended: WhenEnded,
    pub(super) board: Board,
    pub(super) metrics: Metrics,
}

impl Care {
    /// Runs a controller, again and again if that was chosen, until it is asked to stop. Gives its name, and why it ended.
    async fn look_after(self, controller: Box<dyn Runnable>) -> (String, Result<(), String>) {
        let declaration = controller.declaration().clone();
        let name = declaration.name.clone();
        let mut rng = self.environment.origin.rng(&format!("restarts of {name}"));
        let mut failures = 0;
        loop {
            let began = clock::now();
            let result = once(&*controller, &self.environment).await;
            let WhenEnded::Restart(backoff) = &self.when_ended else {
                return (name, result);
            };
            if self.environment.shutdown.clone().now_or_never().is_some() {
                return (name, result);
            }
            let message = result.err().unwrap_or_else(|| UNASKED.to_owned());
            failures = if began.elapsed() >= WELL { 1 } else { failures + 1 };
            let pause = backoff.delay(failures, rng.f64());
            tracing::error!(controller = %name, error = %message, restart_in = ?pause, "a controller ended");
            self.board.ended(&name, &message);
            tokio::select! {
                biased;
                () = self.environment.shutdown.clone() => return (name, Ok(())),
                () = tokio::time::sleep(pause) => {}
            }
            self.board.restarted(&declaration, &self.environment.namespaces);
            self.metrics.restarted(&name);
        }
    }
}

/// One life of a controller. A panic outside of any reconcile is its end, and is told like one.
fn once(
    controller: &dyn Runnable,
    environment: &Environment,
) -> impl Future<Output = Result<(), String>> + Send + use<> {
    let life = guard(|| controller.run(environment.clone()));
    async move {
        match std::panic::AssertUnwindSafe(life?).catch_unwind().await {
            Ok(result) => result.map_err(|error| crate::error_text::chain(&*error)),
            Err(_) => Err("it panicked; the message stands above".to_owned()),
        }
    }
}
