//! The answer to "why did it run?", as data: the format of `/debug/why`.
//!
//! Fields are only ever added. Times are in milliseconds, relative to the answer. Of fields there are paths, never values.

use std::fmt;

use serde::Serialize;

use super::{
    ledger::{Change, Fate, Noted, What},
    reader::Known,
};
use crate::{
    clock::Instant,
    hot_loop::FlappingField,
    manager::{ObjectId, ObjectStatus},
};

/// Everything that is known about why one object runs, or does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Why {
    /// The controller.
    pub controller: String,
    /// The object.
    pub object: ObjectId,
    /// Where it is in the queue.
    pub queue: KeyState,
    /// What keeps it, or all objects, from running now.
    pub held: Vec<Held>,
    /// Failures in a row.
    pub failures: u32,
    /// Its last run: the result, the error's text, why it ran, and how long ago it ended.
    pub last_run: Option<ObjectStatus>,
    /// The changes that woke it, latest first.
    pub changes: Vec<ChangeReport>,
    /// The last changes that were meant for it and did not wake it, latest first.
    pub ignored: Vec<ChangeReport>,
    /// How many those were in all.
    pub ignored_times: u64,
    /// The last changes of related objects that predicates dropped, latest first; they may have been for other objects.
    pub dropped_elsewhere: Vec<ChangeReport>,
    /// It runs in circles, and is slowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed: Option<SlowedReport>,
}

/// Where an object is in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeyState {
    /// There is nothing to do.
    Idle,
    /// It runs at its time: a debounce window, a requeue, a retry.
    Waiting {
        /// In how long.
        due_ms: u64,
        /// Why it will.
        causes: Vec<String>,
    },
    /// It could run.
    Ready {
        /// Since when.
        since_ms: u64,
        /// Why it will.
        causes: Vec<String>,
    },
    /// It runs.
    Running {
        /// Since when.
        since_ms: u64,
        /// It was asked to run again meanwhile.
        again: bool,
    },
}

/// One reason why nothing runs now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Held {
    /// A word: `not_synced`, `not_leading`, `stopping`, `ended`, `paused`, `own_writes`, `slowed`,
    /// `no_free_place`.
    pub reason: &'static str,
    /// A sentence.
    pub text: String,
}

/// One change of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChangeReport {
    /// How long ago it came.
    pub ago_ms: u64,
    /// How its object is related: `primary`, `owns`, `watches`, `references`.
    pub relation: &'static str,
    /// The object.
    pub object: ObjectId,
    /// `added`, `changed` or `deleted`.
    pub what: &'static str,
    /// A later list found it, because the watch had been away.
    pub found_by_list: bool,
    /// The resourceVersion after it; of a deletion, the last before it.
    pub resource_version: String,
    /// The paths of the fields that changed; `null` when they were not compared, because too much changed at the time.
    pub fields: Option<Vec<String>>,
    /// How many more fields changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_fields: usize,
    /// `woke`, `held` (it came while the object ran, and waits for the end), `own_write`, `dropped`.
    pub fate: &'static str,
    /// The predicates of the relation: none of them let it through.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_by: Vec<String>,
}

/// An object runs in circles, and is slowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SlowedReport {
    /// So many runs in a row were each answered by a change that woke the next.
    pub cycles: u32,
    /// How long it waits after such a change.
    pub delay_ms: u64,
    /// The fields that flap.
    pub fields: Vec<FlappingField>,
}

impl Why {
    pub(crate) fn new(
        controller: &str,
        known: Known,
        held: Vec<Held>,
        last_run: Option<ObjectStatus>,
    ) -> Self {
        Self {
            controller: controller.to_owned(),
            object: known.object,
            queue: known.queue,
            held,
            failures: known.failures,
            last_run,
            changes: known.changes,
            ignored: known.ignored,
            ignored_times: known.ignored_times,
            dropped_elsewhere: known.elsewhere,
            slowed: known.slowed,
        }
    }
}

impl ChangeReport {
    /// A change that came for the object `primary`, or for nobody knows whom.
    pub(super) fn new(change: &Change, fate: Fate, primary: &ObjectId, now: Instant) -> Self {
        let relation = &change.relation;
        let fields = change.fields.as_ref();
        Self {
            ago_ms: millis(now.saturating_duration_since(change.at)),
            relation: relation.word,
            object: change.object.as_ref().map_or_else(
                || primary.clone(),
                |(namespace, name)| ObjectId {
                    kind: relation.kind.clone(),
                    namespace: namespace.as_deref().map(str::to_owned),
                    name: name.to_string(),
                },
            ),
            what: match change.what {
                What::Added => "added",
                What::Changed => "changed",
                What::Deleted => "deleted",
            },
            found_by_list: change.listed,
            resource_version: change.version.to_string(),
            fields: fields.map(|fields| fields.named.iter().map(|field| field.path.to_string()).collect()),
            more_fields: fields.map_or(0, |fields| fields.more),
            fate: match fate {
                Fate::Woke => "woke",
                Fate::Held => "held",
                Fate::OwnWrite => "own_write",
                Fate::Dropped => "dropped",
            },
            dropped_by: if fate == Fate::Dropped {
                relation.predicates.clone()
            } else {
                Vec::new()
            },
        }
    }

    pub(super) fn latest_first(noted: &[Noted], primary: &ObjectId, now: Instant) -> Vec<Self> {
        let latest_first = noted.iter().rev();
        latest_first
            .map(|noted| Self::new(&noted.change, noted.fate, primary, now))
            .collect()
    }
}

impl Change {
    /// The object, as a person names it; `None` for the key's own.
    pub(crate) fn named(&self) -> Option<String> {
        let (namespace, name) = self.object.as_ref()?;
        let kind = &self.relation.kind;
        Some(match namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        })
    }
}

impl fmt::Display for ChangeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ago: {} ({}) {}",
            Ago(self.ago_ms),
            self.object,
            self.relation,
            self.what
        )?;
        if self.found_by_list {
            f.write_str(", found by a list")?;
        }
        write!(f, ", resourceVersion {}", self.resource_version)?;
        match &self.fields {
            Some(fields) if !fields.is_empty() => write!(f, ": {}", fields.join(", "))?,
            None if self.what == "changed" => f.write_str(": not compared, too much changed then")?,
            _ => {}
        }
        if self.more_fields > 0 {
            write!(f, " and {} more", self.more_fields)?;
        }
        match (self.fate, self.dropped_by.as_slice()) {
            ("woke", _) => Ok(()),
            ("dropped", [_, ..]) => write!(f, " – passed none of: {}", self.dropped_by.join(", ")),
            ("own_write", _) => f.write_str(" – its own write"),
            (fate, _) => write!(f, " – {fate}"),
        }
    }
}

/// The answer in a person's words, one thing on a line.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} in {}: {}", self.object, self.controller, self.queue)?;
        for held in &self.held {
            writeln!(f, "held: {}", held.text)?;
        }
        if let Some(run) = &self.last_run {
            let result = run.report.error.as_deref().unwrap_or("ok");
            writeln!(f, "last run {} ago: {result}", Ago(run.ago_ms))?;
            writeln!(f, "  because: {}", run.report.causes.join(", "))?;
        }
        if self.failures > 0 {
            writeln!(f, "failures in a row: {}", self.failures)?;
        }
        if let Some(slowed) = &self.slowed {
            writeln!(
                f,
                "runs in circles ({} times): it waits {} after each",
                slowed.cycles,
                Ago(slowed.delay_ms)
            )?;
            slowed
                .fields
                .iter()
                .try_for_each(|field| writeln!(f, "  {field}"))?;
        }
        for (title, changes) in [
            ("woken by", &self.changes),
            ("not woken by", &self.ignored),
            ("dropped for this or other objects", &self.dropped_elsewhere),
        ] {
            if !changes.is_empty() {
                writeln!(f, "{title}:")?;
                changes.iter().try_for_each(|change| writeln!(f, "  {change}"))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("idle"),
            Self::Waiting { due_ms, causes } => {
                write!(f, "runs in {} ({})", Ago(*due_ms), causes.join(", "))
            }
            Self::Ready { since_ms, causes } => {
                write!(f, "ready for {} ({})", Ago(*since_ms), causes.join(", "))
            }
            Self::Running { since_ms, again } => {
                let again = if *again { ", and will run again" } else { "" };
                write!(f, "running for {}{again}", Ago(*since_ms))
            }
        }
    }
}

/// Milliseconds, as a person reads them.
struct Ago(u64);

impl fmt::Display for Ago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        match seconds {
            0..10 => write!(f, "{}.{} s", seconds, self.0 % 1000 / 100),
            10..120 => write!(f, "{seconds} s"),
            120..7200 => write!(f, "{} min", seconds / 60),
            _ => write!(f, "{} h", seconds / 3600),
        }
    }
}

pub(crate) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
