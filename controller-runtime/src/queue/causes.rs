//! The last few causes of a key's run.

use crate::trigger::Cause;

/// How many causes a key keeps.
const KEPT: usize = 4;

/// Causes, oldest first; at most four, and no two alike in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    list: Vec<Cause>,
}

impl Causes {
    pub(super) fn add(&mut self, cause: Cause) {
        if self.list.last() == Some(&cause) {
            return;
        }
        if self.list.len() == KEPT {
            self.list.remove(0);
        }
        // Most keys have one cause: grow by one, not by Vec's four.
        self.list.reserve_exact(1);
        self.list.push(cause);
    }

    pub(super) fn append(&mut self, later: Self) {
        for cause in later.list {
            self.add(cause);
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) fn as_slice(&self) -> &[Cause] {
        &self.list
    }
}
