//! Finalizers, cleanup and status.

use std::{sync::Arc, time::Duration};

use controller_apiserver::{Fault, Verb, When};
use k8s_openapi::{
    api::core::v1::{ConfigMap, ServiceAccount},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, CustomResource, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::world::{Notes, World, config_map, labelled, service_account};
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

/// kube-rs/kube#964: two controllers edit the finalizers of many objects at the same time, both reading what is old: each
/// name is there once, no edit takes the other's out, and in the end every object goes.
#[tokio::test(start_paused = true)]
async fn two_controllers_do_not_undo_each_others_finalizers() {
    #[controller(name = "second", cleanup(release))]
    async fn second(_account: Arc<ServiceAccount>, _notes: Arc<Notes>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
    const MANY: usize = 200;
    let world = World::new().await;
    let notes = Notes::default();
    let first = world.start(guard::controller(notes.clone())).await;
    let second = world.start(second::controller(notes.clone())).await;
    let old = [
        (Verb::Watch, Fault::DelayEvents(Duration::from_millis(700))),
        (Verb::Get, Fault::StaleReads(20)),
        (Verb::List, Fault::StaleReads(20)),
    ];
    for (verb, fault) in old {
        for agent in ["guard", "second"] {
            let when = When::verb(verb).resource("serviceaccounts").agent(agent);
            world.server.faults().inject(when, fault.clone());
        }
    }
    world.server.close_watches();
    for number in 0..MANY {
        world.create(&service_account(&format!("web-{number}"))).await;
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let all = accounts_of(&world).await;
    assert_eq!(all.len(), MANY);
    for account in all {
        let mut finalizers = account.finalizers().to_vec();
        finalizers.sort();
        assert_eq!(finalizers, [OURS, "second/cleanup"], "{}", account.name_any());
        let name = account.name_any();
        world
            .api::<ServiceAccount>()
            .delete(&name, &DeleteParams::default())
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let left = accounts_of(&world).await;
    assert_eq!(
        left.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        [""; 0]
    );
    first.stop().await;
    second.stop().await;
}

/// The accounts as they are, whatever the faults show.
async fn accounts_of(world: &World) -> Vec<ServiceAccount> {
    let api = Api::<ServiceAccount>::namespaced(world.server.client_named("truth"), "docs");
    let all = api.list(&Default::default()).await.unwrap().items;
    all.into_iter()
        .filter(|account| account.name_any().starts_with("web-"))
        .collect()
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

/// Comes to no end of its own, as its text says.
#[controller(
    name = "fragile",
    predicates(generation),
    status(conditions),
    config(timeout = "5s"),
    backoff(initial = "1m", jitter = 0)
)]
async fn fragile(page: Arc<Page>, status: Status) -> Result<Action, kube::Error> {
    status.set(json!({ "words": 1 }));
    match page.spec.text.as_str() {
        "panic" => panic!("the password is 1234"),
        "hang" => std::future::pending().await,
        _ => Ok(Action::await_change()),
    }
}

/// An object that was ready once, and whose reconcile now panics or hangs, is not ready.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_interrupted_is_told_in_the_status() {
    let world = World::new().await;
    let api = pages(&world).await;
    let running = world.start(fragile::controller()).await;
    for (round, (text, reason)) in [("panic", "Panicked"), ("hang", "TimedOut")]
        .into_iter()
        .enumerate()
    {
        let name = format!("page-{round}");
        world
            .create(&Page::new(&name, PageSpec { text: "fine".into() }))
            .await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let status = api.get(&name).await.unwrap().status.unwrap();
        assert_eq!(status.conditions[0].status, "True");
        let writes = world.writes_of("fragile");
        let fix = json!({ "spec": { "text": text } });
        api.patch(&name, &PatchParams::default(), &Patch::Merge(&fix))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(30)).await;
        let status = api.get(&name).await.unwrap().status.unwrap();
        let ready = &status.conditions[0];
        assert_eq!((&*ready.status, &*ready.reason), ("False", reason));
        assert_eq!(
            (ready.observed_generation, status.observed_generation),
            (Some(2), Some(2))
        );
        assert!(!ready.message.contains("1234"), "{}", ready.message);
        assert!(
            ready.message.ends_with("(it is tried again)"),
            "{}",
            ready.message
        );
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(
            world.writes_of("fragile"),
            writes + 1,
            "the same is not written again"
        );
        let fix = json!({ "spec": { "text": "fine" } });
        api.patch(&name, &PatchParams::default(), &Patch::Merge(&fix))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let status = api.get(&name).await.unwrap().status.unwrap();
        assert_eq!(status.conditions[0].status, "True");
    }
    running.stop().await;
}

/// Also what goes wrong before the function: here, the finalizer cannot be stored.
#[tokio::test(start_paused = true)]
async fn a_finalizer_that_cannot_be_stored_is_told_in_the_status() {
    #[controller(
        name = "guarded",
        cleanup(let_go),
        status(conditions),
        backoff(initial = "1m", jitter = 0)
    )]
    async fn guarded(_page: Arc<Page>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
    async fn let_go(_page: Arc<Page>) -> Result<(), kube::Error> {
        Ok(())
    }
    let world = World::new().await;
    let api = pages(&world).await;
    let refused = When::verb(Verb::Patch)
        .resource("pages")
        .agent("guarded")
        .times(1);
    world.server.faults().inject(refused, Fault::status(403));
    world
        .create(&Page::new("a", PageSpec { text: "one".into() }))
        .await;
    let running = world.start(guarded::controller()).await;
    let ready = |page: Page| page.status.unwrap().conditions[0].status.clone();
    assert_eq!(ready(api.get("a").await.unwrap()), "False");
    world.advance(Duration::from_secs(120)).await;
    assert_eq!(ready(api.get("a").await.unwrap()), "True");
    running.stop().await;
}

/// The status is written over what is there now, however old the copy is that the run began with.
#[tokio::test(start_paused = true)]
async fn a_status_that_lost_a_race_is_written_over_what_won_it() {
    let world = World::new().await;
    let api = pages(&world).await;
    world
        .create(&Page::new("a", PageSpec { text: "one".into() }))
        .await;
    let running = world.start(count::controller()).await;
    let late = When::verb(Verb::Watch).resource("pages").agent("pages");
    world
        .server
        .faults()
        .inject(late, Fault::DelayEvents(Duration::from_secs(2)));
    world.server.close_watches();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let fix = json!({ "spec": { "text": "one two" } });
    api.patch("a", &PatchParams::default(), &Patch::Merge(&fix))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(1900)).await;
    let mut page = api.get("a").await.unwrap();
    let theirs: Value = json!({
        "type": "Printed", "status": "True", "reason": "X", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status = page.status.as_mut().unwrap();
    status.conditions.push(serde_json::from_value(theirs).unwrap());
    api.replace_status("a", &PostParams::default(), &page)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let status = api.get("a").await.unwrap().status.unwrap();
    assert_eq!(
        (status.words, status.conditions.len()),
        (Some(2), 2),
        "{status:?}"
    );
    let journal = world.server.journal();
    let lost = journal
        .entries()
        .iter()
        .filter(|entry| entry.user_agent == "pages" && entry.code == 409)
        .count();
    assert_eq!(lost, 1, "there was a race");
    running.stop().await;
}

/// Foreground and orphan deletion have finalizers of their own: they are neither lost nor waited for.
#[tokio::test(start_paused = true)]
async fn the_other_ways_to_delete_go_their_way() {
    let world = World::new().await;
    let notes = Notes::default();
    let running = world.start(guard::controller(notes.clone())).await;
    let ways = [
        ("foreground", DeleteParams::foreground()),
        ("orphan", DeleteParams::orphan()),
    ];
    for (name, way) in ways {
        let owner = world.create(&service_account(name)).await;
        world.settle().await;
        let mut child = config_map(&format!("{name}-child"), &[]);
        let mut reference = owner.controller_owner_ref(&()).unwrap();
        reference.block_owner_deletion = Some(true);
        child.metadata.owner_references = Some(vec![reference]);
        child.metadata.finalizers = Some(vec!["example.com/held".into()]);
        world.create(&child).await;
        let api = world.api::<ServiceAccount>();
        api.delete(name, &way).await.unwrap();
        world.settle().await;
        let maps = world.api::<ConfigMap>();
        let child = maps.get(&child.name_any()).await.unwrap();
        match api.get_opt(name).await.unwrap() {
            Some(owner) => {
                assert_eq!(name, "foreground", "only that waits for its children");
                assert_eq!(
                    owner.finalizers(),
                    ["foregroundDeletion"],
                    "ours is gone, theirs is not"
                );
                assert!(child.metadata.deletion_timestamp.is_some());
            }
            None => {
                assert!(child.owner_references().is_empty() && child.metadata.deletion_timestamp.is_none());
            }
        }
        let let_go = json!({ "metadata": { "finalizers": null } });
        maps.patch(&child.name_any(), &PatchParams::default(), &Patch::Merge(&let_go))
            .await
            .unwrap();
        world.settle().await;
        assert!(api.get_opt(name).await.unwrap().is_none());
    }
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
