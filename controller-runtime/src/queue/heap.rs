//! A priority queue of slots in which any entry can be moved or taken out in O(log n).
//!
//! Stale entries would have to be swept; here there are none, so its size is the number of slots in it.

use super::SlotId;

/// How many children a node has: flat enough that a large heap touches few cache lines.
const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// Slots, the one with the least priority first.
#[derive(Debug)]
pub(super) struct Heap<P> {
    /// Heap-ordered: no entry is less than its parent.
    entries: Vec<(P, SlotId)>,
    /// `entries[positions[slot]].1 == slot` for every slot in the heap; `ABSENT` for the others.
    positions: Vec<u32>,
}

impl<P> Default for Heap<P> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            positions: Vec::new(),
        }
    }
}

impl<P: Ord + Copy> Heap<P> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn first(&self) -> Option<(P, SlotId)> {
        self.entries.first().copied()
    }

    pub(super) fn contains(&self, slot: SlotId) -> bool {
        self.positions.get(slot.index()).is_some_and(|at| *at != ABSENT)
    }

    /// Puts `slot` in, or moves it.
    pub(super) fn set(&mut self, slot: SlotId, priority: P) {
        let index = slot.index();
        if index >= self.positions.len() {
            self.positions.resize(index + 1, ABSENT);
        }
        let at = match self.positions[index] {
            ABSENT => {
                self.entries.push((priority, slot));
                self.entries.len() - 1
            }
            at => {
                self.entries[at as usize].0 = priority;
                at as usize
            }
        };
        let at = self.rise(at);
        self.sink(at);
    }

    /// Takes `slot` out, if it is in.
    pub(super) fn remove(&mut self, slot: SlotId) {
        let Some(&at) = self.positions.get(slot.index()) else {
            return;
        };
        if at == ABSENT {
            return;
        }
        let at = at as usize;
        self.entries.swap_remove(at);
        self.positions[slot.index()] = ABSENT;
        if at < self.entries.len() {
            let at = self.rise(at);
            self.sink(at);
        }
    }

    /// Gives memory back when most of it is unused; `slots` is how many slot numbers are in use.
    pub(super) fn shrink(&mut self, slots: usize) {
        self.positions.truncate(slots);
        self.positions.shrink_to_fit();
        self.entries.shrink_to(self.entries.len() * 2);
    }

    fn rise(&mut self, mut at: usize) -> usize {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.entries[parent].0 <= self.entries[at].0 {
                break;
            }
            self.entries.swap(parent, at);
            self.note(at);
            at = parent;
        }
        self.note(at);
        at
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let children = at * ARITY + 1..(at * ARITY + 1 + ARITY).min(self.entries.len());
            let Some(least) = children.min_by_key(|child| self.entries[*child].0) else {
                break;
            };
            if self.entries[at].0 <= self.entries[least].0 {
                break;
            }
            self.entries.swap(at, least);
            self.note(at);
            at = least;
        }
        self.note(at);
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most u32::MAX slots")]
    fn note(&mut self, at: usize) {
        self.positions[self.entries[at].1.index()] = at as u32;
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn assert_invariants(&self) {
        for (at, (priority, slot)) in self.entries.iter().enumerate() {
            assert_eq!(self.positions[slot.index()] as usize, at);
            assert!(at == 0 || self.entries[(at - 1) / ARITY].0 <= *priority);
        }
        let present = self.positions.iter().filter(|at| **at != ABSENT).count();
        assert_eq!(present, self.entries.len());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_as_a_sorted_map(ops in prop::collection::vec((0_u32..20, prop::option::of(0_u8..50)), 0..200)) {
            let mut heap = Heap::default();
            let mut model = BTreeMap::new();
            for (slot, priority) in ops {
                let id = SlotId::new(slot);
                if let Some(priority) = priority {
                    heap.set(id, priority);
                    model.insert(slot, priority);
                } else {
                    heap.remove(id);
                    model.remove(&slot);
                }
                heap.assert_invariants();
                prop_assert_eq!(heap.len(), model.len());
                prop_assert_eq!(heap.first().map(|entry| entry.0), model.values().min().copied());
            }
        }
    }
}
