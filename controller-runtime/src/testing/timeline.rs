//! What happened in a cluster, as lines to read when a test has failed.

use std::{collections::HashMap, fmt, fmt::Write as _, time::Duration};

use jiff::Timestamp;

use super::{Cluster, Entry, Event, OPERATOR, SETUP, record::Line};
use crate::manager::{Happening, RunReport, RunResult};

/// So many lines are shown; what was before is counted.
const SHOWN: usize = 200;

/// Shown when a test has failed.
pub(super) struct Timeline {
    seed: u64,
    lines: Vec<String>,
}

impl Cluster {
    /// Reconciles, requests and Events, in the order in which they happened.
    pub(super) async fn timeline(&self) -> Timeline {
        // What was injected for the test shall not hide what happened in it.
        self.inner.server.faults().clear();
        let journal = self.inner.server.journal();
        let setup = self.inner.server.client_named(SETUP);
        let events = self.stored_events(setup).await.unwrap_or_default();
        let events = events.into_iter().collect();
        Timeline {
            seed: self.inner.seed,
            lines: lines(
                self.inner.epoch,
                journal.entries(),
                &self.inner.record.lines(),
                &events,
            ),
        }
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nWhat happened (seed {}, time since the beginning):",
            self.seed
        )?;
        let hidden = self.lines.len().saturating_sub(SHOWN);
        if hidden > 0 {
            writeln!(f, "  … {hidden} lines before these")?;
        }
        self.lines
            .iter()
            .skip(hidden)
            .try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Requests and happenings, merged: a happening knows the request before it.
fn lines(epoch: Timestamp, entries: &[Entry], record: &[Line], events: &HashMap<u64, Event>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut record = record.iter().peekable();
    let mut told = |until: u64, lines: &mut Vec<String>| {
        while let Some(line) = record.next_if(|line| line.after < until) {
            lines.extend(happening(line));
        }
    };
    for entry in entries {
        told(entry.sequence, &mut lines);
        lines.extend(request(epoch, entry, events));
    }
    told(u64::MAX, &mut lines);
    lines
}

fn line(at: Duration, word: &str, text: &str) -> String {
    format!("{:>12.3}s  {word:<9}  {text}", at.as_secs_f64())
}

fn request(epoch: Timestamp, entry: &Entry, events: &HashMap<u64, Event>) -> Option<String> {
    if entry.user_agent == SETUP || entry.resource.starts_with("selfsubject") {
        return None;
    }
    let at = Duration::try_from(entry.time.duration_since(epoch)).unwrap_or_default();
    if let Some(event) = events
        .get(&entry.revision)
        .filter(|_| entry.resource == "events" && entry.is_write())
    {
        return Some(line(at, "event", &event.to_string()));
    }
    let word = if entry.user_agent.starts_with(OPERATOR) {
        "request"
    } else {
        "test"
    };
    let mut text = format!("{} {}", entry.verb, entry.resource);
    for (before, part) in [
        ("/", &entry.subresource),
        (" ", &entry.namespace),
        (if entry.namespace.is_empty() { " " } else { "/" }, &entry.name),
    ] {
        if !part.is_empty() {
            text.push_str(before);
            text.push_str(part);
        }
    }
    let _ = match entry.code {
        0 => write!(text, " → no answer"),
        code => write!(text, " → {code} {}", entry.reason),
    };
    let mut text = text.trim_end().to_owned();
    if !entry.fault.is_empty() {
        let _ = write!(text, " (fault: {})", entry.fault);
    }
    Some(line(at, word, &text))
}

fn happening(told: &Line) -> Option<String> {
    let (word, text) = match &told.happening {
        Happening::Synced { controller, .. } => ("synced", format!("{controller}: all stores are filled")),
        Happening::SourceFailing { source, message, .. } => {
            ("failing", format!("watch of {}: {message}", source.kind))
        }
        Happening::SourceRecovered { source, .. } => ("recovered", format!("watch of {}", source.kind)),
        Happening::Leadership { leadership } => ("election", leadership.clone()),
        Happening::MissingRights { missing } if missing.is_empty() => return None,
        Happening::MissingRights { missing } => ("missing", missing.join("; ")),
        Happening::Undecodable { undecodable, .. } => ("unreadable", undecodable.to_string()),
        Happening::MapperPanicked { kind, message, .. } => ("panic", format!("mapper of {kind}: {message}")),
        Happening::Reconciled { object, report, .. } => {
            ("reconcile", format!("{object}: {}", outcome(report)))
        }
        Happening::Gone { object, .. } => ("gone", object.to_string()),
        Happening::ControllerFailed { controller, message } => ("ended", format!("{controller}: {message}")),
        Happening::Stopping { .. } => ("stopping", String::new()),
        _ => return None,
    };
    Some(line(told.at, word, &text))
}

fn outcome(report: &RunReport) -> String {
    let mut text = match report.result {
        RunResult::Ok => "ok",
        RunResult::Error => "failed",
        RunResult::Permanent => "failed for good",
        RunResult::Panic => "panicked",
        RunResult::Timeout => "timed out",
        RunResult::Interrupted => "interrupted",
    }
    .to_owned();
    if let Some(error) = &report.error {
        let _ = write!(text, ": {error}");
    }
    if let Some(next) = report.next_ms {
        let _ = write!(text, "; next in {:?}", Duration::from_millis(next));
    }
    if report.duration_ms > 0 {
        let _ = write!(text, "; took {:?}", Duration::from_millis(report.duration_ms));
    }
    let _ = write!(text, " (because: {})", report.causes.join(", "));
    text
}
