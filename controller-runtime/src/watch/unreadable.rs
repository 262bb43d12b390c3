//! The objects of one source that could not be decoded.

use std::{collections::BTreeMap, sync::Arc};

use super::{Undecodable, wire::Identity};
use crate::store::Listing;

/// So many are told by name; a kind whose every object is broken needs no more to be understood.
const MOST_TOLD: usize = 100;

type Name = (Option<String>, String);

/// Who could not be decoded, and in which list that was seen last.
#[derive(Debug, Default)]
pub(super) struct Collection {
    known: BTreeMap<Name, (Undecodable, Listing)>,
    changed: bool,
}

impl Collection {
    /// True when this is news: a list brings what is known again.
    pub(super) fn add(&mut self, identity: Identity, message: String, listing: Listing) -> bool {
        let name = (identity.namespace, identity.name.unwrap_or_default());
        if self.known.len() >= MOST_TOLD && !self.known.contains_key(&name) {
            return false;
        }
        let undecodable = Undecodable {
            uid: identity.uid,
            resource_version: identity.resource_version,
            message,
        };
        let news = self.known.get(&name).is_none_or(|(known, _)| {
            (&known.uid, &known.message) != (&undecodable.uid, &undecodable.message)
        });
        self.known.insert(name, (undecodable, listing));
        self.changed = true;
        news
    }

    /// An object was decoded, or is gone.
    pub(super) fn readable(&mut self, namespace: Option<&str>, name: &str) {
        if self.known.is_empty() {
            return;
        }
        let name = (namespace.map(str::to_owned), name.to_owned());
        self.changed |= self.known.remove(&name).is_some();
    }

    /// A list is complete: who was not in it is gone.
    pub(super) fn end_list(&mut self, listing: Listing) {
        let before = self.known.len();
        self.known.retain(|_, (_, seen)| *seen == listing);
        self.changed |= self.known.len() != before;
    }

    /// Whether something changed since this was asked last.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    pub(super) fn all(&self) -> Arc<BTreeMap<Name, Undecodable>> {
        let known = self.known.iter();
        Arc::new(
            known
                .map(|(name, (what, _))| (name.clone(), what.clone()))
                .collect(),
        )
    }
}
