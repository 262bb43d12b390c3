//! The life of a namespace: when it is deleted, its content goes first.
//!
//! Source: "Namespaces" in the Kubernetes documentation; conditions as the namespace controller
//! writes them.

use serde_json::{Value, json};

use super::garbage::{change, delete};
use crate::object::{is_terminating, meta_list, str_at};
use crate::state::State;
use crate::write::Propagation;

/// Looks at a namespace; one that is going is emptied, and goes when it is empty.
pub(super) fn sync(state: &mut State, name: &str) {
    let Some(stored) = state.store.get("namespaces", name) else {
        return;
    };
    if !is_terminating(&stored.value()) {
        return;
    }
    state.work.namespace_goes(name);
    let prefix = format!("{name}/");
    for (collection, key) in content(state, &prefix) {
        let terminating = state
            .store
            .get(&collection, &key)
            .is_some_and(|object| is_terminating(&object.value()));
        if !terminating {
            delete(state, &collection, &key, Propagation::Background);
        }
    }
    let left = content(state, &prefix);
    if left.is_empty() {
        finish(state, name);
        return;
    }
    let conditions = conditions(state, &left);
    let now = state.now();
    change(state, "namespaces", name, |namespace| {
        set_conditions(namespace, conditions, &now);
    });
}

fn content(state: &State, prefix: &str) -> Vec<(String, String)> {
    let collections: Vec<String> = state.store.collections().map(ToString::to_string).collect();
    collections
        .into_iter()
        .flat_map(|collection| {
            let keys: Vec<_> = state
                .store
                .scan(&collection, prefix)
                .map(|(key, _)| (collection.clone(), key.to_string()))
                .collect();
            keys
        })
        .collect()
}

fn finish(state: &mut State, name: &str) {
    let Some(stored) = state.store.get("namespaces", name) else {
        return;
    };
    let object = stored.value();
    let others = object["spec"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|finalizer| finalizer != "kubernetes");
    let held = others || !meta_list(&object, "finalizers").is_empty();
    change(state, "namespaces", name, |namespace| {
        if let Some(Value::Array(finalizers)) = namespace["spec"].get_mut("finalizers") {
            finalizers.retain(|finalizer| finalizer != "kubernetes");
            if finalizers.is_empty()
                && let Some(spec) = namespace["spec"].as_object_mut()
            {
                spec.remove("finalizers");
            }
        }
    });
    if !held {
        state.remove("namespaces", name);
    }
}

/// Type, status, reason and message.
type Condition = (&'static str, bool, &'static str, String);

fn conditions(state: &State, left: &[(String, String)]) -> Vec<Condition> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    let mut finalizers: Vec<(String, usize)> = Vec::new();
    let count = |list: &mut Vec<(String, usize)>, what: &str| match list.iter_mut().find(|(w, _)| w == what) {
        Some((_, n)) => *n += 1,
        None => list.push((what.to_owned(), 1)),
    };
    for (collection, key) in left {
        let named = match collection.split_once('/') {
            Some((group, plural)) => format!("{plural}.{group}"),
            None => format!("{collection}."),
        };
        count(&mut kinds, &named);
        let object = state
            .store
            .get(collection, key)
            .map(|object| object.value())
            .unwrap_or_default();
        for finalizer in meta_list(&object, "finalizers") {
            count(&mut finalizers, finalizer);
        }
    }
    let list = |list: &[(String, usize)], of: &str| -> String {
        let parts: Vec<_> = list
            .iter()
            .map(|(what, n)| format!("{what} {of} {n} resource instances"))
            .collect();
        parts.join(", ")
    };
    vec![
        (
            "NamespaceDeletionDiscoveryFailure",
            false,
            "ResourcesDiscovered",
            "All resources successfully discovered".to_owned(),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_owned(),
        ),
        (
            "NamespaceDeletionContentFailure",
            false,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization".to_owned(),
        ),
        (
            "NamespaceContentRemaining",
            true,
            "SomeResourcesRemain",
            format!("Some resources are remaining: {}", list(&kinds, "has")),
        ),
        finalizers_remaining(&list(&finalizers, "in")),
    ]
}

fn finalizers_remaining(list: &str) -> Condition {
    let kind = "NamespaceFinalizersRemaining";
    if list.is_empty() {
        let message = "All content-preserving finalizers finished".to_owned();
        return (kind, false, "ContentHasNoFinalizers", message);
    }
    let message = format!("Some content in the namespace has finalizers remaining: {list}");
    (kind, true, "SomeFinalizersRemain", message)
}

/// A condition keeps its transition time while its status stays.
fn set_conditions(namespace: &mut Value, conditions: Vec<Condition>, now: &str) {
    let before = namespace["status"]["conditions"].take();
    let time_of = |kind: &str, status: &str| {
        before
            .as_array()
            .into_iter()
            .flatten()
            .find(|old| str_at(old, "type") == kind && str_at(old, "status") == status)
            .map_or(now, |old| str_at(old, "lastTransitionTime"))
            .to_owned()
    };
    let list: Vec<Value> = conditions
        .into_iter()
        .map(|(kind, status, reason, message)| {
            let status = if status { "True" } else { "False" };
            json!({
                "type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": time_of(kind, status),
            })
        })
        .collect();
    namespace["status"]["conditions"] = list.into();
}
