//! A run sees what the runs before it wrote, and none is for it, however far the watch is behind.

use std::{sync::Arc, time::Duration};

use controller_apiserver::{Fault, Verb, When};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::{
    Api, CustomResource, CustomResourceExt, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::world::{Notes, World, config_map, service_account};
use crate::{
    Action, controller,
    reconcile::{Children, Status},
    store::Store,
};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Counter",
    namespaced,
    status = "CounterStatus"
)]
pub(super) struct CounterSpec {
    pub(super) goal: u32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(super) struct CounterStatus {
    pub(super) count: Option<u32>,
}

/// Counts to the goal, a step a run, and wants one child if it sees none.
#[controller(name = "counters", owns(ConfigMap))]
async fn count(
    counter: Arc<Counter>,
    notes: Arc<Notes>,
    status: Status,
    children: Children,
    maps: Store<ConfigMap>,
) -> Result<Action, kube::Error> {
    let count = counter
        .status
        .as_ref()
        .and_then(|status| status.count)
        .unwrap_or(0);
    let made = maps
        .snapshot()
        .iter()
        .filter(|map| map.name_any().starts_with("made"))
        .count();
    notes.note(format!("at {count} with {made} children"));
    if made == 0 {
        children
            .upsert(config_map(&format!("made-at-{count}"), &[]))
            .await?;
    }
    if count == counter.spec.goal {
        return Ok(Action::await_change());
    }
    status.set(json!({ "count": count + 1 }));
    Ok(Action::requeue(Duration::from_millis(100)))
}

async fn counters(world: &World) -> Api<Counter> {
    Api::all(world.client.clone())
        .create(&PostParams::default(), &Counter::crd())
        .await
        .unwrap();
    world.settle().await;
    world.advance(Duration::from_secs(1)).await;
    world.api()
}

/// kubernetes-sigs/controller-runtime#1464: the next run saw neither the status nor the child of the one before, and made
/// a second child.
#[tokio::test(start_paused = true)]
async fn a_run_begins_with_what_the_one_before_wrote() {
    let world = World::new().await;
    let notes = Notes::default();
    let api = counters(&world).await;
    world.server.faults().inject(
        When::verb(Verb::Watch).agent("counters"),
        Fault::DelayEvents(Duration::from_secs(2)),
    );
    let running = world.start(count::controller(notes.clone())).await;
    api.create(
        &PostParams::default(),
        &Counter::new("a", CounterSpec { goal: 5 }),
    )
    .await
    .unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut expected = vec!["at 0 with 0 children".to_owned()];
    expected.extend((1..=5).map(|count| format!("at {count} with 1 children")));
    assert_eq!(notes.take(), expected);
    let made = world
        .api::<ConfigMap>()
        .list(&ListParams::default())
        .await
        .unwrap();
    let mut made: Vec<_> = made.items.iter().map(ResourceExt::name_any).collect();
    made.retain(|name| name.starts_with("made"));
    assert_eq!(made, ["made-at-0"]);
    let conflicts = world.server.journal();
    let conflicts = conflicts
        .entries()
        .iter()
        .filter(|entry| entry.user_agent == "counters" && entry.code == 409);
    assert_eq!(conflicts.count(), 0, "nothing was written to an old copy");
    assert_eq!(world.writes_of("counters"), 6, "five counts and a child");
    running.stop().await;
}

/// A status that goes back to what an old copy shows must be written, and what others wrote meanwhile is not undone.
#[tokio::test(start_paused = true)]
async fn a_status_that_returns_to_an_old_value_is_written() {
    #[controller(name = "flips")]
    async fn flip(counter: Arc<Counter>, notes: Arc<Notes>, status: Status) -> Result<Action, kube::Error> {
        let runs = notes.len();
        notes.note(counter.name_any());
        status.set(json!({ "count": runs % 2 }));
        // The first answer is delivered before the second run, the others only after the last.
        Ok(match runs {
            0 => Action::requeue(Duration::from_secs(5)),
            1..4 => Action::requeue(Duration::from_millis(100)),
            _ => Action::await_change(),
        })
    }
    let world = World::new().await;
    let notes = Notes::default();
    let api = counters(&world).await;
    world.server.faults().inject(
        When::verb(Verb::Watch).agent("flips"),
        Fault::DelayEvents(Duration::from_secs(2)),
    );
    let running = world.start(flip::controller(notes.clone())).await;
    api.create(
        &PostParams::default(),
        &Counter::new("a", CounterSpec { goal: 0 }),
    )
    .await
    .unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(notes.len(), 5, "own writes wake nobody");
    assert_eq!(world.writes_of("flips"), 5, "0, 1, 0, 1, 0");
    assert_eq!(api.get("a").await.unwrap().status.unwrap().count, Some(0));

    let theirs = json!({ "status": { "count": 77 } });
    api.patch_status("a", &PatchParams::default(), &Patch::Merge(&theirs))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(notes.len(), 6, "the write of somebody else wakes");
    assert_eq!(api.get("a").await.unwrap().status.unwrap().count, Some(1));
    running.stop().await;
}

/// A change that comes while its object runs opens its debounce window then, not when the run ends.
#[tokio::test(start_paused = true)]
async fn a_change_during_a_long_run_does_not_wait_for_a_window_after_it() {
    #[controller(name = "slow", config(debounce = "8s"))]
    async fn slow(account: Arc<ServiceAccount>, notes: Arc<Notes>) -> Result<Action, kube::Error> {
        notes.note(account.name_any());
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(Action::await_change())
    }
    let world = World::new().await;
    let notes = Notes::default();
    let running = world.start(slow::controller(notes.clone())).await;
    world.create(&service_account("web")).await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(notes.take(), ["web"]);
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    world
        .api::<ServiceAccount>()
        .patch("web", &PatchParams::default(), &Patch::Merge(&label))
        .await
        .unwrap();
    // The run ends at second 18, the window at second 17.
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert_eq!(notes.take(), [""; 0]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(notes.take(), ["web"], "at once when the first run is over");
    running.stop().await;
}
