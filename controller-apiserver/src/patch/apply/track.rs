//! Ownership under writes that are no applies: create, replace, and the other patches.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    ApplyError, Manager, Target, description,
    managed::{self, Entry, Key, Managed, Operation},
    system_fields, timestamp,
    update::Writer,
    validate::{Duplicates, validate},
};

/// Records who changed what in a write that was no apply. `new` is the object as decoded, with
/// defaults and before anything is reset, dropped or counted up; `old` is `None` for a create.
///
/// Clients may write `managedFields` themselves through the main endpoint; an empty list makes the
/// server forget all ownership. Entries that cannot be read, or an object that is not of its type,
/// leave the old ones in place: a write does not fail over them.
pub fn track_update(
    target: &Target<'_>,
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager<'_>,
    now: Timestamp,
) {
    let before = old.map(|old| old["metadata"]["managedFields"].clone());
    if track(target, old, new, manager, now).is_err() {
        managed::strip(new);
        if let Some(before) = before.filter(|before| !before.is_null()) {
            new["metadata"]["managedFields"] = before;
        }
    }
}

fn track(
    target: &Target<'_>,
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager<'_>,
    now: Timestamp,
) -> Result<(), ApplyError> {
    let writer = target.writer(manager)?;
    let of_old = || old.map_or_else(Managed::default, |old| Managed::of(old).unwrap_or_default());
    let owners = if !manager.subresource.is_empty() {
        of_old()
    } else if managed::is_reset(new) {
        Managed::default()
    } else {
        match Managed::of(new) {
            Ok(owners) if !owners.0.is_empty() => owners,
            _ => of_old(),
        }
    };
    let given = new["metadata"]["managedFields"].clone();
    let before = old.map_or(Value::Null, |old| old["metadata"]["managedFields"].clone());
    managed::strip(new);
    // Ownership that was given up is not taken up again before the first apply.
    if owners.0.is_empty() && old.is_some() {
        return Ok(());
    }
    let mut old = old.cloned().unwrap_or_else(|| target.empty(&writer));
    managed::strip(&mut old);
    let after = updated(&writer, &old, new, &owners, manager, now)?;
    if after == owners && !before.is_null() && (given.is_null() || given == before) {
        // Entries stay as they were written, two of one manager as two: a write that changes nothing is none.
        new["metadata"]["managedFields"] = before;
    } else {
        after.store(new);
    }
    Ok(())
}

pub(super) fn updated(
    writer: &Writer<'_>,
    old: &Value,
    new: &Value,
    owners: &Managed,
    manager: &Manager<'_>,
    now: Timestamp,
) -> Result<Managed, ApplyError> {
    for object in [old, new] {
        validate(&writer.schema, object, Duplicates::Allowed).map_err(|error| {
            let named = description(object);
            ApplyError::Internal(format!(
                "failed to convert object ({named}) to smd typed: {error}"
            ))
        })?;
    }
    let (taken, mut owners) = writer.update(old, new, owners)?;
    let taken = taken.difference(&system_fields());
    if !taken.is_empty() {
        let key = Key::new(manager, Operation::Update);
        let before = owners.0.remove(&key).map(|entry| entry.fields);
        let entry = Entry {
            fields: taken.union(&before.unwrap_or_default()),
            api_version: manager.api_version.to_owned(),
            time: Some(timestamp(now)),
        };
        owners.0.insert(key, entry);
    }
    cap_updates(&mut owners);
    Ok(owners)
}

/// How many entries of updates are kept; the oldest are put together.
const MAX_UPDATES: usize = 10;

fn cap_updates(owners: &mut Managed) {
    let mut updates: Vec<Key> = owners.0.keys().cloned().collect();
    updates.retain(|key| key.operation == Operation::Update);
    let mut count = updates.len();
    if count <= MAX_UPDATES {
        return;
    }
    updates.sort_by_key(|key| owners.0.get(key).and_then(|entry| entry.time.clone()));
    let mut first_of_version = BTreeMap::new();
    for key in updates {
        if count <= MAX_UPDATES {
            return;
        }
        let Some(first) = first_of_version.get(&key.api_version) else {
            first_of_version.insert(key.api_version.clone(), key);
            continue;
        };
        let bucket = Key {
            manager: "ancient-changes".to_owned(),
            operation: Operation::Update,
            api_version: key.api_version.clone(),
            subresource: String::new(),
        };
        if !owners.0.contains_key(&bucket)
            && let Some(entry) = owners.0.remove(first)
        {
            owners.0.insert(bucket.clone(), entry);
        }
        let Some(entry) = owners.0.remove(&key) else {
            continue;
        };
        if let Some(merged) = owners.0.get_mut(&bucket) {
            merged.fields = merged.fields.union(&entry.fields);
            merged.time = entry.time;
        }
        count -= 1;
    }
}
