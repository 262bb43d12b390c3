//! The table behind a store: objects by name and by uid, without copies of either.
//!
//! Objects stand densely in one vector; two hash tables of positions find them. Keys are read from the
//! objects, so an object costs its `Arc`, a hash, a fingerprint, a mark and two positions. Iteration is in the order of
//! arrival (a removal moves the last object into the gap), never in hash order: what follows from an
//! iteration is the same in every process.

use std::{hash::BuildHasher, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashTable};
use kube::api::ObjectMeta;

use super::{
    Found, Seat,
    index::{IndexFn, Indexes},
};
use crate::{object::Object, pause::is_paused, uid::Uid};

/// The number of one listing. An entry carries that of the last listing which saw it.
pub(super) type Listing = u32;

struct Entry<T> {
    object: Arc<T>,
    /// Of namespace and name; so that a table that grows need not read the objects.
    hash: u64,
    uid: Option<Uid>,
    seen: Listing,
    /// Of the object, so that a run need not read it before the user does.
    paused: bool,
}

/// What came of putting an object in.
pub(super) enum Put<T> {
    /// It was there, at that version.
    Unchanged,
    Changed {
        /// The object of that name before.
        old: Option<Arc<T>>,
        new: Arc<T>,
    },
}

pub(super) struct Table<T> {
    entries: Vec<Entry<T>>,
    /// Positions in `entries`, by namespace and name. As many as entries.
    by_name: HashTable<u32>,
    /// Positions in `entries`, by uid; objects without a uid are not in it.
    by_uid: HashTable<u32>,
    hasher: DefaultHashBuilder,
    pub(super) indexes: Indexes<T>,
}

impl<T: Object> Table<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            by_name: HashTable::new(),
            by_uid: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            indexes: Indexes::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.entries.iter().map(|entry| &entry.object)
    }

    pub(super) fn at(&self, position: u32) -> Option<&Arc<T>> {
        self.entries.get(position as usize).map(|entry| &entry.object)
    }

    pub(super) fn get(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<T>> {
        self.at(self.position(namespace, name)?)
    }

    pub(super) fn get_uid(&self, uid: &str) -> Option<&Arc<T>> {
        let hash = Uid::of(uid).hash();
        let position = self
            .by_uid
            .find(hash, |&position| self.meta(position).uid.as_deref() == Some(uid))?;
        self.at(*position)
    }

    /// Where the object of that name is.
    pub(super) fn seat(&self, namespace: Option<&str>, name: &str) -> Option<Seat> {
        let hash = self.hasher.hash_one((namespace, name));
        let position = self.position_of(hash, namespace, name)?;
        Some(Seat::new(position, hash))
    }

    /// What is at that place, if it still belongs to the same name.
    pub(super) fn seated(&self, seat: Seat) -> Option<Found<T>> {
        let entry = self.entries.get(seat.position() as usize)?;
        (entry.hash == seat.hash).then(|| Found {
            object: Arc::clone(&entry.object),
            uid: entry.uid,
            paused: entry.paused,
            seat: Some(seat),
        })
    }

    /// Puts `object` in, unless it is there already at that version.
    pub(super) fn put(&mut self, object: T, seen: Listing) -> Put<T> {
        let (namespace, name) = names(object.meta());
        let hash = self.hasher.hash_one((namespace, name));
        let put = match self.position_of(hash, namespace, name) {
            Some(position) => self.replace(position, object, seen),
            None => self.push(object, hash, seen),
        };
        self.check();
        put
    }

    fn replace(&mut self, position: u32, object: T, seen: Listing) -> Put<T> {
        let entry = &mut self.entries[position as usize];
        entry.seen = seen;
        let (known, meta) = (entry.object.meta(), object.meta());
        let same_uid = known.uid == meta.uid;
        if same_uid && meta.resource_version.is_some() && known.resource_version == meta.resource_version {
            return Put::Unchanged;
        }
        if !same_uid {
            self.unlink_uid(position);
        }
        let new = Arc::new(object);
        let entry = &mut self.entries[position as usize];
        entry.uid = uid_of(&*new);
        entry.paused = is_paused(new.meta());
        let old = std::mem::replace(&mut entry.object, Arc::clone(&new));
        if !same_uid {
            self.link_uid(position);
        }
        self.indexes.replace(position, &new);
        Put::Changed { old: Some(old), new }
    }

    fn push(&mut self, object: T, hash: u64, seen: Listing) -> Put<T> {
        let position = narrow(self.entries.len());
        let new = Arc::new(object);
        self.entries.push(Entry {
            object: Arc::clone(&new),
            hash,
            uid: uid_of(&*new),
            seen,
            paused: is_paused(new.meta()),
        });
        let entries = &self.entries;
        self.by_name
            .insert_unique(hash, position, |&position| entries[position as usize].hash);
        self.link_uid(position);
        self.indexes.push(&new);
        Put::Changed { old: None, new }
    }

    /// Adds or replaces an index, over what is there.
    pub(super) fn build_index(&mut self, name: &str, values_of: IndexFn<T>) {
        let objects = self.entries.iter().map(|entry| &*entry.object);
        self.indexes.build(name, values_of, objects);
    }

    /// Marks an object as seen by a listing.
    pub(super) fn touch(&mut self, namespace: Option<&str>, name: &str, seen: Listing) -> Option<&Arc<T>> {
        let position = self.position(namespace, name)?;
        let entry = &mut self.entries[position as usize];
        entry.seen = seen;
        Some(&entry.object)
    }

    pub(super) fn remove(&mut self, namespace: Option<&str>, name: &str) -> Option<Arc<T>> {
        let position = self.position(namespace, name)?;
        self.unlink_name(position);
        self.unlink_uid(position);
        let last = narrow(self.entries.len() - 1);
        if last != position {
            self.unlink_name(last);
            self.unlink_uid(last);
        }
        let entry = self.entries.swap_remove(position as usize);
        self.indexes.swap_remove(position);
        if last != position {
            let entries = &self.entries;
            self.by_name
                .insert_unique(entries[position as usize].hash, position, |&position| {
                    entries[position as usize].hash
                });
            self.link_uid(position);
        }
        self.shrink();
        self.check();
        Some(entry.object)
    }

    /// The objects of a namespace (of all, when `None`) that `listing` has not seen.
    pub(super) fn unseen(&self, namespace: Option<&str>, listing: Listing) -> Vec<Arc<T>> {
        self.entries
            .iter()
            .filter(|entry| entry.seen != listing)
            .filter(|entry| namespace.is_none() || entry.object.meta().namespace.as_deref() == namespace)
            .map(|entry| Arc::clone(&entry.object))
            .collect()
    }

    fn position(&self, namespace: Option<&str>, name: &str) -> Option<u32> {
        self.position_of(self.hasher.hash_one((namespace, name)), namespace, name)
    }

    fn position_of(&self, hash: u64, namespace: Option<&str>, name: &str) -> Option<u32> {
        self.by_name
            .find(hash, |&position| names(self.meta(position)) == (namespace, name))
            .copied()
    }

    fn meta(&self, position: u32) -> &ObjectMeta {
        self.entries[position as usize].object.meta()
    }

    fn link_uid(&mut self, position: u32) {
        let entries = &self.entries;
        if let Some(uid) = entries[position as usize].uid {
            self.by_uid
                .insert_unique(uid.hash(), position, |&position| uid_hash(entries, position));
        }
    }

    fn unlink_uid(&mut self, position: u32) {
        let hash = uid_hash(&self.entries, position);
        if let Ok(found) = self.by_uid.find_entry(hash, |&other| other == position) {
            found.remove();
        }
    }

    fn unlink_name(&mut self, position: u32) {
        let hash = self.entries[position as usize].hash;
        if let Ok(found) = self.by_name.find_entry(hash, |&other| other == position) {
            found.remove();
        }
    }

    /// Gives memory back when three quarters of it are empty, so that churn costs O(1) each.
    fn shrink(&mut self) {
        let len = self.entries.len();
        if self.entries.capacity() < 64 || len > self.entries.capacity() / 4 {
            return;
        }
        self.entries.shrink_to(len * 2);
        let entries = &self.entries;
        self.by_name
            .shrink_to(len * 2, |&position| entries[position as usize].hash);
        self.by_uid
            .shrink_to(len * 2, |&position| uid_hash(entries, position));
        self.indexes.shrink_to(len * 2);
    }

    /// How much is allocated, by part.
    #[cfg(test)]
    pub(super) fn capacities(&self) -> (usize, usize, usize, usize) {
        (
            self.entries.capacity(),
            self.by_name.capacity(),
            self.by_uid.capacity(),
            self.indexes.capacity(),
        )
    }

    fn check(&self) {
        debug_assert_eq!(self.by_name.len(), self.entries.len(), "every entry has a name");
        debug_assert!(
            self.by_uid.len() <= self.entries.len(),
            "a uid belongs to an entry"
        );
    }
}

fn uid_of(object: &impl Object) -> Option<Uid> {
    object.meta().uid.as_deref().map(Uid::of)
}

fn uid_hash<T>(entries: &[Entry<T>], position: u32) -> u64 {
    entries[position as usize].uid.map_or(0, Uid::hash)
}

/// The names that make a key. An object without a name is not let into a store.
pub(super) fn names(meta: &ObjectMeta) -> (Option<&str>, &str) {
    (
        meta.namespace.as_deref(),
        meta.name.as_deref().unwrap_or_default(),
    )
}

#[expect(
    clippy::expect_used,
    reason = "four thousand million objects do not fit into memory"
)]
fn narrow(position: usize) -> u32 {
    u32::try_from(position).expect("fewer than 2^32 objects")
}
