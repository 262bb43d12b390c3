//! Whether an operator does its work, from its status alone. Pure.
//!
//! Red until every controller has been in sync once, and from the first signal on; red when a controller has ended. Green
//! otherwise: an API server that goes away later makes every replica *degraded*, and a red one would only take the
//! webhooks and metrics of all replicas away at the same time.

use std::fmt;

use super::status::{ControllerStatus, OperatorStatus, Phase, SourceState, SourceStatus};

/// So many undecodable objects of one source are named.
const MOST_NAMED: usize = 5;

/// Who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// Someone at this machine, who may read names of objects.
    Here,
    /// Anyone else.
    Elsewhere,
}

/// Whether the operator does its work, and what is amiss.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Readiness {
    /// It does.
    Ready,
    /// It does as far as it can; each line says what is amiss.
    Degraded(Vec<String>),
    /// It does not; each line says why.
    NotReady(Vec<String>),
}

impl Readiness {
    /// Whether `/readyz` answers 200.
    pub fn is_ready(&self) -> bool {
        !matches!(self, Self::NotReady(_))
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, lines) = match self {
            Self::Ready => ("ready", [].as_slice()),
            Self::Degraded(lines) => ("ready, degraded", lines.as_slice()),
            Self::NotReady(lines) => ("not ready", lines.as_slice()),
        };
        writeln!(f, "{word}")?;
        lines.iter().try_for_each(|line| writeln!(f, "- {line}"))
    }
}

pub(super) fn judge(status: &OperatorStatus, asker: Asker) -> Readiness {
    let rights = status.missing_rights.iter().cloned();
    let red: Vec<_> = match status.phase {
        Phase::Running => status.controllers.iter().flat_map(blockers).collect(),
        Phase::Stopping => std::iter::once("stopping".to_owned())
            .chain(status.controllers.iter().filter_map(ended))
            .collect(),
    };
    if !red.is_empty() {
        return Readiness::NotReady(red.into_iter().chain(rights).collect());
    }
    let amiss: Vec<_> = status
        .controllers
        .iter()
        .flat_map(|controller| {
            let sources = controller.sources.iter();
            sources.flat_map(|source| {
                let trouble = trouble(&controller.name, source).into_iter();
                trouble
                    .chain(unserved(&controller.name, source))
                    .chain(undecodable(&controller.name, source, asker))
            })
        })
        .chain(rights)
        .collect();
    if amiss.is_empty() {
        Readiness::Ready
    } else {
        Readiness::Degraded(amiss)
    }
}

fn blockers(controller: &ControllerStatus) -> Vec<String> {
    if let Some(line) = ended(controller) {
        return vec![line];
    }
    if controller.synced {
        return Vec::new();
    }
    let mut lines: Vec<_> = controller
        .sources
        .iter()
        .flat_map(|source| {
            let unsynced = unsynced(&controller.name, source).into_iter();
            unsynced.chain(unserved(&controller.name, source))
        })
        .collect();
    if lines.is_empty() {
        lines.push(format!("{}: starting", controller.name));
    }
    lines
}

fn ended(controller: &ControllerStatus) -> Option<String> {
    let reason = controller.ended.as_ref()?;
    Some(format!("{}: ended: {reason}", controller.name))
}

fn unsynced(controller: &str, source: &SourceStatus) -> Option<String> {
    match source.state {
        SourceState::Listing => Some(format!(
            "{controller}: {} is not in sync: the first list is not complete",
            place(source)
        )),
        SourceState::Failing { .. } => trouble(controller, source),
        SourceState::Watching => None,
    }
}

fn trouble(controller: &str, source: &SourceStatus) -> Option<String> {
    match &source.state {
        SourceState::Failing { message } => Some(format!("{controller}: {}: {message}", place(source))),
        SourceState::Listing | SourceState::Watching => None,
    }
}

fn unserved(controller: &str, source: &SourceStatus) -> Option<String> {
    let message = source.unserved.as_ref()?;
    Some(format!("{controller}: {}: {message}", place(source)))
}

/// The first few by name: a kind whose every object is broken needs no more to be understood.
fn undecodable(controller: &str, source: &SourceStatus, asker: Asker) -> Vec<String> {
    let most = match asker {
        Asker::Here => MOST_NAMED,
        Asker::Elsewhere => 0,
    };
    let (first, more) = source.undecodable.split_at(source.undecodable.len().min(most));
    let named = first.iter().map(|object| format!("{controller}: {object}"));
    let more = (!more.is_empty()).then(|| {
        let (kind, count) = (place(source), more.len());
        let more = if first.is_empty() { "" } else { " more" };
        format!("{controller}: {kind}: {count}{more} cannot be decoded; `/status` names them")
    });
    named.chain(more).collect()
}

fn place(source: &SourceStatus) -> String {
    match &source.source.namespace {
        Some(namespace) => format!("{} in namespace {namespace}", source.source.kind),
        None => source.source.kind.clone(),
    }
}
