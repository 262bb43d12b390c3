//! Ownership through the scale endpoint: an entry of `Scale` about `spec.replicas` is one of the
//! scaled object about its replicas field, and the other way round.

use serde_json::Value;

use super::managed::{Entry, Managed, Operation};
use crate::patch::fields::{Element, Set};

const SCALE: &str = "autoscaling/v1";

fn path(names: &[&str]) -> Vec<Element> {
    names.iter().copied().map(Element::field).collect()
}

fn set(path: &[Element]) -> Set {
    let mut set = Set::default();
    set.insert(path);
    set
}

/// The `managedFields` of the `Scale` of an object whose replicas are at `replicas`, for example
/// `["spec", "replicas"]`; `None` if nobody owns them.
pub fn to_scale(parent: &Value, replicas: &[&str]) -> Option<Value> {
    let replicas = path(replicas);
    let managed = Managed::of(parent).ok()?;
    let owners = managed.0.into_iter().filter_map(|(mut key, entry)| {
        if !entry.fields.contains(&replicas) {
            return None;
        }
        if key.operation == Operation::Update {
            SCALE.clone_into(&mut key.api_version);
        }
        let entry = Entry {
            fields: set(&path(&["spec", "replicas"])),
            api_version: SCALE.to_owned(),
            time: entry.time,
        };
        Some((key, entry))
    });
    Managed(owners.collect()).encode()
}

/// Carries ownership from a written `Scale` back into its object, which was read in `api_version`.
pub fn to_parent(parent: &mut Value, scale: &Value, api_version: &str, replicas: &[&str]) {
    let replicas = path(replicas);
    let (Ok(before), Ok(mut owners)) = (Managed::of(parent), Managed::of(scale)) else {
        return;
    };
    let mut after = Managed::default();
    for (key, entry) in &before.0 {
        let mut entry = entry.clone();
        // An entry of an update has another version here than there, so it is never found again: its
        // replicas come back below as an entry of their own. Servers do so.
        if entry.fields.contains(&replicas) && owners.0.remove(key).is_none() {
            entry.fields = entry.fields.difference(&set(&replicas));
        }
        if !entry.fields.is_empty() {
            after.0.insert(key.clone(), entry);
        }
    }
    let replicas_of_scale = path(&["spec", "replicas"]);
    for (key, entry) in owners.0 {
        if !entry.fields.contains(&replicas_of_scale) {
            continue;
        }
        // The time is looked up among the old entries of the object: a new owner has none.
        let entry = Entry {
            fields: set(&replicas),
            api_version: api_version.to_owned(),
            time: before.0.get(&key).and_then(|entry| entry.time.clone()),
        };
        after.0.insert(key, entry);
    }
    after.store(parent);
}
