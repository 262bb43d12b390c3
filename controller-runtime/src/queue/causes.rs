//! The last few causes of a key's run.

use crate::trigger::{Cause, Level};

/// How many causes a key keeps.
const KEPT: usize = 4;

/// What the end of a run itself asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Planned {
    /// Every object runs once in a while.
    Resync,
    /// The reconciler, or the error policy, asked for it.
    Requeue,
    /// The run failed.
    Retry,
}

impl Planned {
    pub(super) const fn level(self) -> Level {
        match self {
            Self::Resync => Level::Bulk,
            Self::Requeue => Level::Requeue,
            Self::Retry => Level::Retry,
        }
    }

    const fn cause(self) -> Cause {
        match self {
            Self::Resync => Cause::Bulk,
            Self::Requeue => Cause::Requeue,
            Self::Retry => Cause::Retry,
        }
    }
}

/// Causes, oldest first; at most four, and no two alike in a row.
///
/// What was planned comes first, for a plan is made at the end of a run. It costs no allocation: most runs of most keys
/// have that cause alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    planned: Option<Planned>,
    told: Vec<Cause>,
}

impl Causes {
    pub(super) fn add(&mut self, cause: Cause) {
        if self.told.last() == Some(&cause) {
            return;
        }
        if self.told.len() == KEPT {
            self.told.remove(0);
        }
        // Most keys have one cause: grow by one, not by Vec's four.
        self.told.reserve_exact(1);
        self.told.push(cause);
    }

    pub(super) fn append(&mut self, later: Self) {
        for cause in later.told {
            self.add(cause);
        }
    }

    /// Begins anew with what was planned.
    pub(super) fn plan(&mut self, planned: Option<Planned>) {
        self.planned = planned;
        self.told.clear();
    }

    pub(super) fn to_vec(&self) -> Vec<Cause> {
        let planned = self.planned.filter(|_| self.told.len() < KEPT);
        planned
            .map(Planned::cause)
            .into_iter()
            .chain(self.told.iter().cloned())
            .collect()
    }
}
