//! What a controller tells of itself while it runs: the ground of metrics, the status endpoint and logs.
//!
//! Events borrow; an observer copies what it keeps. It is called inline by the runner, so it must be quick and must
//! not block. It must not hold a series per object: names are for logs and bounded lists.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::Gauge;
use crate::{
    clock::Instant, explain::Explainer, hot_loop::FlappingField, trigger::Cause, watch::Undecodable,
};

/// Hears what a controller does.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use controller_runtime::runner::{Event, Observer, Outcome};
///
/// #[derive(Default)]
/// struct Panics(AtomicU64);
///
/// impl Observer for Panics {
///     fn observe(&self, _controller: &str, event: &Event<'_>) {
///         if let Event::Finished(finished) = event && matches!(finished.outcome, Outcome::Panicked(_)) {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
/// ```
pub trait Observer: Send + Sync {
    /// Takes note of `event`, which happened in the controller of this name.
    fn observe(&self, controller: &str, event: &Event<'_>);

    /// Takes where the queue of this controller can be read from now on. Called once, before the first event.
    fn queue(&self, controller: &str, gauge: &Gauge) {
        let _ = (controller, gauge);
    }

    /// Takes whom to ask from now on about one object of this controller. Called once, before the first event.
    fn explainer(&self, controller: &str, explainer: &Explainer) {
        let _ = (controller, explainer);
    }
}

/// Tells every observer in turn.
impl Observer for Vec<Arc<dyn Observer>> {
    fn observe(&self, controller: &str, event: &Event<'_>) {
        for observer in self {
            observer.observe(controller, event);
        }
    }

    fn queue(&self, controller: &str, gauge: &Gauge) {
        for observer in self {
            observer.queue(controller, gauge);
        }
    }

    fn explainer(&self, controller: &str, explainer: &Explainer) {
        for observer in self {
            observer.explainer(controller, explainer);
        }
    }
}

/// Something that happened in a controller.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// All stores are ready; reconciles begin.
    Synced,
    /// A reconcile began.
    Started(Started<'a>),
    /// A reconcile ended.
    Finished(Finished<'a>),
    /// An object was deleted: nothing runs for it any more, though a run may still be under way.
    Gone(Subject<'a>),
    /// An object was to run and did not, because it carries the annotation [`PAUSED`](crate::PAUSED).
    Paused(Subject<'a>),
    /// A source came up, or failed.
    Source(SourceChange<'a>),
    /// A trigger's mapper panicked, or a predicate, which the message says: kind of the mapped object, and the panic's message.
    MapperPanicked {
        /// Where the change came from.
        kind: &'a str,
        /// What the panic said.
        message: &'a str,
    },
    /// An object was found to run in circles; it is slowed.
    Circle(Circle<'a>),
    /// The queue ran empty: nothing is ready and nothing is running.
    Settled {
        /// When the next waiting key is due.
        next_due: Option<Instant>,
    },
    /// A shutdown began: nothing new is started.
    Stopping,
    /// The controller has stopped.
    Stopped,
}

/// The object that a reconcile is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace, if it has one.
    pub namespace: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
}

/// A reconcile began.
#[derive(Debug)]
#[non_exhaustive]
pub struct Started<'a> {
    /// The number of this reconcile, unique in its controller, from 1.
    pub id: u64,
    /// The object.
    pub object: Subject<'a>,
    /// The last few causes, oldest first.
    pub causes: &'a [Cause],
    /// Failures in a row before this run.
    pub failures: u32,
    /// How long the key was ready before it ran.
    pub waited: Duration,
}

/// A reconcile ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished<'a> {
    /// The number of this reconcile, as in [`Started::id`].
    pub id: u64,
    /// The object.
    pub object: Subject<'a>,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// How long it ran.
    pub took: Duration,
    /// In how long the key runs next, if that is known.
    pub next_run: Option<Duration>,
    /// Failures in a row, this one included.
    pub failures: u32,
}

/// An object runs in circles: each run is answered by a change that wakes the next, and nothing changes while it waits.
#[derive(Debug)]
#[non_exhaustive]
pub struct Circle<'a> {
    /// The object.
    pub object: Subject<'a>,
    /// So many runs in a row.
    pub cycles: u32,
    /// How long it waits between such runs from now on, at first.
    pub delay: Duration,
    /// The fields that flap, if that can be told.
    pub fields: &'a [FlappingField],
}

/// How a reconcile ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// It succeeded and waits for a change.
    Done,
    /// It succeeded and asked to run again after this time.
    Requeued(Duration),
    /// It failed and is tried again.
    Failed(&'a (dyn std::error::Error + 'static)),
    /// It failed, and waits for a change because trying again cannot help.
    Permanent(&'a (dyn std::error::Error + 'static)),
    /// It, or its error policy, panicked: the message.
    Panicked(&'a str),
    /// It did not finish within this time and was dropped.
    TimedOut(Duration),
    /// It still ran at the end of the shutdown and was dropped.
    Interrupted,
    /// The object is not in the store; the reconciler was not called.
    Missing,
}

impl Outcome<'_> {
    /// A word for logs and metric labels.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "success",
            Self::Requeued(_) => "requeue",
            Self::Failed(_) => "error",
            Self::Permanent(_) => "permanent",
            Self::Panicked(_) => "panic",
            Self::TimedOut(_) => "timeout",
            Self::Interrupted => "interrupted",
            Self::Missing => "missing",
        }
    }
}

/// A source of a controller changed its state. Sources that share kind and namespace, as by two selectors, are told as one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceChange<'a> {
    /// The kind it watches, or what the trigger is called.
    pub kind: &'a str,
    /// The namespace it watches; `None` is the whole cluster.
    pub namespace: Option<&'a str>,
    /// What is wrong; `None` when nothing is. The same trouble is told in the same words.
    pub problem: Option<&'a str>,
    /// A complete list has been read.
    pub synced: bool,
    /// How often it was listed anew after that.
    pub relists: u64,
    /// The objects that could not be decoded, by namespace and name. They hide no other object, and are no problem of the
    /// source.
    pub undecodable: &'a BTreeMap<(Option<String>, String), Undecodable>,
}
