//! The slots by number and by key.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{Slot, SlotId, State};
use crate::trigger::Level;

/// Every key with something to do or to remember.
#[derive(Debug)]
pub(super) struct Slots<K> {
    /// The numbers of the occupied entries, each once, found by the hash of its key.
    by_key: HashTable<SlotId>,
    hasher: DefaultHashBuilder,
    entries: Vec<Option<Slot<K>>>,
    /// The numbers of the empty entries.
    free: Vec<SlotId>,
    /// How many slots were freed since the last look at the memory in use.
    freed: usize,
}

impl<K> Default for Slots<K> {
    fn default() -> Self {
        Self {
            by_key: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            entries: Vec::new(),
            free: Vec::new(),
            freed: 0,
        }
    }
}

impl<K: Eq + Hash> Slots<K> {
    pub(super) fn find(&self, key: &K) -> Option<SlotId> {
        self.find_hashed(self.hasher.hash_one(key), key)
    }

    fn find_hashed(&self, hash: u64, key: &K) -> Option<SlotId> {
        let found = self.by_key.find(hash, |id| self.get(*id).key == *key);
        found.copied()
    }

    pub(super) fn state(&self, id: SlotId) -> Option<&State> {
        self.entries.get(id.index())?.as_ref().map(|slot| &slot.state)
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(super) fn find_or_insert(&mut self, key: K, level: Level) -> SlotId {
        let hash = self.hasher.hash_one(&key);
        if let Some(id) = self.find_hashed(hash, &key) {
            return id;
        }
        let slot = Slot::new(key, hash, level);
        let id = if let Some(id) = self.free.pop() {
            self.entries[id.index()] = Some(slot);
            id
        } else {
            let id = SlotId::new(u32::try_from(self.entries.len()).unwrap_or(u32::MAX - 1));
            self.entries.push(Some(slot));
            id
        };
        let entries = &self.entries;
        self.by_key.insert_unique(hash, id, |id| hash_of(entries, *id));
        id
    }

    #[expect(
        clippy::expect_used,
        reason = "invariant: a slot number is given out only while its slot exists"
    )]
    pub(super) fn get(&self, id: SlotId) -> &Slot<K> {
        self.entries[id.index()].as_ref().expect("the slot exists")
    }

    #[expect(
        clippy::expect_used,
        reason = "invariant: a slot number is given out only while its slot exists"
    )]
    pub(super) fn get_mut(&mut self, id: SlotId) -> &mut Slot<K> {
        self.entries[id.index()].as_mut().expect("the slot exists")
    }

    /// All slots, by their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SlotId, &Slot<K>)> {
        let numbered = (0..).map(SlotId::new).zip(&self.entries);
        numbered.filter_map(|(id, slot)| Some((id, slot.as_ref()?)))
    }

    pub(super) fn remove(&mut self, id: SlotId) {
        if let Some(slot) = self.entries[id.index()].take() {
            if let Ok(found) = self.by_key.find_entry(slot.hash, |other| *other == id) {
                found.remove();
            }
            self.free.push(id);
            self.freed += 1;
        }
    }

    /// Gives memory back when most slots are empty; returns how many numbers are in use then.
    ///
    /// It looks once in a quarter as many removals as there are entries, so it costs O(1) for each. Numbers cannot move, so
    /// entries shrink to the highest one that is occupied.
    pub(super) fn shrink(&mut self) -> Option<usize> {
        const SMALL: usize = 1024;
        let (live, all) = (self.by_key.len(), self.entries.len());
        if all <= SMALL || live * 4 > all || (live > 0 && self.freed * 4 < all) {
            return None;
        }
        self.freed = 0;
        let used = self
            .entries
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |last| last + 1);
        if used * 2 > self.entries.len() {
            return None;
        }
        self.entries.truncate(used);
        self.entries.shrink_to_fit();
        self.free.retain(|id| id.index() < used);
        self.free.shrink_to_fit();
        let entries = &self.entries;
        self.by_key.shrink_to_fit(|id| hash_of(entries, *id));
        Some(used)
    }
}

fn hash_of<K>(entries: &[Option<Slot<K>>], id: SlotId) -> u64 {
    entries[id.index()].as_ref().map_or(0, |slot| slot.hash)
}

#[cfg(any(test, fuzzing))]
impl<K: Eq + Hash> Slots<K> {
    pub(super) fn capacity(&self) -> usize {
        self.entries.capacity().max(self.by_key.capacity())
    }

    pub(super) fn assert_invariants(&self) {
        assert_eq!(self.by_key.len() + self.free.len(), self.entries.len());
        for (id, slot) in self.iter() {
            assert_eq!(self.find(&slot.key), Some(id));
        }
        assert!(self.free.iter().all(|id| self.entries[id.index()].is_none()));
    }
}
