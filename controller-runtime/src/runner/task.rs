//! One reconcile as a task of its own.

use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::{Run, guard, limit::Permit, shared::Shared};
use crate::{
    Action,
    clock::{self, Instant},
    object::Object,
    queue::SlotId,
};

/// For how many reports room is kept.
const KEPT: usize = 1024;

/// How a task ended.
#[derive(Debug)]
pub(super) enum Ended<E> {
    Succeeded(Action),
    Failed(E),
    Panicked(String),
    TimedOut(Duration),
}

/// What ended a run from outside of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Interrupted {
    Panicked,
    TimedOut(Duration),
}

/// What follows a run that was interrupted, before its end is told. It has the time of [`AFTERWORD`].
pub(crate) type Afterword<K> = Arc<dyn Fn(Run<K>, Interrupted) -> BoxFuture<'static, ()> + Send + Sync>;

/// A status is written in this time, or not at all.
const AFTERWORD: Duration = Duration::from_secs(10);

/// What a task leaves behind.
#[derive(Debug)]
pub(super) struct Report<E> {
    pub(super) slot: SlotId,
    pub(super) ended: Ended<E>,
    /// When, if that is wanted.
    pub(super) at: Option<Instant>,
}

/// Where tasks leave their reports: at most one for each running key.
pub(super) struct Port<K: Object, E> {
    shared: Arc<Shared<K>>,
    /// Reports say when they were left. To look at a clock costs more than the rest of a report.
    timed: bool,
    reports: Mutex<VecDeque<Report<E>>>,
}

impl<E> Ended<E> {
    fn interrupted(&self) -> Option<Interrupted> {
        match self {
            Self::Panicked(_) => Some(Interrupted::Panicked),
            Self::TimedOut(limit) => Some(Interrupted::TimedOut(*limit)),
            Self::Succeeded(_) | Self::Failed(..) => None,
        }
    }
}

impl<K: Object, E> Port<K, E> {
    pub(super) fn new(shared: Arc<Shared<K>>, timed: bool) -> Self {
        Self {
            shared,
            timed,
            reports: Mutex::default(),
        }
    }

    /// Takes all reports, in exchange for an empty list whose memory is used again.
    pub(super) fn take(&self, into: &mut VecDeque<Report<E>>) {
        debug_assert!(into.is_empty());
        // A burst is no reason to keep its memory.
        into.shrink_to(KEPT);
        std::mem::swap(
            into,
            &mut self.reports.lock().unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// Whether something is to be taken.
    pub(super) fn has_reports(&self) -> bool {
        !self
            .reports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    fn leave(&self, slot: SlotId, ended: Ended<E>) {
        let at = self.timed.then(clock::now);
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.push_back(Report { slot, ended, at });
        let first = reports.len() == 1;
        drop(reports);
        // Later reports are taken together with the first.
        if first {
            self.shared.waker.wake();
        }
    }
}

/// The end of a task: its permit is given back, and its report left, even if the task is dropped, or the future panics while it
/// is dropped.
pub(super) struct Duty<K: Object, E> {
    permit: Option<Permit>,
    port: Arc<Port<K, E>>,
    /// Until the report is left.
    slot: Option<SlotId>,
}

impl<K: Object, E> Duty<K, E> {
    pub(super) fn of(slot: SlotId, permit: Option<Permit>, port: &Arc<Port<K, E>>) -> Self {
        Self {
            permit,
            port: Arc::clone(port),
            slot: Some(slot),
        }
    }

    fn fulfil(mut self, ended: Ended<E>) {
        if !matches!(ended, Ended::Succeeded(_)) {
            // What OpenTelemetry asks of a span whose work failed; nothing to other listeners.
            tracing::Span::current().record("otel.status_code", "ERROR");
        }
        self.end(ended);
    }

    fn end(&mut self, ended: Ended<E>) {
        drop(self.permit.take());
        if let Some(slot) = self.slot.take() {
            self.port.leave(slot, ended);
        }
    }
}

impl<K: Object, E> Drop for Duty<K, E> {
    fn drop(&mut self) {
        if self.slot.is_some() {
            let message = "the reconcile was dropped before its end".to_owned();
            self.end(Ended::Panicked(message));
        }
    }
}

/// What is done around each reconcile of a controller.
pub(super) struct Care<K> {
    pub(super) timeout: Option<Duration>,
    pub(super) afterword: Option<Afterword<K>>,
}

/// What is done around one of them.
pub(super) struct Cared<K> {
    timeout: Option<Duration>,
    afterword: Option<(Afterword<K>, Run<K>)>,
}

impl<K> Cared<K> {
    fn is_none(&self) -> bool {
        self.timeout.is_none() && self.afterword.is_none()
    }
}

impl<K: Object> Care<K> {
    pub(super) fn of(&self, run: &Run<K>) -> Cared<K> {
        let afterword = self.afterword.clone();
        Cared {
            timeout: self.timeout,
            afterword: afterword.map(|afterword| (afterword, run.clone())),
        }
    }
}

impl<K, E> Duty<K, E>
where
    K: Object,
    E: Send + 'static,
{
    /// Runs a reconcile; its panic and its timeout become reports. The permit is given back when it has ended.
    pub(super) fn spawn(
        self,
        reconcile: impl Future<Output = Result<Action, E>> + Send + 'static,
        span: tracing::Span,
        care: Cared<K>,
    ) -> JoinHandle<()> {
        // Combinators rather than an async block, which would hold the reconcile twice.
        let caught = AssertUnwindSafe(reconcile)
            .catch_unwind()
            .map(|result| match result {
                Ok(Ok(action)) => Ended::Succeeded(action),
                Ok(Err(error)) => Ended::Failed(error),
                Err(payload) => Ended::Panicked(guard::message(payload.as_ref())),
            });
        if care.is_none() {
            return tokio::spawn(caught.map(|ended| self.fulfil(ended)).instrument(span));
        }
        self.spawn_with_care(caught.boxed(), span, care)
    }

    /// The task of a reconcile that has ended before it began: so there is one way for outcomes.
    pub(super) fn spawn_ended(self, ended: Ended<E>, span: tracing::Span, care: Cared<K>) -> JoinHandle<()> {
        self.spawn_with_care(std::future::ready(ended).boxed(), span, care)
    }

    /// Not generic over the reconcile: a kind of task costs the compiler more than an allocation costs the run.
    fn spawn_with_care(
        self,
        run: BoxFuture<'static, Ended<E>>,
        span: tracing::Span,
        care: Cared<K>,
    ) -> JoinHandle<()> {
        let run = careful(run, care).map(|ended| self.fulfil(ended));
        tokio::spawn(run.instrument(span))
    }
}

/// The afterword comes when the run is dropped, and cannot make its outcome another.
async fn careful<K, E>(run: BoxFuture<'static, Ended<E>>, care: Cared<K>) -> Ended<E> {
    let ended = match care.timeout {
        Some(limit) => tokio::time::timeout(limit, run)
            .await
            .unwrap_or(Ended::TimedOut(limit)),
        None => run.await,
    };
    if let Some(interrupted) = ended.interrupted()
        && let Some((afterword, again)) = care.afterword
        && let Ok(last) = guard(|| afterword(again, interrupted))
    {
        let caught = AssertUnwindSafe(last).catch_unwind();
        if !matches!(tokio::time::timeout(AFTERWORD, caught).await, Ok(Ok(()))) {
            tracing::warn!("what follows an interrupted reconcile did not come to its end");
        }
    }
    ended
}
