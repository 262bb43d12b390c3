//! Own writes where tasks really run at the same time. Time is real here.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, CustomResourceExt, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::{sync::oneshot, time::Instant};

use super::{
    own_writes::{Counter, CounterSpec},
    world::{World, config_map},
};
use crate::{
    Action, controller,
    declare::{Environment, Runnable},
    reconcile::{Children, Status},
};

/// Far longer than anything takes; only a failure waits for it.
const LIMIT: Duration = Duration::from_secs(120);
const COUNTERS: usize = 12;

#[derive(Default)]
struct Count {
    runs: AtomicUsize,
    /// What each run saw shown; and how often that was less than what the one before saw.
    shown: Mutex<BTreeMap<String, u32>>,
    stale: AtomicUsize,
}

/// Shows the goal in the status and in a child.
#[controller(name = "shows", owns(ConfigMap))]
async fn show(
    counter: Arc<Counter>,
    count: Arc<Count>,
    status: Status,
    children: Children,
) -> Result<Action, kube::Error> {
    count.runs.fetch_add(1, Ordering::SeqCst);
    let goal = counter.spec.goal;
    let shown = counter
        .status
        .as_ref()
        .and_then(|status| status.count)
        .unwrap_or(0);
    // Goals only rise, and so does what is shown of them.
    let before = count.shown.lock().unwrap().insert(counter.name_any(), shown);
    if before > Some(shown) {
        count.stale.fetch_add(1, Ordering::SeqCst);
    }
    children
        .apply([config_map(&counter.name_any(), &[("goal", &goal.to_string())])])
        .await?;
    status.set(json!({ "count": goal }));
    Ok(Action::await_change())
}

async fn is_shown(world: &World) -> Result<(), String> {
    let counters = world.api::<Counter>().list(&ListParams::default()).await.unwrap();
    let maps = world.api::<ConfigMap>();
    for counter in counters.items {
        let (name, goal) = (counter.name_any(), counter.spec.goal);
        let status = counter.status.and_then(|status| status.count);
        let child = maps
            .get_opt(&name)
            .await
            .unwrap()
            .and_then(|map| map.data?.get("goal").cloned());
        if status != Some(goal) || child != Some(goal.to_string()) {
            return Err(format!("{name}: goal {goal}, status {status:?}, child {child:?}"));
        }
    }
    Ok(())
}

/// The last change of others is seen, and then own writes wake nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_change_of_others_is_seen_and_own_writes_wake_nobody() {
    let world = World::new().await;
    let definitions = Api::all(world.client.clone());
    definitions
        .create(&PostParams::default(), &Counter::crd())
        .await
        .unwrap();
    let api: Api<Counter> = world.api();
    for number in 0..COUNTERS {
        let counter = Counter::new(&format!("c{number}"), CounterSpec { goal: 1 });
        api.create(&PostParams::default(), &counter).await.unwrap();
    }
    let count = Arc::new(Count::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let environment =
        Environment::new(world.server.client_named("shows")).shutdown_on(async { drop(stopped.await) });
    let running = tokio::spawn(show::controller(Arc::clone(&count)).run(environment));
    let changing: Vec<_> = (0..4)
        .map(|task| {
            let api = api.clone();
            tokio::spawn(async move {
                for goal in 2..60_u32 {
                    // Each counter is one task's.
                    let name = format!("c{}", task * 3 + goal as usize % 3);
                    let patch = json!({ "spec": { "goal": goal } });
                    api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for task in changing {
        task.await.unwrap();
    }
    let end = Instant::now() + LIMIT;
    while let Err(state) = is_shown(&world).await {
        assert!(Instant::now() < end, "never shown: {state}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Runs that others' last changes asked for may still be under way; after them there are none.
    let mut runs = count.runs.load(Ordering::SeqCst);
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = count.runs.load(Ordering::SeqCst);
        if now == runs {
            break;
        }
        assert!(
            Instant::now() < end,
            "it wakes for its own writes again and again: {now} runs"
        );
        runs = now;
    }
    assert_eq!(count.stale.load(Ordering::SeqCst), 0);
    drop(stop);
    tokio::time::timeout(LIMIT, running)
        .await
        .expect("it ends")
        .unwrap()
        .unwrap();
}
