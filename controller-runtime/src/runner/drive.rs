//! The loop of the runner: take reports, give keys out, hand results on.
//!
//! A turn costs what it moves and nothing for keys that wait or run: each reconcile is a task that wakes the runner
//! once, when it ends. User code is called outside of the queue's lock and inside a guard.

use std::{
    error::Error as StdError,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::FutureExt;
use kube::runtime::watcher;
use tokio::{task::JoinHandle, time::Sleep};

use super::{
    begin::Before,
    judge::Judged,
    life::Phase,
    outbox::Outbox,
    shared::{Gate, Shared},
    task::{Port, Report},
    tell::Teller,
};
use crate::{
    Action, Config, Error,
    clock::{self, Instant},
    object::{Object, ObjectRef},
    queue::Settings,
    shutdown::Stage,
    store::Cache,
};

/// How many reports one turn takes at most; then others get the thread.
const BUDGET: usize = 1024;
/// A timer sleeps no longer than this, so that no due is too far for the clock's wheel.
const LONGEST_SLEEP: Duration = Duration::from_secs(60 * 60);

/// What a controller's stream yields.
pub(crate) type Item<K, E> = Result<(ObjectRef<K>, Action), Error<E, watcher::Error>>;

/// One run of the reconciler, as it is handed to it.
#[derive(Clone, Debug)]
pub(crate) struct Run<K> {
    /// The object, as the store has it at the start.
    pub(crate) object: Arc<K>,
    /// Failures in a row before this run.
    // Read by the extractor `Attempt`.
    #[allow(dead_code)]
    pub(crate) failures: u32,
    /// The number of this run in its controller, from 1.
    pub(crate) id: u64,
}

/// What the runner knows of a running key.
pub(super) struct Running<K: Object> {
    pub(super) run: Run<K>,
    pub(super) key: Arc<ObjectRef<K>>,
    pub(super) started: Instant,
    pub(super) task: JoinHandle<()>,
}

/// Everything a runner is made of.
pub(crate) struct Parts<K: Object, R, P> {
    pub(crate) shared: Arc<Shared<K>>,
    pub(crate) cache: Arc<dyn Cache<K>>,
    pub(crate) before: Before<K>,
    pub(crate) config: Config,
    pub(crate) teller: Teller<K>,
    pub(crate) reconcile: R,
    pub(crate) policy: P,
}

pub(crate) struct Runner<K: Object, R, P, E: StdError + 'static> {
    pub(super) shared: Arc<Shared<K>>,
    pub(super) cache: Arc<dyn Cache<K>>,
    pub(super) config: Config,
    pub(super) teller: Teller<K>,
    pub(super) reconcile: R,
    pub(super) policy: P,
    pub(super) port: Arc<Port<K, E>>,
    /// What is still to be started.
    pub(super) before: Option<Before<K>>,
    /// Tasks that feed the queue or watch for a shutdown; aborted with the runner.
    pub(super) pumps: Vec<JoinHandle<()>>,
    /// Running keys by the number of their slot.
    pub(super) running: Vec<Option<Running<K>>>,
    /// Reports that were taken and wait for their turn.
    pub(super) reports: Vec<Report<E>>,
    pub(super) outbox: Outbox<Item<K, E>>,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
    pub(super) rng: fastrand::Rng,
    pub(super) runs: u64,
    pub(super) phase: Phase,
    pub(super) settled: bool,
}

impl<K, R, P, E, Fut> Runner<K, R, P, E>
where
    K: Object,
    R: FnMut(Run<K>) -> Fut,
    P: FnMut(&Run<K>, &E) -> Action,
    E: StdError + Send + 'static,
    Fut: Future<Output = Result<Action, E>> + Send + 'static,
{
    pub(crate) fn new(parts: Parts<K, R, P>) -> Self {
        parts.shared.lock().queue.configure(Settings {
            debounce: parts.config.debounce,
            resync: parts.config.resync,
            backoff: parts.config.backoff.clone(),
        });
        Self {
            port: Arc::new(Port::new(Arc::clone(&parts.shared))),
            rng: clock::rng(parts.config.seed),
            shared: parts.shared,
            cache: parts.cache,
            config: parts.config,
            teller: parts.teller,
            reconcile: parts.reconcile,
            policy: parts.policy,
            before: Some(parts.before),
            pumps: Vec::new(),
            running: Vec::new(),
            reports: Vec::new(),
            outbox: Outbox::new(),
            timer: None,
            runs: 0,
            phase: Phase::New,
            settled: false,
        }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Item<K, E>>> {
        self.shared.waker.register(cx.waker());
        let now = clock::now();
        if self.phase == Phase::New {
            self.begin();
        }
        if self.phase != Phase::Over && self.outbox.wants_more(now) {
            self.turn(now, cx);
        }
        match self.outbox.pop() {
            Some(result) => Poll::Ready(Some(result)),
            None if self.phase == Phase::Over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Starts the inputs, the wait for the stores, and the wait for a shutdown.
    fn begin(&mut self) {
        self.phase = Phase::Running;
        if let Some(before) = self.before.take() {
            self.pumps = before.begin(&self.shared, &self.cache, &self.teller);
        }
    }

    fn turn(&mut self, now: Instant, cx: &mut Context<'_>) {
        let more_reports = self.take_reports();
        let stage = self.look_around(now);
        if self.phase == Phase::Running && stage >= Stage::Draining {
            self.teller.stopping();
            self.phase = Phase::Draining {
                until: now + self.config.grace,
            };
        }
        let more_keys = self.phase == Phase::Running && self.give_out(now);
        if more_reports || more_keys {
            cx.waker().wake_by_ref();
        }
        self.finish_up(stage, now);
        self.set_timer(now, cx);
    }

    /// Handles reports, within the budget; tells whether some are left.
    fn take_reports(&mut self) -> bool {
        if self.reports.is_empty() {
            self.port.take(&mut self.reports);
        }
        let from = self.reports.len().saturating_sub(BUDGET);
        let mut reports = std::mem::take(&mut self.reports);
        for report in reports.drain(from..) {
            self.take_report(report);
        }
        self.reports = reports;
        !self.reports.is_empty()
    }

    fn take_report(&mut self, report: Report<E>) {
        let Some(running) = self.running.get_mut(report.slot.index()).and_then(Option::take) else {
            return;
        };
        let (outcome, ended) = self.judge(&running.run, report.ended);
        let uid = running.run.object.meta().uid.as_deref();
        let next = self
            .shared
            .lock()
            .queue
            .finish(report.slot, uid, outcome, report.at);
        let took = report.at - running.started;
        self.teller
            .finished(running.run.id, &running.key, &ended, took, next, report.at);
        let key = || Box::new((*running.key).clone().erase());
        self.outbox.push(match ended {
            Judged::Succeeded(action) => Ok(((*running.key).clone(), action)),
            Judged::Failed(error) | Judged::GaveUp(error) => Err(Error::ReconcilerFailed(error, key())),
            Judged::Panicked(message) => Err(Error::Panicked(message, key())),
            Judged::TimedOut(limit) => Err(Error::TimedOut(limit, key())),
        });
    }

    /// Sleeps until something is due.
    fn set_timer(&mut self, now: Instant, cx: &mut Context<'_>) {
        let due = match self.phase {
            Phase::Running => {
                let state = self.shared.lock();
                if !matches!(state.gate, Gate::Open) {
                    return;
                }
                state.queue.next_due()
            }
            Phase::Draining { until } => Some(until),
            Phase::New | Phase::Over => None,
        };
        let Some(due) = due else { return };
        let due = due.min(now + LONGEST_SLEEP);
        // A timer that rings too early costs one turn; moving it costs as much each time.
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if timer.is_elapsed() || timer.deadline() > due {
            timer.as_mut().reset(due);
        }
        if timer.poll_unpin(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }
}

impl<K: Object, R, P, E: StdError + 'static> Drop for Runner<K, R, P, E> {
    fn drop(&mut self) {
        for pump in &self.pumps {
            pump.abort();
        }
        for running in self.running.iter().flatten() {
            running.task.abort();
        }
    }
}
