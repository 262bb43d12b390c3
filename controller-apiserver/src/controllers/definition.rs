//! Definitions of custom resources: accepted names, establishment, finalization.
//!
//! Source: the Kubernetes documentation on custom resource definitions.

use serde_json::{Value, json};

use super::garbage::{change, delete, release};
use crate::object::{is_terminating, meta_list, meta_mut, meta_str, str_at};
use crate::registry::custom;
use crate::schema::definition::accept;
use crate::state::State;
use crate::write::Propagation;

/// Holds a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Where definitions are stored.
pub(crate) const COLLECTION: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// What the server remembers of a definition besides its object.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The spec that is served, and the revision since when.
    spec: Value,
    stamp: u64,
    storage_version: String,
    storage_since: u64,
    terminating: bool,
}

/// The definition that a collection of custom resources belongs to.
pub(crate) fn of_collection(collection: &str) -> Option<String> {
    let (group, plural) = collection.split_once('/')?;
    Some(format!("{plural}.{group}"))
}

/// Follows a change of a definition at once: status, and what is served.
pub(crate) fn observe(state: &mut State, name: &str) {
    let Some(stored) = state.store.get(COLLECTION, name) else {
        state.definitions.remove(name);
        state.undefine(name);
        state.work.definition_gone(name);
        return;
    };
    let mut definition = stored.value();
    if is_terminating(&definition) {
        state.work.definition_goes(name);
        state.work.push(super::work::Item::Definition(name.to_owned()));
    }
    let status = definition["status"].clone();
    let held = state.holds_definitions && !is_established(&definition);
    update_status(state, &mut definition);
    if held {
        hold(&mut definition, &status, &state.now());
    }
    if definition["status"] != status {
        // The commit comes back here, with nothing left to change.
        state.put_at(COLLECTION, name, definition, 0);
        return;
    }
    serve(state, name, &definition);
}

/// Keeps a definition from being established.
fn hold(definition: &mut Value, before: &Value, now: &str) {
    let mut former = json!({ "status": before });
    set_condition(
        &mut former,
        "Established",
        "False",
        "Installing",
        "the initial names have been accepted",
        now,
    );
    let waiting = condition(&former, "Established").cloned();
    let conditions = definition["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten() {
        if condition["type"] == "Established" {
            *condition = waiting.clone().unwrap_or_default();
        }
    }
}

fn serve(state: &mut State, name: &str, definition: &Value) {
    if !is_established(definition) {
        return;
    }
    let revision = state.store.revision();
    let spec = &definition["spec"];
    let storage_version = spec["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true)
        .map(|version| str_at(version, "name").to_owned())
        .unwrap_or_default();
    let before = state.definitions.get(name).cloned();
    let before = before.as_ref();
    let terminating = is_terminating(definition);
    if before.is_some_and(|known| known.spec == *spec && known.terminating == terminating) {
        return;
    }
    let stamp = match before {
        Some(known) if known.spec == *spec => known.stamp,
        _ => revision,
    };
    let storage_since = match before {
        Some(known) if known.storage_version == storage_version => known.storage_since,
        _ => stamp,
    };
    state.define(name, custom::served(definition, stamp, storage_since));
    if before.is_none() {
        state.work.kind_served();
    }
    let known = Known {
        spec: spec.clone(),
        stamp,
        storage_version,
        storage_since,
        terminating,
    };
    state.definitions.insert(name.to_owned(), known);
}

fn is_established(definition: &Value) -> bool {
    condition(definition, "Established").is_some_and(|condition| condition["status"] == "True")
}

fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    definition["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

fn set_condition(definition: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    if condition(definition, kind)
        .is_some_and(|old| old["status"] == status && old["reason"] == reason && old["message"] == message)
    {
        return;
    }
    let time = condition(definition, kind)
        .filter(|old| old["status"] == status)
        .map_or(now, |old| str_at(old, "lastTransitionTime"))
        .to_owned();
    let new = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time,
    });
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(list) = conditions.as_array_mut() {
        match list.iter_mut().find(|condition| condition["type"] == kind) {
            Some(old) => *old = new,
            None => list.push(new),
        }
    }
}

/// Accepts the names that no other definition of the group has, then establishes.
fn update_status(state: &State, definition: &mut Value) {
    let name = meta_str(definition, "name").to_owned();
    let others: Vec<Value> = state
        .store
        .scan(COLLECTION, "")
        .filter(|(key, _)| ***key != *name)
        .map(|(_, stored)| stored.value())
        .collect();
    accept(definition, others.iter(), &state.now());
}

/// A definition that is deleted is marked, and says so.
pub(crate) fn mark(definition: &mut Value, now: &str) {
    let mut finalizers: Vec<Value> = meta_list(definition, "finalizers")
        .into_iter()
        .map(Value::from)
        .collect();
    if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        finalizers.push(FINALIZER.into());
    }
    let metadata = meta_mut(definition);
    metadata.insert("deletionTimestamp".into(), now.into());
    metadata.insert("finalizers".into(), finalizers.into());
    set_condition(
        definition,
        "Terminating",
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        now,
    );
}

/// Deletes the objects of a definition that is going, and lets it go when none is left.
pub(super) fn finalize(state: &mut State, name: &str) {
    let Some(stored) = state.store.get(COLLECTION, name) else {
        return;
    };
    let definition = stored.value();
    if !is_terminating(&definition) || !meta_list(&definition, "finalizers").contains(&FINALIZER) {
        return;
    }
    let collection = format!(
        "{}/{}",
        str_at(&definition, "spec.group"),
        str_at(&definition, "spec.names.plural")
    );
    let keys = |state: &State| -> Vec<String> {
        state
            .store
            .scan(&collection, "")
            .map(|(key, _)| key.to_string())
            .collect()
    };
    for key in keys(state) {
        let terminating = state
            .store
            .get(&collection, &key)
            .is_some_and(|object| is_terminating(&object.value()));
        if !terminating {
            delete(state, &collection, &key, Propagation::Background);
        }
    }
    if keys(state).is_empty() {
        release(state, COLLECTION, name, FINALIZER);
    } else {
        let now = state.now();
        change(state, COLLECTION, name, |definition| {
            set_condition(
                definition,
                "Terminating",
                "True",
                "InstanceDeletionInProgress",
                "CustomResource deletion is in progress",
                &now,
            );
        });
    }
}
