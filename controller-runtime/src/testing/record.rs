//! What the operators of a cluster told of themselves, in order with the requests.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::Server;
use crate::{
    clock::{self, Instant},
    manager::Happening,
};

/// How much is kept; the oldest goes first.
const KEPT: usize = 100_000;

/// What happened, and when.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Since the cluster began.
    pub(super) at: Duration,
    /// The number of the last request before it.
    pub(super) after: u64,
    pub(super) happening: Happening,
}

/// Clones write to one record.
#[derive(Clone, Debug)]
pub(super) struct Record {
    server: Server,
    began: Instant,
    /// Invariant: at most [`KEPT`].
    lines: Arc<Mutex<VecDeque<Line>>>,
}

impl Record {
    pub(super) fn new(server: Server) -> Self {
        Self {
            server,
            began: clock::now(),
            lines: Arc::default(),
        }
    }

    /// Writes down what it is told.
    pub(super) fn listener(&self) -> impl Fn(&Happening) + Send + Sync + use<> {
        let record = self.clone();
        move |happening| {
            let line = Line {
                at: record.began.elapsed(),
                after: record.server.requests(),
                happening: happening.clone(),
            };
            let mut lines = record.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == KEPT {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}
