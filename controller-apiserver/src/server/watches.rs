//! The watches that are open.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

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
    /// How often all watches were ended; a watch lives while this stays as it was.
    epoch: AtomicU64,
    closing: Arc<Notify>,
}

impl Default for Watches {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
            epoch: AtomicU64::new(0),
            closing: Arc::default(),
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

    /// How often all watches were ended.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// A signal that fires when all watches are to end.
    pub(crate) fn closing(&self) -> Arc<Notify> {
        Arc::clone(&self.closing)
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        self.closing.notify_waiters();
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
                    .following(&progress.collection, cursor)
                    .map_or(1, |events| events.len());
                let lines = waiting + progress.in_hand.load(Ordering::Relaxed);
                (lines > 0).then(|| format!("{} ({lines} to deliver)", progress.what))
            })
            .collect()
    }
}
