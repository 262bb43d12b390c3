//! What the controllers have to look at, and the index they look it up with.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{definition, roles};
use crate::storage::Stored;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    /// An object that owns, or is owned.
    Object { collection: Arc<str>, key: String },
    /// A namespace that is new, or going.
    Namespace(String),
    /// A definition that is going.
    Definition(String),
    /// The cluster roles: one of them has changed.
    ClusterRoles,
}

/// A place in the store.
pub(crate) type Place = (Arc<str>, String);

/// The queue, and who owns whom.
#[derive(Debug, Default)]
pub(crate) struct Work {
    queue: VecDeque<Item>,
    /// What is in the queue: an item is there once.
    queued: BTreeSet<Item>,
    /// Where the object with a uid is.
    places: BTreeMap<Box<str>, Place>,
    /// The objects that name a uid as their owner.
    dependents: BTreeMap<Box<str>, BTreeSet<Place>>,
    /// Workloads and Pods are looked at whoever owns them.
    pub(crate) workloads: bool,
    /// Namespaces and definitions being deleted: removals in them matter.
    going: BTreeSet<String>,
}

impl Work {
    /// Takes note of a commit.
    pub(crate) fn changed(
        &mut self,
        collection: &str,
        key: &str,
        old: Option<&Stored>,
        new: Option<&Stored>,
    ) {
        let place: Place = (collection.into(), key.to_owned());
        let empty: &[Box<str>] = &[];
        let old_owners = old.map_or(empty, |object| &object.owners);
        let new_owners = new.map_or(empty, |object| &object.owners);
        for uid in old_owners.iter().filter(|uid| !new_owners.contains(uid)) {
            if let Some(places) = self.dependents.get_mut(uid) {
                places.remove(&place);
                if places.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
        for uid in new_owners.iter().filter(|uid| !old_owners.contains(uid)) {
            self.dependents
                .entry(uid.clone())
                .or_default()
                .insert(place.clone());
        }
        match (old, new) {
            (_, Some(object)) => {
                self.places
                    .entry(object.uid.clone())
                    .or_insert_with(|| place.clone());
                if old.is_some_and(|old| old.uid != object.uid) {
                    debug_assert!(false, "an object changed its uid");
                }
            }
            (Some(object), None) => {
                self.places.remove(&object.uid);
            }
            (None, None) => {}
        }
        self.note(&place, old, new, old_owners, new_owners);
    }

    fn note(
        &mut self,
        place: &Place,
        old: Option<&Stored>,
        new: Option<&Stored>,
        old_owners: &[Box<str>],
        new_owners: &[Box<str>],
    ) {
        let (collection, key) = place;
        if roles::is_collection(collection) {
            self.push(Item::ClusterRoles);
        }
        if new.is_none() {
            let uid = old.map(|object| object.uid.clone()).unwrap_or_default();
            let orphans = self.dependents.get(&uid).cloned().unwrap_or_default();
            for (collection, key) in orphans {
                self.push(Item::Object { collection, key });
            }
            if let Some((namespace, _)) = key.split_once('/')
                && self.going.contains(&format!("namespace {namespace}"))
            {
                self.push(Item::Namespace(namespace.to_owned()));
            }
            if let Some(definition) = definition::of_collection(collection)
                && self.going.contains(&format!("definition {definition}"))
            {
                self.push(Item::Definition(definition));
            }
            self.going.remove(&format!("namespace {key}"));
            if let Some(namespace) = super::account::namespace_of(collection, key) {
                self.push(Item::Namespace(namespace.to_owned()));
            }
        } else {
            let simulated = self.workloads && super::workloads::is_collection(collection);
            if simulated || new.is_some_and(|object| object.held_by_collector) || !new_owners.is_empty() {
                self.push(Item::Object {
                    collection: Arc::clone(collection),
                    key: key.clone(),
                });
            }
            if &**collection == "namespaces" {
                self.push(Item::Namespace(key.clone()));
            }
        }
        for uid in old_owners.iter().chain(new_owners) {
            if let Some((collection, key)) = self.places.get(uid).cloned() {
                self.push(Item::Object { collection, key });
            }
        }
    }

    /// A kind is served, perhaps again: owners that were taken for living, because nobody knew their kind, can be looked for.
    pub(crate) fn kind_served(&mut self) {
        let lost = self
            .dependents
            .iter()
            .filter(|(uid, _)| !self.places.contains_key(*uid));
        let dependents: Vec<_> = lost.flat_map(|(_, places)| places.iter().cloned()).collect();
        for (collection, key) in dependents {
            self.push(Item::Object { collection, key });
        }
    }

    /// Notes something to look at, once.
    pub(crate) fn push(&mut self, item: Item) {
        if self.queued.insert(item.clone()) {
            self.queue.push_back(item);
        }
    }

    pub(crate) fn next(&mut self) -> Option<Item> {
        let item = self.queue.pop_front()?;
        self.queued.remove(&item);
        Some(item)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Removals in this namespace are to be told.
    pub(crate) fn namespace_goes(&mut self, name: &str) {
        self.going.insert(format!("namespace {name}"));
    }

    /// Removals of this definition's objects are to be told.
    pub(crate) fn definition_goes(&mut self, name: &str) {
        self.going.insert(format!("definition {name}"));
    }

    /// The definition is gone.
    pub(crate) fn definition_gone(&mut self, name: &str) {
        self.going.remove(&format!("definition {name}"));
    }

    /// The objects that name this uid as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }
}
