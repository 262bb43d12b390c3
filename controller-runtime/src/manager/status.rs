//! The words of the status endpoint: what `/status` answers and what a line of `/status/events` holds.
//!
//! The format is for programs that may be older or newer than the operator: fields are only ever added. Times are in
//! milliseconds, relative to the operator's start (`at_ms`) or to the answer (`since_ms`, `ago_ms`, `next_ms`).

use std::fmt;

use serde::Serialize;

use crate::hot_loop::FlappingField;

/// What `/status` answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OperatorStatus {
    /// The operator's name.
    pub operator: String,
    /// Milliseconds since it started.
    pub uptime_ms: u64,
    /// What it is about.
    pub phase: Phase,
    /// What `/readyz` says.
    pub ready: bool,
    /// Its controllers, by name.
    pub controllers: Vec<ControllerStatus>,
    /// Rights that it needs and does not have, such as `owns ConfigMap: missing "watch" configmaps`.
    pub missing_rights: Vec<String>,
    /// Where it stands in the election of a leader, if there is one: `leading`, `standby: … leads`.
    pub leadership: Option<String>,
}

/// The life of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// From the start to the first signal.
    Running,
    /// From the first signal: nothing new is started.
    Stopping,
}

/// One controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ControllerStatus {
    /// Its name.
    pub name: String,
    /// The kind it reconciles.
    pub kind: String,
    /// Which objects of the kind it reconciles, as `labels team` or `fields metadata.name=a`; `None` is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// All its stores have been in sync.
    pub synced: bool,
    /// Why it has ended, if nobody asked it to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Its queue.
    pub queue: QueueStatus,
    /// What it watches.
    pub sources: Vec<SourceStatus>,
    /// The live objects it has reconciled.
    pub objects: Vec<ObjectStatus>,
    /// The live objects that it leaves alone, because they carry the annotation [`PAUSED`](crate::PAUSED).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<ObjectId>,
}

/// How many keys are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueStatus {
    /// May run, and wait for a free place.
    pub ready: usize,
    /// Run now.
    pub running: usize,
    /// Wait for a moment: a debounce, a requeue, a retry.
    pub waiting: usize,
}

/// A kind that is watched, and where. Several watches of a kind, as of two groups or by two selectors, are told as one, by the worst
/// of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SourceId {
    /// The kind, as `ConfigMap`. What fails is told with its group.
    pub kind: String,
    /// The namespace; `None` is the whole cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl SourceId {
    /// The watch of a kind in the whole cluster.
    pub fn of_kind(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: None,
        }
    }
}

/// One watch and how it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceStatus {
    /// Which.
    #[serde(flatten)]
    pub source: SourceId,
    /// How it is.
    #[serde(flatten)]
    pub state: SourceState,
    /// Since when.
    pub since_ms: u64,
    /// Why the kind is not served, as discovery told at the start; not there once a list has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unserved: Option<String>,
    /// The objects that could not be decoded: they are not reconciled, or by their copy before, until they are mended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecodable: Vec<UndecodableObject>,
}

/// An object that could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndecodableObject {
    /// Which.
    pub object: ObjectId,
    /// Its uid, if that could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The path of the field, and what is wrong with it; never its value.
    pub message: String,
}

impl fmt::Display for UndecodableObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.object)?;
        if let Some(uid) = &self.uid {
            write!(f, " (uid {uid})")?;
        }
        write!(f, " cannot be decoded: {}", self.message)
    }
}

/// How a watch is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SourceState {
    /// The first list is not complete.
    Listing,
    /// The store is in sync, and changes arrive.
    Watching,
    /// The API server refuses or does not answer; it is asked again.
    Failing {
        /// What is asked for, and what the server, or the network, answered.
        message: String,
    },
}

/// One object, by kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ObjectId {
    /// The kind.
    pub kind: String,
    /// The namespace, if it lives in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// One object and its last run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObjectStatus {
    /// Which.
    #[serde(flatten)]
    pub object: ObjectId,
    /// Its last run.
    #[serde(flatten)]
    pub report: RunReport,
    /// How long ago it ended.
    pub ago_ms: u64,
}

/// One run of one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// How it ended.
    pub result: RunResult,
    /// The error's text, with all its causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// How long it took.
    pub duration_ms: u64,
    /// When it runs again without any change; `None` is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_ms: Option<u64>,
    /// Why it ran.
    pub causes: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunResult {
    /// Well.
    Ok,
    /// With an error that is tried again.
    Error,
    /// With an error that only a change of the object can mend.
    Permanent,
    /// With a panic, which is tried again.
    Panic,
    /// It took longer than it may, and is tried again.
    Timeout,
    /// It still ran at the end of the shutdown.
    Interrupted,
}

/// What can happen. One line of `/status/events` is one of these, with `at_ms`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Happening {
    /// The operator has started; nothing is in sync.
    Started {
        /// Its name.
        operator: String,
    },
    /// All stores of a controller are in sync for the first time; reconciles begin.
    Synced {
        /// Which controller.
        controller: String,
        /// How long after the operator's start.
        after_ms: u64,
    },
    /// A watch fails. Said once, until it recovers or the reason changes.
    SourceFailing {
        /// Whose.
        controller: String,
        /// Which watch.
        source: SourceId,
        /// What was answered.
        message: String,
    },
    /// A watch works again.
    SourceRecovered {
        /// Whose.
        controller: String,
        /// Which watch.
        source: SourceId,
    },
    /// The election of a leader has moved on.
    Leadership {
        /// Where this process stands.
        leadership: String,
    },
    /// The rights that are missing have changed; none are when the list is empty.
    MissingRights {
        /// Each with what needs it.
        missing: Vec<String>,
    },
    /// An object could not be decoded. Said once, until it is mended or the reason changes.
    Undecodable {
        /// Whose watch.
        controller: String,
        /// Which object, and why.
        #[serde(flatten)]
        undecodable: UndecodableObject,
    },
    /// An object that could not be decoded is mended, or gone.
    Mended {
        /// Whose watch.
        controller: String,
        /// Which object.
        object: ObjectId,
    },
    /// A mapper panicked, and nothing was woken by that change; or a predicate, which the message says, and the change passed.
    MapperPanicked {
        /// Whose.
        controller: String,
        /// The kind of the object it was given.
        kind: String,
        /// What the panic said.
        message: String,
    },
    /// A reconcile has ended.
    Reconciled {
        /// Whose.
        controller: String,
        /// Which object.
        object: ObjectId,
        /// How.
        #[serde(flatten)]
        report: RunReport,
    },
    /// An object runs in circles; it is slowed.
    Circle {
        /// Whose.
        controller: String,
        /// Which object.
        object: ObjectId,
        /// So many runs in a row were each answered by a change that woke the next.
        cycles: u32,
        /// How long it waits after such a change, at first.
        delay_ms: u64,
        /// The fields that flap, if that can be told.
        fields: Vec<FlappingField>,
    },
    /// An object was to be reconciled and is left alone, because it carries the annotation [`PAUSED`](crate::PAUSED). Said once, until
    /// it is reconciled again.
    Paused {
        /// Whose.
        controller: String,
        /// Which object.
        object: ObjectId,
    },
    /// An object that was reconciled is gone.
    Gone {
        /// Whose.
        controller: String,
        /// Which object.
        object: ObjectId,
    },
    /// A controller has ended, and was not asked to.
    ControllerFailed {
        /// Which.
        controller: String,
        /// Why.
        message: String,
    },
    /// A controller that has ended runs again.
    ControllerRestarted {
        /// Which.
        controller: String,
    },
    /// The first signal came.
    Stopping {
        /// How many reconciles are being waited for.
        running: usize,
    },
}

impl Happening {
    /// The happening with its time.
    pub(crate) fn at(self, at_ms: u64) -> impl Serialize {
        #[derive(Serialize)]
        struct Line {
            at_ms: u64,
            #[serde(flatten)]
            happening: Happening,
        }
        Line {
            at_ms,
            happening: self,
        }
    }
}
