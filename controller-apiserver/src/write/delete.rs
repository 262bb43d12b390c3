//! DELETE of one object: preconditions, finalizers, grace.
//!
//! Source: "Resource deletion" and "Finalizers" in the API concepts documentation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::options::{DeleteOptions, Propagation};
use super::{generation, metadata};
use crate::call::{Answer, Session};
use crate::clock::seconds;
use crate::controllers::definition;
use crate::object::{is_terminating, meta_list, meta_mut, str_at};
use crate::registry::Resource;
use crate::state::State;
use crate::status::{ApiError, Named};
use crate::storage::Stored;
use crate::view;

/// What a deletion did.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is gone; this is how it last was.
    Gone(Value),
    /// The object is still there, marked.
    Held(Value),
}

impl Session<'_> {
    /// DELETE on an object.
    pub(crate) fn delete(&mut self) -> Result<Answer, ApiError> {
        let options = DeleteOptions::of(self.call)?;
        let resource = self.resource();
        let name = &self.call.target.name;
        self.admit_deletion()?;
        let Some(existing) = self.existing() else {
            return Err(ApiError::not_found(&resource.named(), name));
        };
        let key = resource.key(&self.call.target.namespace, name);
        match delete_stored(
            self.state,
            resource,
            &key,
            &existing,
            &options,
            &mut self.warnings,
        )? {
            Deleted::Held(object) => Ok(Answer::value(200, object)),
            Deleted::Gone(object) if resource.rules.returns_deleted => Ok(Answer::value(200, object)),
            Deleted::Gone(_) => {
                let mut details = json!({"name": name, "kind": resource.plural, "uid": &*existing.uid});
                if !resource.group.is_empty() {
                    details["group"] = resource.group.clone().into();
                }
                Ok(Answer::value(
                    200,
                    json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                        "details": details,
                    }),
                ))
            }
        }
    }

    /// Some namespaces stay.
    fn admit_deletion(&self) -> Result<(), ApiError> {
        let resource = self.resource();
        let name = &self.call.target.name;
        let lasting = ["default", "kube-system", "kube-public"];
        if resource.is("", "namespaces") && lasting.contains(&name.as_str()) {
            return Err(ApiError::forbidden(
                &resource.named(),
                name,
                "this namespace may not be deleted",
            ));
        }
        Ok(())
    }
}

/// Deletes a stored object, or marks it where something holds it.
pub(crate) fn delete_stored(
    state: &mut State,
    resource: &Resource,
    key: &str,
    existing: &Arc<Stored>,
    options: &DeleteOptions,
    warnings: &mut Vec<String>,
) -> Result<Deleted, ApiError> {
    let name = key.rsplit('/').next().unwrap_or_default();
    check_preconditions(resource, name, existing, options)?;
    let object = view::value(resource, existing);
    let mut marked = object.clone();
    let grace = grace(resource, &object, options);
    let finalizers_changed = set_propagation(resource, &mut marked, options, warnings);
    let remarked = mark(state, resource, &mut marked, grace);
    let held = !meta_list(&marked, "finalizers").is_empty() || grace > 0 || resource.is("", "namespaces");
    if !held {
        let gone = if options.dry_run {
            marked
        } else {
            remove_marked(state, resource, key, object, marked)
        };
        return Ok(Deleted::Gone(gone));
    }
    if !remarked && !finalizers_changed {
        return Ok(Deleted::Held(object));
    }
    if options.dry_run {
        return Ok(Deleted::Held(marked));
    }
    let stored = state.put(resource, key, marked);
    Ok(Deleted::Held(view::value(resource, &stored)))
}

/// Removes an object. Pods are marked first: their watchers see both.
/// The object is answered at the revision of its mark, others at that of their removal.
fn remove_marked(state: &mut State, resource: &Resource, key: &str, object: Value, marked: Value) -> Value {
    let answered = resource.is("", "pods").then(|| state.put(resource, key, marked));
    let removed = state.remove(&resource.collection, key);
    answered
        .or(removed)
        .map_or(object, |last| view::value(resource, &last))
}

/// Sets the deletion's marks; tells whether anything changed.
fn mark(state: &State, resource: &Resource, object: &mut Value, grace: i64) -> bool {
    let first = !is_terminating(object);
    let before = crate::object::at(object, "metadata.deletionGracePeriodSeconds").and_then(Value::as_i64);
    let shorter = before.is_some_and(|before| grace < before);
    if !first && !shorter {
        return false;
    }
    if is_definition(resource) {
        definition::mark(object, &state.now());
        return true;
    }
    let now = state.clock.now();
    let at = now
        .checked_add(jiff::SignedDuration::from_secs(grace))
        .unwrap_or(now);
    let metadata = meta_mut(object);
    metadata.insert("deletionTimestamp".into(), seconds(at).into());
    if resource.is("", "namespaces") {
        object["status"]["phase"] = "Terminating".into();
    } else {
        metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
    }
    if first {
        generation::bump(object);
    }
    metadata::tidy(object);
    true
}

fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

fn check_preconditions(
    resource: &Resource,
    name: &str,
    existing: &Stored,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    let conflict = |why: &str| {
        Err(ApiError::conflict(
            &Named::new(&*resource.group, &*resource.kind),
            name,
            why,
        ))
    };
    if let Some(uid) = &options.uid
        && **uid != *existing.uid
    {
        return conflict(&format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            existing.uid
        ));
    }
    if let Some(revision) = &options.revision
        && *revision != existing.revision.to_string()
    {
        return conflict(&format!(
            "the ResourceVersion in the precondition ({revision}) does not match the ResourceVersion in record ({}). The object might have been modified",
            existing.revision
        ));
    }
    Ok(())
}

/// How long an object may go on: only Pods have a time of their own, and only once they run somewhere.
fn grace(resource: &Resource, object: &Value, options: &DeleteOptions) -> i64 {
    if !resource.is("", "pods") {
        return 0;
    }
    let phase = str_at(object, "status.phase");
    if str_at(object, "spec.nodeName").is_empty() || phase == "Succeeded" || phase == "Failed" {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"]
        .as_i64()
        .unwrap_or(30);
    // Who deletes it again without a word does not change how long it has.
    let given = crate::object::at(object, "metadata.deletionGracePeriodSeconds").and_then(Value::as_i64);
    let asked = options.grace_seconds.or(given).unwrap_or(own);
    if asked < 0 { 1 } else { asked }
}

/// Sets or removes the finalizers that stand for the fate of dependents; tells whether they changed.
fn set_propagation(
    resource: &Resource,
    object: &mut Value,
    options: &DeleteOptions,
    warnings: &mut Vec<String>,
) -> bool {
    // Nothing is owned by an Event; a Pod that is on its way keeps the fate it was given.
    let graceful = resource.is("", "pods") && is_terminating(object) && grace(resource, object, options) > 0;
    if graceful || resource.plural == "events" && !resource.is_custom() {
        return false;
    }
    let policy = options.propagation.or_else(|| {
        if resource.is("batch", "jobs") {
            warnings.push(
                "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
                    .to_owned(),
            );
            return Some(Propagation::Orphan);
        }
        None
    });
    let Some(policy) = policy else {
        return false;
    };
    let before: Vec<String> = meta_list(object, "finalizers")
        .into_iter()
        .map(str::to_owned)
        .collect();
    let wanted = match policy {
        Propagation::Orphan => Some("orphan"),
        Propagation::Foreground => Some("foregroundDeletion"),
        Propagation::Background => None,
    };
    let mut after: Vec<String> = before
        .iter()
        .filter(|finalizer| {
            let policy = matches!(finalizer.as_str(), "orphan" | "foregroundDeletion");
            !policy || wanted == Some(finalizer.as_str())
        })
        .cloned()
        .collect();
    if let Some(wanted) = wanted
        && !after.iter().any(|finalizer| finalizer == wanted)
    {
        after.push(wanted.to_owned());
    }
    let changed = before != after;
    meta_mut(object).insert("finalizers".into(), after.into());
    changed
}
