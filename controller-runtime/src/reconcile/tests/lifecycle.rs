//! Finalizers, cleanup and status.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::core::v1::ServiceAccount,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, CustomResource, CustomResourceExt, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::world::{Notes, World, labelled, service_account};
use crate::{
    Action, controller,
    reconcile::{ReconcileError, Status},
};

#[controller(
    name = "guard",
    predicates(labels),
    cleanup(release),
    backoff(initial = "1s", jitter = 0)
)]
async fn guard(account: Arc<ServiceAccount>, notes: Arc<Notes>) -> Result<Action, kube::Error> {
    notes.note(format!("run with {:?}", account.finalizers()));
    Ok(Action::await_change())
}

#[derive(Debug, thiserror::Error)]
#[error("busy")]
struct Busy;

impl ReconcileError for Busy {}

async fn release(account: Arc<ServiceAccount>, notes: Arc<Notes>) -> Result<(), Busy> {
    notes.note("release");
    if account.labels().contains_key("busy") {
        Err(Busy)
    } else {
        Ok(())
    }
}

const OURS: &str = "guard/cleanup";

/// nolar/kopf#798, kube-rs/kube#964: others' finalizers are neither lost nor brought back.
#[tokio::test(start_paused = true)]
async fn the_finalizer_is_stored_before_the_first_run_and_removed_after_the_cleanup() {
    let world = World::new().await;
    let notes = Notes::default();
    let mut account = service_account("web");
    account.metadata.finalizers = Some(vec!["other.example/one".into()]);
    world.create(&account).await;
    let running = world.start(guard::controller(notes.clone())).await;
    assert_eq!(
        notes.take(),
        [format!("run with {:?}", ["other.example/one", OURS])]
    );

    world.label::<ServiceAccount>("web", "busy", "yes").await;
    notes.take();
    let api = world.api::<ServiceAccount>();
    api.delete("web", &DeleteParams::default()).await.unwrap();
    world.settle().await;
    assert_eq!(notes.take(), ["release"], "a deletion passes every predicate");
    world.advance(Duration::from_millis(1500)).await;
    assert_eq!(notes.take(), ["release"], "a failed cleanup is tried again");
    assert_eq!(api.get("web").await.unwrap().finalizers().len(), 2);

    let unlabel = json!({ "metadata": { "labels": null } });
    api.patch("web", &PatchParams::default(), &Patch::Merge(&unlabel))
        .await
        .unwrap();
    world.advance(Duration::from_secs(5)).await;
    assert_eq!(
        api.get("web").await.unwrap().finalizers(),
        ["other.example/one"],
        "theirs stays"
    );
    let free = json!({ "metadata": { "finalizers": null } });
    api.patch("web", &PatchParams::default(), &Patch::Merge(&free))
        .await
        .unwrap();
    world.settle().await;
    assert!(api.get_opt("web").await.unwrap().is_none());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_dying_object_gets_no_finalizer_and_no_run() {
    let world = World::new().await;
    let notes = Notes::default();
    let mut account = service_account("web");
    account.metadata.finalizers = Some(vec!["other.example/one".into()]);
    world.create(&account).await;
    world
        .api::<ServiceAccount>()
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    let running = world.start(guard::controller(notes.clone())).await;
    assert_eq!(notes.take(), [""; 0]);
    assert_eq!(world.writes_of("guard"), 0);
    running.stop().await;
}

/// kube-rs/kube#964: two controllers edit the finalizers of many objects at the same time; each name is there once.
#[tokio::test(start_paused = true)]
async fn two_controllers_do_not_undo_each_others_finalizers() {
    #[controller(name = "second", cleanup(release))]
    async fn second(_account: Arc<ServiceAccount>, _notes: Arc<Notes>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
    let world = World::new().await;
    for number in 0..50 {
        world.create(&service_account(&format!("web-{number}"))).await;
    }
    let notes = Notes::default();
    let first = world.start(guard::controller(notes.clone())).await;
    let second = world.start(second::controller(notes.clone())).await;
    world.advance(Duration::from_secs(60)).await;
    let all = world
        .api::<ServiceAccount>()
        .list(&Default::default())
        .await
        .unwrap()
        .items;
    for account in all
        .iter()
        .filter(|account| account.name_any().starts_with("web-"))
    {
        let mut finalizers = account.finalizers().to_vec();
        finalizers.sort();
        assert_eq!(finalizers, [OURS, "second/cleanup"], "{}", account.name_any());
    }
    first.stop().await;
    second.stop().await;
}

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Page",
    namespaced,
    status = "PageStatus"
)]
struct PageSpec {
    text: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PageStatus {
    words: Option<usize>,
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Condition {
    r#type: String,
    status: String,
    reason: String,
    message: String,
    last_transition_time: String,
    observed_generation: Option<i64>,
}

#[controller(
    name = "pages",
    predicates(generation),
    status(conditions),
    error = enum PageError {
        #[error("a page without words")]
        #[permanent]
        Empty,
    },
)]
async fn count(page: Arc<Page>, status: Status) -> Result<Action, PageError> {
    let words = page.spec.text.split_whitespace().count();
    if words == 0 {
        return Err(PageError::Empty);
    }
    status.set(json!({ "words": words }));
    Ok(Action::await_change())
}

async fn pages(world: &World) -> Api<Page> {
    let api: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    api.create(&PostParams::default(), &Page::crd()).await.unwrap();
    world.settle().await;
    world.advance(Duration::from_secs(1)).await;
    world.api()
}

#[tokio::test(start_paused = true)]
async fn a_status_is_written_once_and_only_when_it_changes() {
    let world = World::new().await;
    let api = pages(&world).await;
    api.create(
        &PostParams::default(),
        &Page::new(
            "a",
            PageSpec {
                text: "one two".into(),
            },
        ),
    )
    .await
    .unwrap();
    api.create(
        &PostParams::default(),
        &Page::new("b", PageSpec { text: String::new() }),
    )
    .await
    .unwrap();
    let running = world.start(count::controller()).await;
    assert_eq!(world.writes_of("pages"), 2);
    let status = api.get("a").await.unwrap().status.unwrap();
    assert_eq!(status.words, Some(2));
    assert_eq!(status.observed_generation, Some(1));
    let ready = &status.conditions[0];
    assert_eq!(
        (&*ready.r#type, &*ready.status, &*ready.reason),
        ("Ready", "True", "Reconciled")
    );

    let status = api.get("b").await.unwrap().status.unwrap();
    let ready = &status.conditions[0];
    assert_eq!(
        (&*ready.status, &*ready.reason, &*ready.message),
        ("False", "Empty", "a page without words")
    );
    world.advance(Duration::from_secs(3600)).await;
    assert_eq!(world.writes_of("pages"), 2, "a permanent error ends there");

    let fix = json!({ "spec": { "text": "three" } });
    api.patch("b", &PatchParams::default(), &Patch::Merge(&fix))
        .await
        .unwrap();
    world.settle().await;
    let status = api.get("b").await.unwrap().status.unwrap();
    assert_eq!(status.conditions[0].status, "True", "until the spec changes");
    assert_eq!(status.observed_generation, Some(2));
    assert_eq!(world.writes_of("pages"), 3);
    running.stop().await;

    let running = world.start(count::controller()).await;
    assert_eq!(world.writes_of("pages"), 3, "a restart writes nothing");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn conditions_of_others_survive_a_race() {
    let world = World::new().await;
    let api = pages(&world).await;
    api.create(
        &PostParams::default(),
        &Page::new("a", PageSpec { text: "one".into() }),
    )
    .await
    .unwrap();
    let running = world.start(count::controller()).await;
    let mut page = api.get("a").await.unwrap();
    let theirs: Value = json!({
        "type": "Printed", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    page.status
        .as_mut()
        .unwrap()
        .conditions
        .push(serde_json::from_value(theirs).unwrap());
    api.replace_status("a", &PostParams::default(), &page)
        .await
        .unwrap();
    let fix = json!({ "spec": { "text": "one two" } });
    api.patch("a", &PatchParams::default(), &Patch::Merge(&fix))
        .await
        .unwrap();
    world.settle().await;
    let status = api.get("a").await.unwrap().status.unwrap();
    assert_eq!(status.words, Some(2));
    assert_eq!(status.conditions.len(), 2, "{status:?}");
    running.stop().await;
}

/// A kind without a place for conditions: the server would drop them, and each run would write them again.
mod bare {
    use super::*;

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Bare",
        namespaced,
        status = "BareStatus"
    )]
    pub(super) struct BareSpec {}

    #[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    pub(super) struct BareStatus {
        words: Option<usize>,
    }

    #[controller(name = "bare", status(conditions))]
    pub(super) async fn reconcile(_bare: Arc<Bare>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn conditions_that_are_not_kept_are_told_and_not_written_again_and_again() {
    let world = World::new().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    definitions
        .create(&PostParams::default(), &bare::Bare::crd())
        .await
        .unwrap();
    world.advance(Duration::from_secs(1)).await;
    world.create(&bare::Bare::new("a", bare::BareSpec {})).await;
    let running = world.start(bare::reconcile::controller()).await;
    world.advance(Duration::from_secs(3600)).await;
    assert_eq!(world.writes_of("bare"), 1);
    running.stop().await;

    let operator = crate::Operator::new("bare")
        .crd::<bare::Bare>()
        .controller(bare::reconcile::controller());
    let error = operator.run(Default::default()).await.unwrap_err().to_string();
    assert!(
        error.contains("Bare has no `status.conditions`") && error.contains("Vec<Condition>"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn plain_functions_show_what_they_want() {
    let status = Status::new();
    let page = Page::new(
        "a",
        PageSpec {
            text: "one two".into(),
        },
    );
    count(Arc::new(page), status.clone()).await.unwrap();
    assert_eq!(status.wanted(), json!({ "words": 2 }));
    let _ = labelled(service_account("x"), "a", "b");
}
