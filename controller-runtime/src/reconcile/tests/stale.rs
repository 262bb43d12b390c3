//! Old copies: what a run reads is older than what is there, or becomes so while it runs.

use std::{sync::Arc, time::Duration};

use controller_apiserver::{Fault, Verb, When};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::{
    Client, ResourceExt,
    api::{Api, DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::json;

use super::world::{Notes, World, config_map, labelled, service_account};
use crate::{
    Action, controller,
    reconcile::{Children, Recorder},
    store::Store,
};

const THEIRS: &str = "other.example/one";

#[controller(name = "racer", cleanup(lose_the_race))]
async fn racer(_account: Arc<ServiceAccount>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

/// The other owner takes its finalizer out between this cleanup's read and its end.
async fn lose_the_race(account: Arc<ServiceAccount>, client: Client) -> Result<(), kube::Error> {
    let api = Api::<ServiceAccount>::namespaced(client, "docs");
    let left: Vec<_> = account
        .finalizers()
        .iter()
        .filter(|name| *name != THEIRS)
        .collect();
    let patch = json!({ "metadata": { "finalizers": left } });
    api.patch(
        &account.name_any(),
        &PatchParams::default(),
        &Patch::Merge(&patch),
    )
    .await
    .map(drop)
}

/// nolar/kopf#798: the list as it was remembered brought the other's finalizer back, and the object hung for ever.
#[tokio::test(start_paused = true)]
async fn a_finalizer_that_goes_during_the_cleanup_is_not_brought_back() {
    let world = World::new().await;
    let mut account = service_account("web");
    account.metadata.finalizers = Some(vec![THEIRS.to_owned()]);
    world.create(&account).await;
    let running = world.start(racer::controller()).await;
    let api = world.api::<ServiceAccount>();
    assert_eq!(
        api.get("web").await.unwrap().finalizers(),
        [THEIRS, "racer/cleanup"]
    );
    api.delete("web", &DeleteParams::default()).await.unwrap();
    world.settle().await;
    assert!(api.get_opt("web").await.unwrap().is_none(), "it is gone at once");
    running.stop().await;
}

/// Makes a child if it finds none, tells so, and comes again soon.
#[controller(name = "hasty", owns(ConfigMap))]
async fn hasty(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    maps: Store<ConfigMap>,
    children: Children,
    recorder: Recorder,
) -> Result<Action, kube::Error> {
    let mine = maps
        .snapshot()
        .into_iter()
        .find(|map| map.name_any().starts_with("child-"));
    notes.note(mine.as_ref().map_or("none".to_owned(), |map| map.name_any()));
    if mine.is_none() {
        // A name that no one could guess: were the child not seen, the next run would make another.
        let turn = account.labels().get("turn").cloned().unwrap_or_default();
        let name = format!("child-{turn}-{}", maps.len());
        children.upsert(config_map(&name, &[("a", "1")])).await?;
        recorder.normal("Made", &name).await;
    }
    Ok(Action::requeue(Duration::from_millis(100)))
}

/// kubernetes-sigs/controller-runtime#1464: the next run acted on a copy older than its own last write.
#[tokio::test(start_paused = true)]
async fn a_run_sees_the_writes_of_the_runs_before_it_though_the_watch_is_late() {
    let world = World::new().await;
    let notes = Notes::default();
    let watches = When::verb(Verb::Watch).resource("configmaps");
    let running = world.start(hasty::controller(notes.clone())).await;
    world
        .server
        .faults()
        .inject(watches, Fault::DelayEvents(Duration::from_secs(2)));
    world.server.close_watches();
    world.advance(Duration::from_secs(5)).await;
    world.create(&labelled(service_account("web"), "turn", "x")).await;
    world.advance(Duration::from_millis(1050)).await;
    let seen = notes.take();
    assert!(seen.len() >= 10, "it ran while the watch was late: {seen:?}");
    assert_eq!(seen[0], "none");
    assert!(
        seen[1..].iter().all(|child| child.starts_with("child-x-")),
        "{seen:?}"
    );
    world.advance(Duration::from_secs(5)).await;
    let made = world
        .api::<ConfigMap>()
        .list(&ListParams::default())
        .await
        .unwrap();
    let made = made
        .items
        .iter()
        .filter(|map| map.name_any().starts_with("child-"));
    assert_eq!(made.count(), 1);
    running.stop().await;
}
