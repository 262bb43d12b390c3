//! The finalizer of `cleanup(…)`: stored before the first reconcile, removed after the cleanup.
//!
//! Every edit is a JSON patch that tests what it relies on: nobody else's entry is lost or brought back, and a lost race
//! is tried again with what is there now.

use std::sync::Arc;

use kube::api::ObjectMeta;
use serde_json::{Value, json};

use super::requests::{Requests, is_gone, is_lost_race};
use crate::object::Object;

/// So often an edit is tried while others edit at the same time; then the backoff of the key takes over.
const TRIES: usize = 5;

pub(super) fn is_dying(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
}

pub(super) fn holds(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().flatten().any(|other| other == finalizer)
}

/// The object after an edit.
pub(super) enum Edited<K> {
    /// Written now, by this edit.
    Written(Arc<K>),
    /// As it was already, here or when it was read again.
    Found(Arc<K>),
    Gone,
}

/// Stores the finalizer, if the object is there and does not die: then it gets none any more.
pub(super) async fn add<K: Object>(
    requests: &Requests<K>,
    object: &Arc<K>,
    finalizer: &str,
) -> Result<Edited<K>, kube::Error> {
    let wanted = |meta: &ObjectMeta| !is_dying(meta) && !holds(meta, finalizer);
    edit(requests, object, &wanted, &|meta| adding(meta, finalizer)).await
}

/// Removes the finalizer, if it is there.
pub(super) async fn remove<K: Object>(
    requests: &Requests<K>,
    object: &Arc<K>,
    finalizer: &str,
) -> Result<Edited<K>, kube::Error> {
    edit(requests, object, &|meta| holds(meta, finalizer), &|meta| {
        removing(meta, finalizer)
    })
    .await
}

async fn edit<K: Object>(
    requests: &Requests<K>,
    object: &Arc<K>,
    wanted: &(dyn Fn(&ObjectMeta) -> bool + Sync),
    patch: &(dyn Fn(&ObjectMeta) -> Value + Sync),
) -> Result<Edited<K>, kube::Error> {
    let mut object = Arc::clone(object);
    for _ in 0..TRIES {
        if !wanted(object.meta()) {
            return Ok(Edited::Found(object));
        }
        let lost = match requests.json_patch(object.meta(), &patch(object.meta())).await {
            Ok(answer) => return Ok(Edited::Written(Arc::new(answer))),
            Err(error) if is_gone(&error) => return Ok(Edited::Gone),
            Err(error) if !is_lost_race(&error) => return Err(error),
            Err(error) => error,
        };
        tracing::debug!(error = %lost, "someone else changed the object at the same time");
        object = Arc::new(requests.reread(object.meta(), lost).await?);
    }
    // What is asked for is still to be done; the next run does it.
    Err(kube::Error::Service(
        "the finalizers are changed by others all the time".into(),
    ))
}

fn adding(meta: &ObjectMeta, finalizer: &str) -> Value {
    let uid = json!({ "op": "test", "path": "/metadata/uid", "value": meta.uid });
    match meta.finalizers.as_deref() {
        None | Some([]) => json!([
            uid,
            { "op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version },
            { "op": "add", "path": "/metadata/finalizers", "value": [finalizer] },
        ]),
        Some(all) => json!([
            uid,
            { "op": "test", "path": "/metadata/finalizers", "value": all },
            { "op": "add", "path": "/metadata/finalizers/-", "value": finalizer },
        ]),
    }
}

fn removing(meta: &ObjectMeta, finalizer: &str) -> Value {
    let all = meta.finalizers.as_deref().unwrap_or_default();
    let mut edits = vec![
        json!({ "op": "test", "path": "/metadata/uid", "value": meta.uid }),
        json!({ "op": "test", "path": "/metadata/finalizers", "value": all }),
    ];
    // From the end, so that indices stay true; once would be enough, were it not for lists that are broken already.
    let ours = all
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, other)| *other == finalizer);
    edits.extend(
        ours.map(|(index, _)| json!({ "op": "remove", "path": format!("/metadata/finalizers/{index}") })),
    );
    Value::Array(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(finalizers: &[&str]) -> ObjectMeta {
        ObjectMeta {
            uid: Some("u".into()),
            resource_version: Some("7".into()),
            finalizers: Some(finalizers.iter().map(ToString::to_string).collect()),
            ..ObjectMeta::default()
        }
    }

    /// kube-rs/kube#964: an edit by position is worth nothing without a test of what stands there.
    #[test]
    fn every_edit_tests_what_it_relies_on() {
        let add = adding(&meta(&["a/b"]), "x/y");
        assert_eq!(
            add[1],
            json!({ "op": "test", "path": "/metadata/finalizers", "value": ["a/b"] })
        );
        let first = adding(&meta(&[]), "x/y");
        assert_eq!(first[1]["path"], "/metadata/resourceVersion");
        let remove = removing(&meta(&["x/y", "a/b", "x/y"]), "x/y");
        assert_eq!(remove[1]["value"], json!(["x/y", "a/b", "x/y"]));
        assert_eq!(remove[2]["path"], "/metadata/finalizers/2");
        assert_eq!(remove[3]["path"], "/metadata/finalizers/0");
    }
}
