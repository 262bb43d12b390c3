//! Somebody else writes the same objects at the same time: nothing of theirs is undone, and none of it is missed.

use std::{sync::Arc, time::Duration};

use controller_apiserver::{Fault, Verb, When};
use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota, ServiceAccount};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use super::world::{Notes, World, config_map, labelled, service_account};
use crate::{Action, controller, reconcile::Children, store::Store};

/// Lets time pass, whether or not all is at rest.
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

fn quota(cpu: &str) -> ResourceQuota {
    let quota = json!({ "metadata": { "name": "quota" }, "spec": { "hard": { "cpu": cpu } } });
    serde_json::from_value(quota).unwrap()
}

/// Wants a quota in words that the server has others for, and takes its time.
#[controller(name = "quotas", owns(ResourceQuota))]
async fn keep_quota(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    quotas: Store<ResourceQuota>,
    children: Children,
) -> Result<Action, kube::Error> {
    if account.name_any() == "default" {
        return Ok(Action::await_change());
    }
    let used = quotas.get("quota").and_then(|quota| quota.status.clone()?.used);
    notes.note(format!(
        "used {:?}",
        used.and_then(|used| used.get("cpu").cloned())
    ));
    tokio::time::sleep(Duration::from_secs(1)).await;
    children.apply([quota("1000m")]).await?;
    Ok(Action::await_change())
}

/// The apply changes nothing, and its answer names a version that somebody else made: what they changed is still to be seen.
#[tokio::test(start_paused = true)]
async fn what_an_apply_meets_is_not_taken_for_what_it_made() {
    let world = World::new().await;
    let notes = Notes::default();
    let running = world.start(keep_quota::controller(notes.clone())).await;
    world.create(&labelled(service_account("web"), "turn", "1")).await;
    pass(Duration::from_secs(10)).await;
    let writes = world.writes_of("quotas");
    notes.take();

    world.relabel::<ServiceAccount>("web", "turn", "2").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let quotas = world.api::<ResourceQuota>();
    let used = json!({ "status": { "used": { "cpu": "7" } } });
    quotas
        .patch_status("quota", &PatchParams::default(), &Patch::Merge(&used))
        .await
        .unwrap();
    pass(Duration::from_secs(10)).await;
    assert!(world.writes_of("quotas") > writes, "it was not sure, and asked");
    assert_eq!(
        notes.take().last().map(String::as_str),
        Some("used Some(Quantity(\"7\"))")
    );
    let asked = world.writes_of("quotas");
    world.relabel::<ServiceAccount>("web", "turn", "3").await;
    pass(Duration::from_secs(10)).await;
    assert_eq!(world.writes_of("quotas"), asked, "and knows it from then on");
    running.stop().await;
}

/// Writes what the label says into its one child.
#[controller(name = "writers", owns(ConfigMap))]
async fn write(
    account: Arc<ServiceAccount>,
    notes: Arc<Notes>,
    children: Children,
) -> Result<Action, kube::Error> {
    let Some(text) = account.labels().get("text") else {
        return Ok(Action::await_change());
    };
    let made = children.apply([config_map("child", &[("text", text)])]).await;
    notes.note(made.map_or_else(|error| error.to_string(), |()| "written".to_owned()));
    Ok(Action::await_change())
}

async fn writing(world: &World, notes: &Notes) -> super::world::Running {
    world
        .create(&labelled(service_account("web"), "text", "one"))
        .await;
    let running = world.start(write::controller(notes.clone())).await;
    notes.take();
    let late = When::verb(Verb::Watch).resource("configmaps").agent("writers");
    world
        .server
        .faults()
        .inject(late, Fault::DelayEvents(Duration::from_secs(2)));
    world.server.close_watches();
    pass(Duration::from_secs(30)).await;
    running
}

fn conflicts(world: &World) -> usize {
    let journal = world.server.journal();
    let entries = journal.entries();
    entries
        .iter()
        .filter(|entry| entry.user_agent == "writers" && entry.code == 409)
        .count()
}

#[tokio::test(start_paused = true)]
async fn a_child_that_changed_since_it_was_seen_is_looked_at_again() {
    let world = World::new().await;
    let notes = Notes::default();
    let running = writing(&world, &notes).await;
    let maps = world.api::<ConfigMap>();
    world.relabel::<ConfigMap>("child", "theirs", "kept").await;
    world.relabel::<ServiceAccount>("web", "text", "two").await;
    pass(Duration::from_secs(1)).await;
    let child = maps.get("child").await.unwrap();
    assert_eq!(child.data.as_ref().unwrap()["text"], "two");
    assert_eq!(child.labels()["theirs"], "kept");
    assert_eq!(
        conflicts(&world),
        1,
        "the copy was old, and nothing was written over it"
    );
    assert_eq!(notes.take(), ["written"]);
    pass(Duration::from_secs(30)).await;
    assert_eq!(notes.take(), ["written"], "their change woke, ours did not");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_became_somebody_elses_is_refused_though_the_watch_is_late() {
    let world = World::new().await;
    let notes = Notes::default();
    let running = writing(&world, &notes).await;
    let maps = world.api::<ConfigMap>();
    maps.delete("child", &DeleteParams::default()).await.unwrap();
    world.create(&config_map("child", &[("text", "theirs")])).await;
    world.relabel::<ServiceAccount>("web", "text", "two").await;
    pass(Duration::from_secs(1)).await;
    let told = notes.take();
    assert!(told.len() == 1 && told[0].contains("child"), "{told:?}");
    assert_eq!(maps.get("child").await.unwrap().data.unwrap()["text"], "theirs");
    running.stop().await;
}

/// More primaries than may run at once are paused: the others run all the same.
#[tokio::test(start_paused = true)]
async fn paused_objects_stand_in_nobodys_way() {
    #[controller(name = "narrow", config(concurrency = 2))]
    async fn narrow(account: Arc<ServiceAccount>, notes: Arc<Notes>) -> Result<Action, kube::Error> {
        notes.note(account.name_any());
        Ok(Action::await_change())
    }
    let world = World::new().await;
    let notes = Notes::default();
    for number in 0..20 {
        let mut account = service_account(&format!("a-{number}"));
        account
            .annotations_mut()
            .insert(crate::PAUSED.to_owned(), "true".to_owned());
        world.create(&account).await;
    }
    for number in 0..5 {
        world.create(&service_account(&format!("z-{number}"))).await;
    }
    let running = world.start(narrow::controller(notes.clone())).await;
    pass(Duration::from_secs(5)).await;
    let mut ran = notes.take();
    ran.retain(|name| name.starts_with("z-"));
    ran.sort();
    assert_eq!(ran, ["z-0", "z-1", "z-2", "z-3", "z-4"]);
    running.stop().await;
}
