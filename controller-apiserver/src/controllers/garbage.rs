//! Garbage collection: dependents follow their owners.
//!
//! Source: "Garbage Collection" and "Owners and Dependents" in the Kubernetes documentation. An
//! owner of a kind that is not served is taken for living: nothing is deleted on a guess.

use serde_json::Value;

use crate::object::{is_terminating, meta, meta_list, meta_mut};
use crate::registry::Resource;
use crate::state::State;
use crate::write::{DeleteOptions, Propagation, delete_stored};

/// What is known of an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// It is there, or cannot be looked up.
    Living,
    /// It is not there.
    Absent,
    /// It waits for its dependents to go first, whether it waits for this one or not.
    Waiting,
}

/// Looks at one object: as an owner that is going, and as a dependent.
pub(super) fn attempt(state: &mut State, collection: &str, key: &str) {
    let Some(stored) = state.store.get(collection, key).cloned() else {
        return;
    };
    let object = stored.value();
    if is_terminating(&object) {
        let finalizers = meta_list(&object, "finalizers");
        if finalizers.contains(&"orphan") {
            orphan_dependents(state, &stored.uid);
            release(state, collection, key, "orphan");
        } else if finalizers.contains(&"foregroundDeletion") {
            delete_dependents(state, collection, key, &stored.uid);
        }
        return;
    }
    collect(state, collection, key, &object);
}

/// Foreground: dependents go first, and those that block are waited for.
fn delete_dependents(state: &mut State, collection: &str, key: &str, uid: &str) {
    let mut blocked = false;
    for (collection, key) in state.work.dependents(uid) {
        let Some(dependent) = state.store.get(&collection, &key) else {
            continue;
        };
        let object = dependent.value();
        blocked |= references(&object)
            .iter()
            .any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true);
        if !is_terminating(&object) {
            collect(state, &collection, &key, &object);
        }
    }
    let still = blocked
        && state.work.dependents(uid).iter().any(|(collection, key)| {
            state.store.get(collection, key).is_some_and(|dependent| {
                references(&dependent.value())
                    .iter()
                    .any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
            })
        });
    if !still {
        release(state, collection, key, "foregroundDeletion");
    }
}

/// Orphan: the references to the owner are dropped, then it may go.
fn orphan_dependents(state: &mut State, uid: &str) {
    for (collection, key) in state.work.dependents(uid) {
        drop_references(state, &collection, &key, |owner| owner["uid"] == uid);
    }
}

/// A dependent goes when no owner is left; otherwise it loses the references to those that are gone.
fn collect(state: &mut State, collection: &str, key: &str, object: &Value) {
    let owners = references(object);
    if owners.is_empty() {
        return;
    }
    let namespace = key.split_once('/').map(|(namespace, _)| namespace);
    let known: Vec<Owner> = owners
        .iter()
        .map(|owner| lookup(state, owner, namespace))
        .collect();
    if known.contains(&Owner::Living) {
        let gone: Vec<String> = owners
            .iter()
            .zip(&known)
            .filter(|(_, owner)| **owner != Owner::Living)
            .map(|(owner, _)| owner["uid"].as_str().unwrap_or_default().to_owned())
            .collect();
        if !gone.is_empty() {
            drop_references(state, collection, key, |owner| {
                gone.iter().any(|uid| owner["uid"] == uid.as_str())
            });
        }
        return;
    }
    let finalizers = meta_list(object, "finalizers");
    let dependents = meta(object)
        .and_then(|meta| meta.get("uid")?.as_str())
        .map_or_else(Vec::new, |uid| state.work.dependents(uid));
    let propagation = if known.contains(&Owner::Waiting) && !dependents.is_empty() {
        let circle = dependents.iter().any(|(collection, key)| {
            let dependent = state.store.get(collection, key);
            dependent.is_some_and(|dependent| deletes_foreground(&dependent.value()))
        });
        if circle {
            unblock(state, collection, key);
        }
        Propagation::Foreground
    } else if finalizers.contains(&"orphan") {
        Propagation::Orphan
    } else if finalizers.contains(&"foregroundDeletion") {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    delete(state, collection, key, propagation);
}

fn references(object: &Value) -> Vec<Value> {
    meta(object)
        .and_then(|meta| meta.get("ownerReferences")?.as_array().cloned())
        .unwrap_or_default()
}

/// An owner is named by kind, name and uid, and is looked for where its kind lives.
fn lookup(state: &State, owner: &Value, namespace: Option<&str>) -> Owner {
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    let api_version = text("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let Some(resource) = state.registry.by_kind(group, version, text("kind")) else {
        return Owner::Living;
    };
    if resource.namespaced && namespace.is_none() {
        return Owner::Living;
    }
    let key = resource.key(namespace.unwrap_or_default(), text("name"));
    let Some(stored) = state
        .store
        .get(&resource.collection, &key)
        .filter(|stored| *stored.uid == *text("uid"))
    else {
        return Owner::Absent;
    };
    if stored.held_by_collector && deletes_foreground(&stored.value()) {
        Owner::Waiting
    } else {
        Owner::Living
    }
}

fn deletes_foreground(object: &Value) -> bool {
    is_terminating(object) && meta_list(object, "finalizers").contains(&"foregroundDeletion")
}

fn drop_references(state: &mut State, collection: &str, key: &str, gone: impl Fn(&Value) -> bool) {
    change(state, collection, key, |object| {
        if let Some(Value::Array(owners)) = meta_mut(object).get_mut("ownerReferences") {
            owners.retain(|owner| !gone(owner));
            if owners.is_empty() {
                meta_mut(object).remove("ownerReferences");
            }
        }
    });
}

/// In a circle of owners that wait for their dependents somebody has to stop blocking.
fn unblock(state: &mut State, collection: &str, key: &str) {
    change(state, collection, key, |object| {
        let owners = meta_mut(object).get_mut("ownerReferences");
        for owner in owners.and_then(Value::as_array_mut).into_iter().flatten() {
            if owner["blockOwnerDeletion"] == true {
                owner["blockOwnerDeletion"] = false.into();
            }
        }
    });
}

/// Removes a finalizer; with the last one the object goes.
pub(super) fn release(state: &mut State, collection: &str, key: &str, finalizer: &str) {
    let Some(stored) = state.store.get(collection, key) else {
        return;
    };
    let object = stored.value();
    let left = meta_list(&object, "finalizers")
        .iter()
        .filter(|f| **f != finalizer)
        .count();
    let graced = crate::object::at(&object, "metadata.deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds > 0);
    if left == 0 && !graced {
        state.remove(collection, key);
        return;
    }
    change(state, collection, key, |object| {
        if let Some(Value::Array(finalizers)) = meta_mut(object).get_mut("finalizers") {
            finalizers.retain(|f| f != finalizer);
        }
        crate::write::tidy_metadata(object);
    });
}

/// Rewrites a stored object.
pub(super) fn change(state: &mut State, collection: &str, key: &str, edit: impl FnOnce(&mut Value)) {
    let Some(stored) = state.store.get(collection, key).cloned() else {
        return;
    };
    let before = stored.value();
    let mut object = before.clone();
    edit(&mut object);
    if object != before {
        state.put_at(collection, key, object, stored.stamp);
    }
}

/// Deletes a stored object as a client would.
pub(super) fn delete(state: &mut State, collection: &str, key: &str, propagation: Propagation) {
    let resource = state
        .registry
        .all()
        .find(|resource| &*resource.collection == collection)
        .cloned();
    let (Some(resource), Some(stored)) = (resource, state.store.get(collection, key).cloned()) else {
        return;
    };
    let options = DeleteOptions {
        propagation: Some(propagation),
        ..DeleteOptions::default()
    };
    let resource: &Resource = &resource;
    // No preconditions are set, so nothing can refuse it.
    let _ = delete_stored(state, resource, key, &stored, &options, &mut Vec::new());
}
