//! The watches that are open.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::storage::Store;
use crate::watch::Progress;

#[derive(Debug, Default)]
struct Table {
    next: u64,
    open: BTreeMap<u64, Arc<Progress>>,
}

/// The watches that are open.
#[derive(Debug)]
pub(crate) struct Watches {
    table: Mutex<Table>,
    closed: watch::Sender<u64>,
}

impl Default for Watches {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
            closed: watch::Sender::new(0),
        }
    }
}

impl Watches {
    pub(crate) fn add(&self, progress: Arc<Progress>) -> u64 {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.next += 1;
        let id = table.next;
        table.open.insert(id, progress);
        id
    }

    pub(crate) fn remove(&self, id: u64) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.open.remove(&id);
    }

    /// A signal that fires when all watches are to end.
    pub(crate) fn closed(&self) -> watch::Receiver<u64> {
        self.closed.subscribe()
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        self.closed.send_modify(|n| *n += 1);
    }

    /// Watches that have not handed out everything yet.
    pub(crate) fn behind(&self, store: &Store) -> Vec<String> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table
            .open
            .values()
            .filter(|progress| !progress.held.load(Ordering::Relaxed))
            .filter_map(|progress| {
                let cursor = progress.cursor.load(Ordering::Relaxed);
                let waiting = store
                    .events(&progress.collection, cursor)
                    .map_or(1, |events| events.len());
                let lines = waiting + progress.in_hand.load(Ordering::Relaxed);
                (lines > 0).then(|| format!("{} ({lines} to deliver)", progress.what))
            })
            .collect()
    }
}
