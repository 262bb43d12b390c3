//! The order of ready slots: a list for each level, first come first served.
//!
//! Of the lists' heads that one runs first which counts as ready longest, by `since + penalty(level)`. The lists are
//! linked through the slots themselves, so that every step is O(1) and touches no memory but the slots at hand.

use std::hash::Hash;

use super::{
    Slots, later,
    levels::penalty,
    slot::{Place, SlotId, State},
};
use crate::{clock::Instant, trigger::Level};

const LEVELS: usize = Level::ALL.len();

/// Invariant: the list of a level holds exactly the slots in state `Ready` whose place is of that level.
#[derive(Debug, Default)]
pub(super) struct Ready {
    lists: [Option<List>; LEVELS],
}

/// A list that is not empty.
#[derive(Clone, Copy, Debug)]
struct List {
    first: SlotId,
    last: SlotId,
    len: usize,
}

impl Ready {
    pub(super) fn len(&self) -> usize {
        self.by_level().iter().sum()
    }

    pub(super) fn by_level(&self) -> [usize; LEVELS] {
        self.lists.map(|list| list.map_or(0, |list| list.len))
    }

    /// The slot whose turn it is.
    pub(super) fn first<K: Eq + Hash>(&self, slots: &Slots<K>) -> Option<SlotId> {
        let mut heads = self.lists.iter().rev().flatten().map(|list| list.first);
        let one = heads.next()?;
        // Mostly there is one list, and nothing to compare.
        let rank = |head: &SlotId| slots.get(*head).place().map(Place::rank);
        Some(heads.fold(
            one,
            |least, head| if rank(&head) < rank(&least) { head } else { least },
        ))
    }

    /// Puts a slot at the end of the list of its level.
    pub(super) fn push<K: Eq + Hash>(&mut self, slots: &mut Slots<K>, id: SlotId, since: Instant) {
        let slot = slots.get_mut(id);
        let list = &mut self.lists[slot.level as usize];
        let before = list.map(|list| list.last);
        slot.state = State::Ready(Place {
            since,
            level: slot.level,
            before,
            after: None,
        });
        link(slots, before, |before| before.after = Some(id));
        let (first, len) = list.map_or((id, 0), |list| (list.first, list.len));
        *list = Some(List {
            first,
            last: id,
            len: len + 1,
        });
    }

    /// Closes the gap that a slot leaves behind.
    pub(super) fn leave<K: Eq + Hash>(&mut self, slots: &mut Slots<K>, place: &Place) {
        link(slots, place.before, |before| before.after = place.after);
        link(slots, place.after, |after| after.before = place.before);
        let list = &mut self.lists[place.level as usize];
        *list = list.and_then(|list| {
            Some(List {
                // Without a neighbour on one side the other one is an end; without any, the list is empty.
                first: place.before.map_or(place.after, |_| Some(list.first))?,
                last: place.after.map_or(place.before, |_| Some(list.last))?,
                len: list.len - 1,
            })
        });
    }

    /// The neighbours of a slot and the ends of its list agree with its place. Costs O(1).
    pub(super) fn check<K: Eq + Hash>(&self, slots: &Slots<K>, id: SlotId, place: &Place) {
        let list = self.lists[place.level as usize];
        let of = |neighbour: SlotId| slots.get(neighbour).place();
        let before = place
            .before
            .map(|before| of(before).and_then(|before| before.after));
        let after = place.after.map(|after| of(after).and_then(|after| after.before));
        let (first, last) = (list.map(|list| list.first), list.map(|list| list.last));
        assert_eq!(before.unwrap_or(first), Some(id), "what is before it: {place:?}");
        assert_eq!(after.unwrap_or(last), Some(id), "what is after it: {place:?}");
    }
}

fn link<K: Eq + Hash>(slots: &mut Slots<K>, neighbour: Option<SlotId>, change: impl FnOnce(&mut Place)) {
    if let Some(id) = neighbour
        && let State::Ready(place) = &mut slots.get_mut(id).state
    {
        change(place);
    }
}

impl Place {
    /// When a slot counts as ready.
    fn rank(&self) -> Instant {
        later(self.since, penalty(self.level))
    }

    /// Whether a slot of that `level` which becomes ready `now` is before this one.
    pub(super) fn is_behind(&self, level: Level, now: Instant) -> bool {
        later(now, penalty(level)) < self.rank()
    }
}

#[cfg(any(test, fuzzing))]
impl Ready {
    pub(super) fn assert_invariants<K: Eq + Hash>(&self, slots: &Slots<K>) {
        for (level, list) in Level::ALL.into_iter().zip(self.lists) {
            let (mut before, mut next) = (None, list.map(|list| list.first));
            let mut len = 0;
            while let Some(id) = next {
                let Some(place) = slots.get(id).place() else {
                    panic!("a slot in a list is ready");
                };
                assert_eq!((place.level, place.before), (level, before));
                (before, next) = (Some(id), place.after);
                len += 1;
            }
            assert_eq!(
                (before, len),
                (list.map(|list| list.last), list.map_or(0, |list| list.len))
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock;

    proptest! {
        /// Each step pushes a key of that level after that many milliseconds, or takes one out.
        #[test]
        fn heads_run_by_rank_and_the_others_behind_them_in_order(
            steps in prop::collection::vec((0_usize..LEVELS, 0_u64..2_000, prop::option::of(0_usize..20)), 0..100),
        ) {
            let (mut ready, mut slots) = (Ready::default(), Slots::default());
            let mut model: Vec<Vec<(Instant, SlotId)>> = vec![Vec::new(); LEVELS];
            let mut now = clock::now();
            for (number, (level, wait, taken)) in steps.into_iter().enumerate() {
                now += std::time::Duration::from_millis(wait);
                let gone = taken.and_then(|taken| {
                    let list = model.iter_mut().find(|list| list.len() > taken)?;
                    Some(list.remove(taken).1)
                });
                if let Some(id) = gone {
                    let place = *slots.get(id).place().expect("it is ready");
                    ready.leave(&mut slots, &place);
                    slots.remove(id);
                } else {
                    let id = slots.find_or_insert(number, Level::ALL[level]);
                    ready.push(&mut slots, id, now);
                    model[level].push((now + penalty(Level::ALL[level]), id));
                }
                ready.assert_invariants(&slots);
                prop_assert_eq!(ready.by_level().to_vec(), model.iter().map(Vec::len).collect::<Vec<_>>());
                let first = model.iter().rev().filter_map(|list| list.first()).min_by_key(|head| head.0);
                prop_assert_eq!(ready.first(&slots), first.map(|head| head.1));
            }
        }
    }
}
