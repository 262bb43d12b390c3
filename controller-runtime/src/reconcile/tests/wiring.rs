//! What the attribute wires, runs.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use super::world::{Notes, World, config_map, secret};
use crate::{Action, controller, object::ObjectRef, reconcile::Attempt, store::Store};

#[controller(
    owns(ConfigMap),
    watches(Secret, map(named_by)),
    predicates(generation, labels, resource_version),
    backoff(initial = "1s", max = "1m", jitter = 0),
    error = enum TestError {
        #[error("the label `fail` is {0}")]
        Told(String),
        #[error("never")]
        #[permanent]
        Permanent,
        #[error("soon")]
        #[retry_after = "7s"]
        Soon,
    },
)]
async fn reconcile(
    object: Arc<ConfigMap>,
    notes: Arc<Notes>,
    secrets: Store<Secret>,
    attempt: Attempt,
) -> Result<Action, TestError> {
    let secret = secrets.get(object.name_any()).is_some();
    notes.note(format!(
        "{} attempt {} secret {secret}",
        object.name_any(),
        attempt.number()
    ));
    match object.labels().get("fail").map(String::as_str) {
        None => Ok(Action::await_change()),
        Some("permanent") => Err(TestError::Permanent),
        Some("soon") => Err(TestError::Soon),
        Some(other) => Err(TestError::Told(other.to_owned())),
    }
}

fn named_by(secret: &Secret) -> Vec<ObjectRef<ConfigMap>> {
    let here = secret.metadata.namespace.clone().unwrap_or_default();
    vec![ObjectRef::new(&secret.name_any()).within(&here)]
}

#[tokio::test(start_paused = true)]
async fn an_annotated_function_is_called_for_its_objects_and_what_they_relate_to() {
    let world = World::new().await;
    let notes = Notes::default();
    let parent = world.create(&config_map("a", &[])).await;
    let running = world.start(reconcile::controller(notes.clone())).await;
    assert_eq!(notes.take(), ["a attempt 1 secret false"]);

    world.create(&secret("a")).await;
    world.settle().await;
    assert_eq!(
        notes.take(),
        ["a attempt 1 secret true"],
        "a watched object appears"
    );

    let mut child = config_map("child", &[]);
    child.metadata.owner_references = Some(vec![kube::Resource::controller_owner_ref(&parent, &()).unwrap()]);
    world.create(&child).await;
    world.settle().await;
    let mut woken = notes.take();
    woken.sort();
    assert_eq!(
        woken,
        ["a attempt 1 secret true", "child attempt 1 secret false"],
        "an owned object appears"
    );

    world
        .api::<Secret>()
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    world.settle().await;
    assert_eq!(
        notes.take(),
        ["a attempt 1 secret false"],
        "a watched object vanishes"
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn each_variant_of_the_error_is_tried_again_as_it_says() {
    let world = World::new().await;
    let notes = Notes::default();
    for kind in ["permanent", "soon", "told"] {
        let mut object = config_map(kind, &[]);
        object.metadata.labels = Some([("fail".to_owned(), kind.to_owned())].into());
        world.create(&object).await;
    }
    let running = world.start(reconcile::controller(notes.clone())).await;
    assert_eq!(notes.take().len(), 3);
    world.advance(Duration::from_millis(1500)).await;
    assert_eq!(
        notes.take(),
        ["told attempt 2 secret false"],
        "after the first backoff"
    );
    world.advance(Duration::from_millis(5700)).await;
    let expected = [
        "told attempt 3 secret false",
        "soon attempt 2 secret false",
        "told attempt 4 secret false",
    ];
    let mut later = notes.take();
    later.sort();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(later, expected);

    let unlabel = json!({ "metadata": { "labels": { "fail": null } } });
    for name in ["permanent", "soon", "told"] {
        let patch = Patch::Merge(&unlabel);
        world
            .api::<ConfigMap>()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    world.advance(Duration::from_secs(60)).await;
    notes.take();
    world.advance(Duration::from_secs(3600)).await;
    assert_eq!(notes.take(), [""; 0], "at rest nothing runs");
    running.stop().await;
}
