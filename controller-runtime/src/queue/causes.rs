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

    const fn cause(self) -> Plain {
        match self {
            Self::Resync => Plain::Bulk,
            Self::Requeue => Plain::Requeue,
            Self::Retry => Plain::Retry,
        }
    }
}

/// A cause that says everything by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plain {
    Initial,
    Updated,
    Deleted,
    Relist,
    Requeue,
    Retry,
    Bulk,
}

impl Plain {
    const fn of(cause: &Cause) -> Option<Self> {
        Some(match cause {
            Cause::Initial => Self::Initial,
            Cause::Updated => Self::Updated,
            Cause::Deleted => Self::Deleted,
            Cause::Relist => Self::Relist,
            Cause::Requeue => Self::Requeue,
            Cause::Retry => Self::Retry,
            Cause::Bulk => Self::Bulk,
            Cause::Related { .. } | Cause::External(_) => return None,
        })
    }

    const fn whole(self) -> Cause {
        match self {
            Self::Initial => Cause::Initial,
            Self::Updated => Cause::Updated,
            Self::Deleted => Cause::Deleted,
            Self::Relist => Cause::Relist,
            Self::Requeue => Cause::Requeue,
            Self::Retry => Cause::Retry,
            Self::Bulk => Cause::Bulk,
        }
    }
}

/// Causes, oldest first; at most four, and no two alike in a row.
///
/// A first one that says everything by its kind costs no allocation: most runs of most keys have that cause alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes {
    first: Option<Plain>,
    /// The others.
    told: Vec<Cause>,
}

impl Causes {
    pub(super) fn add(&mut self, cause: Cause) {
        if self.told.is_empty()
            && let Some(plain) = Plain::of(&cause)
            && self.first.is_none_or(|first| first == plain)
        {
            self.first = Some(plain);
            return;
        }
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
        for cause in later.first.map(Plain::whole).into_iter().chain(later.told) {
            self.add(cause);
        }
    }

    /// It runs before the time that the reconciler asked for: that is no cause of this run.
    pub(super) fn overtake(&mut self) {
        if self.first == Some(Plain::Requeue) {
            self.first = None;
        }
    }

    /// Begins anew with what was planned.
    pub(super) fn plan(&mut self, planned: Option<Planned>) {
        self.first = planned.map(Planned::cause);
        self.told.clear();
    }

    pub(crate) fn to_vec(&self) -> Vec<Cause> {
        let first = self.first.filter(|_| self.told.len() < KEPT);
        first
            .map(Plain::whole)
            .into_iter()
            .chain(self.told.iter().cloned())
            .collect()
    }
}

impl FromIterator<Cause> for Causes {
    fn from_iter<I: IntoIterator<Item = Cause>>(causes: I) -> Self {
        let mut all = Self::default();
        causes.into_iter().for_each(|cause| all.add(cause));
        all
    }
}
