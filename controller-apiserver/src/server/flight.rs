//! Which requests are under way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// What is asked, and whether only time can move it.
    requests: BTreeMap<u64, (String, bool)>,
}

/// The requests under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights(Arc<Mutex<Table>>);

impl Flights {
    pub(super) fn start(&self, what: String) -> Flight {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.next += 1;
        let id = table.next;
        table.requests.insert(id, (what, false));
        Flight {
            id,
            flights: self.clone(),
        }
    }

    /// What is under way and can go on without time passing.
    pub(super) fn moving(&self) -> Vec<String> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table
            .requests
            .values()
            .filter(|(_, parked)| !parked)
            .map(|(what, _)| what.clone())
            .collect()
    }
}

/// A request is under way while this lives.
#[derive(Debug)]
pub(crate) struct Flight {
    id: u64,
    flights: Flights,
}

impl Flight {
    /// Only time, or nothing, moves the request on.
    pub(super) fn park(&self, parked: bool) {
        let mut table = self.flights.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = table.requests.get_mut(&self.id) {
            entry.1 = parked;
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut table = self.flights.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.requests.remove(&self.id);
    }
}
