//! The controller: what happens for each object that still carries the old label.
//!
//! Only such objects are watched, and of them only metadata is read. One that is in order leaves the watch.

use controller_runtime::prelude::*;
use kube::{
    api::{Patch, PatchParams},
    core::{DynamicObject, PartialObjectMeta},
    discovery::ApiResource,
};
use serde_json::json;

/// The label as it was, and as it is to be.
const OLD: &str = "team";
const NEW: &str = "example.com/team";

/// What a run needs to know of the kind, which is known only since the start.
pub(crate) struct Kind(pub(crate) ApiResource);

#[controller(selector(labels = "team"), predicates(labels), rbac(primary: patch))]
pub(crate) async fn tidy(
    object: Arc<PartialObjectMeta<DynamicObject>>,
    kind: Arc<Kind>,
    client: Client,
    recorder: Recorder,
) -> Result<Action, kube::Error> {
    let Some(team) = object.labels().get(OLD) else {
        return Ok(Action::await_change());
    };
    let known = object.labels().get(NEW);
    if known.is_some_and(|known| known != team) {
        let note = format!("label {OLD} says {team:?} and {NEW} another: {NEW} stays");
        recorder.warning("Contradiction", &note).await;
    }
    let labels = json!({OLD: null, NEW: known.unwrap_or(team)});
    let metadata = &object.metadata;
    // An object that changed meanwhile is looked at again.
    let patch = json!({"metadata": {"labels": labels, "resourceVersion": metadata.resource_version}});
    let api: Api<DynamicObject> = match &metadata.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &kind.0),
        None => Api::all_with(client, &kind.0),
    };
    match api
        .patch_metadata(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch))
        .await
    {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
        result => drop(result?),
    }
    Ok(Action::await_change())
}
