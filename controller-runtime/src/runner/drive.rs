//! The loop of the runner: take reports, give keys out, hand results on.
//!
//! A turn costs what it moves and nothing for keys that wait or run: each reconcile is a task that wakes the runner
//! once, when it ends. User code is called outside of the queue's lock and inside a guard.

use std::{
    collections::VecDeque,
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
    Depth,
    begin::Before,
    judge::Judged,
    life::Phase,
    limit::{Limit, Permits},
    outbox::Outbox,
    shared::{BUDGET, Shared},
    task::{Afterword, Care, Port, Report},
    tell::Teller,
};
use crate::{
    Action, Config, Error,
    clock::{self, Instant},
    hot_loop::{Accusation, Guard},
    name::Name,
    object::{Object, ObjectRef},
    queue::{Next, Outcome, Popped, Seen, Settings, SlotId},
    shutdown::Stage,
    store::Cache,
};

/// A timer sleeps no longer than this, so that no due is too far for the clock's wheel.
const LONGEST_SLEEP: Duration = Duration::from_secs(60 * 60);

/// What a controller's stream yields.
pub(crate) type Item<K, E> = Result<(ObjectRef<K>, Action), Error<E, watcher::Error>>;

/// What waits to be yielded: the key is made when it is, so that a batch of results costs no batch of allocations.
type Told<E> = Result<(Name, Action), Box<Error<E, watcher::Error>>>;

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

/// A run under way.
pub(super) struct Running<K> {
    pub(super) key: Name,
    pub(super) run: Run<K>,
    pub(super) seen: Seen,
    pub(super) started: Instant,
    pub(super) task: JoinHandle<()>,
}

/// The end of a run on its way to the queue and to everyone else.
pub(super) struct End<K, E> {
    pub(super) slot: SlotId,
    pub(super) running: Running<K>,
    /// When it ended, if anyone listens.
    pub(super) at: Option<Instant>,
    pub(super) outcome: Outcome,
    pub(super) judged: Judged<E>,
    /// What the queue says to it.
    pub(super) next: Next,
}

/// Everything a runner is made of.
pub(crate) struct Parts<K: Object, R, P> {
    pub(crate) shared: Arc<Shared<K>>,
    pub(crate) cache: Arc<dyn Cache<K>>,
    pub(crate) before: Before<K>,
    pub(crate) config: Config,
    pub(crate) limit: Option<Limit>,
    pub(crate) afterword: Option<Afterword<K>>,
    pub(crate) teller: Teller<K>,
    pub(crate) reconcile: R,
    pub(crate) policy: P,
}

pub(crate) struct Runner<K: Object, R, P, E: StdError + 'static> {
    pub(super) shared: Arc<Shared<K>>,
    pub(super) cache: Arc<dyn Cache<K>>,
    pub(super) config: Config,
    /// What other controllers share with this one.
    pub(super) permits: Option<Permits>,
    pub(super) care: Care<K>,
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
    pub(super) reports: VecDeque<Report<E>>,
    /// Empty between turns; kept for their memory.
    pub(super) ends: Vec<End<K, E>>,
    pub(super) popped: Vec<Popped<Name>>,
    pub(super) accused: Vec<(Name, Accusation)>,
    pub(super) outbox: Outbox<Told<E>>,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
    pub(super) rng: fastrand::Rng,
    pub(super) runs: u64,
    pub(super) phase: Phase,
    pub(super) settled: bool,
    /// The last poll was given away.
    pub(super) stepped_back: bool,
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
        {
            let mut shared = parts.shared.lock();
            shared.guard = Guard::new(parts.config.hot_loop.clone());
            shared.queue.configure(Settings {
                debounce: parts.config.debounce,
                resync: parts.config.resync,
                backoff: parts.config.backoff.clone(),
            });
        }
        Self {
            port: Arc::new(Port::new(Arc::clone(&parts.shared), parts.teller.is_heard())),
            rng: clock::rng(parts.config.seed),
            shared: parts.shared,
            cache: parts.cache,
            care: Care {
                timeout: parts.config.timeout,
                afterword: parts.afterword,
            },
            config: parts.config,
            permits: parts.limit.map(Permits::of),
            teller: parts.teller,
            reconcile: parts.reconcile,
            policy: parts.policy,
            before: Some(parts.before),
            pumps: Vec::new(),
            running: Vec::new(),
            reports: VecDeque::new(),
            ends: Vec::new(),
            popped: Vec::new(),
            accused: Vec::new(),
            outbox: Outbox::new(),
            timer: None,
            runs: 0,
            phase: Phase::New,
            settled: false,
            stepped_back: false,
        }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Item<K, E>>> {
        if self.phase == Phase::New {
            self.begin();
        }
        if self.outbox.is_empty() && self.step_back(cx) {
            return Poll::Pending;
        }
        if self.phase != Phase::Over
            && let Some(now) = self.outbox.wants_more(clock::now)
        {
            self.shared.waker.register(cx.waker());
            self.turn(now, cx);
        }
        match self.outbox.pop() {
            Some(Ok((key, action))) => Poll::Ready(Some(Ok((self.shared.key(&key), action)))),
            Some(Err(error)) => Poll::Ready(Some(Err(*error))),
            None if self.phase == Phase::Over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Lets the tasks that are runnable now go first, once before reports are taken.
    ///
    /// A task that ends wakes the runner, and tokio would run it at once, before all other tasks that end at this
    /// moment: a turn for each report. One step back, and a turn takes the reports of all of them. Without a report there is
    /// nothing to wait for: two controllers that one task polls would make each other step back for ever.
    fn step_back(&mut self, cx: &mut Context<'_>) -> bool {
        let reports = !self.reports.is_empty() || self.port.has_reports();
        self.stepped_back = self.phase != Phase::Over && !self.stepped_back && reports;
        if self.stepped_back {
            cx.waker().wake_by_ref();
        }
        self.stepped_back
    }

    /// Starts the inputs, the wait for the stores, and the wait for a shutdown.
    fn begin(&mut self) {
        self.phase = Phase::Running;
        if let Some(before) = self.before.take() {
            self.pumps = before.begin(&self.shared, &self.cache, &self.teller);
        }
    }

    fn turn(&mut self, now: Instant, cx: &mut Context<'_>) {
        let more_reports = self.take_reports(now);
        let stage = self.look_around(now);
        if self.phase == Phase::Running && stage >= Stage::Draining {
            self.teller.stopping();
            if let Some(permits) = &mut self.permits {
                permits.leave();
            }
            self.phase = Phase::Draining {
                until: now + self.config.grace,
            };
        }
        let more_keys = self.phase == Phase::Running && self.give_out(now, cx);
        if more_reports || more_keys {
            cx.waker().wake_by_ref();
        }
        let view = self.shared.view();
        self.finish_up(&view, stage, now);
        self.set_timer(&view, now, cx);
    }

    /// Handles reports, within the budget; tells whether some are left.
    fn take_reports(&mut self, now: Instant) -> bool {
        if self.reports.is_empty() {
            self.port.take(&mut self.reports);
        }
        if self.reports.is_empty() {
            return false;
        }
        let mut reports = std::mem::take(&mut self.reports);
        let mut ends = std::mem::take(&mut self.ends);
        ends.extend(
            reports
                .drain(..BUDGET.min(reports.len()))
                .filter_map(|report| self.end(report)),
        );
        self.reports = reports;
        self.shared.finish(&mut ends, now);
        for end in ends.drain(..) {
            self.publish(end, now);
        }
        self.ends = ends;
        !self.reports.is_empty()
    }

    /// Asks the error policy, outside of any lock.
    fn end(&mut self, report: Report<E>) -> Option<End<K, E>> {
        let Report { slot, ended, at } = report;
        let running = self.running.get_mut(slot.index()).and_then(Option::take)?;
        let (outcome, judged) = self.judge(&running.run, ended);
        Some(End {
            slot,
            running,
            at,
            outcome,
            judged,
            next: Next::default(),
        })
    }

    /// Tells everyone but the queue.
    fn publish(&mut self, end: End<K, E>, now: Instant) {
        let Running {
            key, run, started, ..
        } = end.running;
        let at = end.at.unwrap_or(now);
        self.teller
            .finished(run.id, &key, &end.judged, at - started, end.next, at);
        let erased = || Box::new(self.shared.key(&key).erase());
        let error = match end.judged {
            Judged::Succeeded(action) => return self.outbox.push(Ok((key, action))),
            Judged::Failed(error) | Judged::GaveUp(error) => Error::ReconcilerFailed(error, erased()),
            Judged::Panicked(message) => Error::Panicked(message, erased()),
            Judged::TimedOut(limit) => Error::TimedOut(limit, erased()),
        };
        self.tell(error);
    }

    /// Sleeps until something is due.
    fn set_timer(&mut self, view: &Depth, now: Instant, cx: &mut Context<'_>) {
        let due = match self.phase {
            Phase::Running if view.synced => view.next_due,
            Phase::Draining { until } => Some(until),
            Phase::New | Phase::Running | Phase::Over => None,
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
