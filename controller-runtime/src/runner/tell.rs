//! Tells observers and spans what the runner does.

use std::{sync::Arc, time::Duration};

use super::{
    Circle, Event, Finished, Gauge, Observer, Outcome, Shared, Started, Subject, drive::Run, guard,
    judge::Judged, sources::Sources,
};
use crate::{
    Action,
    action::Next,
    clock::Instant,
    explain::{Book, Explainer},
    hot_loop::{Accusation, NO_PROGRESS, flapping, is_progress},
    name::Name,
    object::{Object, ObjectRef},
    queue::{self, Popped},
    store::Delta,
    trigger::{Cause, Predicate, Request},
    watch::SourceStatus,
};

/// The voice of one controller. Cheap to clone; silent without an observer.
pub(crate) struct Teller<K: Object> {
    name: Arc<str>,
    kind: Arc<str>,
    observer: Option<Arc<dyn Observer>>,
    book: Book<K>,
    sources: Sources,
}

impl<K: Object> Clone for Teller<K> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            kind: Arc::clone(&self.kind),
            observer: self.observer.clone(),
            book: self.book.clone(),
            sources: self.sources.clone(),
        }
    }
}

impl<K: Object> Teller<K> {
    /// Changes are written into the book only if someone listens.
    pub(crate) fn new(
        name: &str,
        dyntype: &K::DynamicType,
        observer: Option<Arc<dyn Observer>>,
        book: Book<K>,
    ) -> Self {
        if observer.is_some() {
            book.open();
        }
        Self {
            name: name.into(),
            kind: K::kind(dyntype).as_ref().into(),
            observer,
            book,
            sources: Sources::default(),
        }
    }

    /// Someone listens.
    pub(super) fn is_heard(&self) -> bool {
        self.observer.is_some()
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(crate) fn queue(&self, gauge: &Gauge) {
        if let Some(observer) = &self.observer {
            observer.queue(&self.name, gauge);
        }
    }

    pub(crate) fn explainer(&self, explainer: &Explainer) {
        if let Some(observer) = &self.observer {
            observer.explainer(&self.name, explainer);
        }
    }

    pub(crate) fn synced(&self) {
        self.tell(&Event::Synced);
    }

    pub(super) fn book(&self) -> &Book<K> {
        &self.book
    }

    /// A source will tell how it is doing. Those that share its kind are not well before it has.
    pub(crate) fn expect_source(&self, status: &SourceStatus) {
        self.sources.note(status, |_| ());
    }

    /// Tells how a source is doing.
    pub(crate) fn source(&self, status: &SourceStatus) {
        self.sources
            .note(status, |change| self.tell(&Event::Source(change.clone())));
    }

    /// Tells of the deletions among these requests.
    pub(crate) fn deletions(&self, requests: &[Request<K>]) {
        for request in requests.iter().filter(|request| request.gone) {
            self.book.gone(&request.key);
            self.tell(&Event::Gone(self.subject_of(&request.key)));
        }
    }

    /// A run found no object of this key.
    pub(super) fn missed(&self, key: &ObjectRef<K>) {
        self.book.missed(key);
    }

    /// A key looks as if it ran in circles: tells so, unless what changed says that it makes progress.
    pub(super) fn circle(&self, key: &ObjectRef<K>, accusation: Accusation) -> bool {
        let Accusation { cycles, delay } = accusation;
        let fields = self.book.entry(key, |entry| flapping(entry.compared()));
        if is_progress(&fields) && cycles < NO_PROGRESS {
            return false;
        }
        let flapping: Vec<_> = fields.iter().map(ToString::to_string).collect();
        tracing::warn!(
            controller = %self.name, object.ref = %key, cycles, flapping = flapping.join("; "),
            "this object runs in circles: each run is answered by a change that wakes the next; it is slowed"
        );
        self.tell(&Event::Circle(Circle {
            object: self.subject_of(key),
            cycles,
            delay,
            fields: &fields,
        }));
        true
    }

    /// Whether a change passes. One whose predicate panics does: a run too many is safe, a lost change is not.
    pub(crate) fn lets_pass<T: Object>(&self, predicate: &Predicate<T>, delta: &Delta<T>) -> bool {
        guard(|| predicate.passes(delta)).unwrap_or_else(|panic| {
            let kind = T::kind(&delta.key.dyntype);
            tracing::error!(controller = %self.name, %kind, %panic, "a predicate panicked; its change passes");
            let message = format!("in a predicate, and the change passes: {panic}");
            self.tell(&Event::MapperPanicked {
                kind: &kind,
                message: &message,
            });
            true
        })
    }

    pub(crate) fn mapper_panicked(&self, kind: &str, message: &str) {
        tracing::error!(controller = %self.name, %kind, panic = %message, "a mapper panicked; its change wakes nobody");
        self.tell(&Event::MapperPanicked { kind, message });
    }

    pub(super) fn settled(&self, next_due: Option<Instant>) {
        self.tell(&Event::Settled { next_due });
    }

    pub(super) fn paused(&self, key: &Name) {
        self.tell(&Event::Paused(self.subject(key)));
    }

    pub(super) fn stopping(&self) {
        self.tell(&Event::Stopping);
    }

    pub(super) fn stopped(&self) {
        self.tell(&Event::Stopped);
    }

    /// Tells the start of a run, and makes its span.
    pub(super) fn started(
        &self,
        run: &Run<K>,
        popped: &Popped<Name>,
        shared: &Shared<K>,
        now: Instant,
    ) -> tracing::Span {
        // Causes are copied for those who listen only.
        let causes = || shared.lock().queue.causes(popped.slot);
        if self.observer.is_some() {
            self.tell(&Event::Started(Started {
                id: run.id,
                object: self.subject(&popped.key),
                causes: &causes(),
                failures: run.failures,
                waited: now - popped.since,
            }));
        }
        let span = tracing::info_span!(
            "reconciling object",
            object.ref = %shared.key(&popped.key),
            object.reason = tracing::field::Empty,
            reconcile.id = run.id,
            trace_id = tracing::field::Empty,
            otel.status_code = tracing::field::Empty,
        );
        if span.is_disabled() {
            // Even a span that nobody wants costs something each time it is entered; this one does not.
            return tracing::Span::none();
        }
        span.record("object.reason", tracing::field::display(Reason(&causes())));
        #[cfg(feature = "otel")]
        crate::otel::name_trace(&span);
        span
    }

    pub(super) fn finished<E: std::error::Error + 'static>(
        &self,
        id: u64,
        key: &Name,
        ended: &Judged<E>,
        took: Duration,
        next: queue::Next,
        now: Instant,
    ) {
        if self.observer.is_none() {
            return;
        }
        let outcome = match ended {
            Judged::Succeeded(action) => succeeded(action),
            Judged::Failed(error) => Outcome::Failed(error),
            Judged::GaveUp(error) => Outcome::Permanent(error),
            Judged::Panicked(message) => Outcome::Panicked(message),
            Judged::TimedOut(limit) => Outcome::TimedOut(*limit),
        };
        self.tell(&Event::Finished(Finished {
            id,
            object: self.subject(key),
            outcome,
            took,
            next_run: next.due.map(|due| due.saturating_duration_since(now)),
            failures: next.failures,
        }));
    }

    pub(super) fn interrupted(&self, id: u64, key: &Name, took: Duration) {
        self.tell(&Event::Finished(Finished {
            id,
            object: self.subject(key),
            outcome: Outcome::Interrupted,
            took,
            next_run: None,
            failures: 0,
        }));
    }

    fn subject<'a>(&'a self, key: &'a Name) -> Subject<'a> {
        Subject {
            kind: &self.kind,
            namespace: key.namespace(),
            name: key.name(),
        }
    }

    fn subject_of<'a>(&'a self, key: &'a ObjectRef<K>) -> Subject<'a> {
        Subject {
            kind: &self.kind,
            namespace: key.namespace.as_deref(),
            name: &key.name,
        }
    }

    fn tell(&self, event: &Event<'_>) {
        if let Some(observer) = &self.observer {
            observer.observe(&self.name, event);
        }
    }
}

fn succeeded(action: &Action) -> Outcome<'static> {
    match action.clone().into_next() {
        Next::Requeue(wait) | Next::RetryAfter(wait) => Outcome::Requeued(wait),
        Next::Await | Next::Retry | Next::GiveUp => Outcome::Done,
    }
}

/// The causes of a run, for its span.
struct Reason<'a>(&'a [Cause]);

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, cause) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            match cause {
                Cause::Initial => f.write_str("in the first list")?,
                Cause::Updated => f.write_str("object updated")?,
                Cause::Deleted => f.write_str("object deleted")?,
                Cause::Related {
                    kind,
                    namespace: Some(namespace),
                    name,
                } => {
                    write!(f, "related object updated: {kind} {namespace}/{name}")?;
                }
                Cause::Related {
                    kind,
                    namespace: None,
                    name,
                } => {
                    write!(f, "related object updated: {kind} {name}")?;
                }
                Cause::Relist => f.write_str("found different by a list")?,
                Cause::Requeue => f.write_str("reconciler requested requeue")?,
                Cause::Retry => f.write_str("retry after a failure")?,
                Cause::Bulk => f.write_str("bulk reconcile requested")?,
                Cause::External(reason) => f.write_str(reason)?,
            }
        }
        Ok(())
    }
}
