//! An object that runs in circles is found, named and slowed; convergence of every kind is left alone.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU32, Ordering},
};

use controller_apiserver::Server;
use controller_runtime::{
    HotLoop,
    explain::KeyState,
    hot_loop::Flapping,
    manager::Board,
    operator::{RunOptions, Stop},
    prelude::*,
};
use futures::StreamExt;
use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret},
    events::v1::Event,
};
use kube::{
    api::{ListParams, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Writes the time into its own object, through a client of its own: nobody knows that it is its own write.
#[controller(name = "clocks", config(concurrency = 4))]
async fn clock(
    map: Arc<ConfigMap>,
    runs: Arc<AtomicU32>,
    client: Client,
    _recorder: Recorder,
) -> Result<Action, kube::Error> {
    let run = runs.fetch_add(1, Ordering::Relaxed);
    if map.labels().contains_key("clock") {
        let now = format!("run {run}");
        patch::<ConfigMap>(&client, &map.name_any(), json!({ "data": { "checkedAt": now } })).await?;
    }
    Ok(Action::await_change())
}

/// Keeps a Secret of each ConfigMap as it should be …
#[controller(name = "keepers", owns(Secret))]
async fn keeper(
    map: Arc<ConfigMap>,
    runs: Arc<AtomicU32>,
    children: Children,
) -> Result<Action, kube::Error> {
    runs.fetch_add(1, Ordering::Relaxed);
    let mut secret = Secret::default();
    secret.metadata.name = Some(map.name_any());
    secret.metadata.annotations = Some(BTreeMap::from([("mode".to_owned(), "kept".to_owned())]));
    children.apply([secret]).await?;
    Ok(Action::await_change())
}

/// … while another thinks that it should be otherwise.
#[controller(name = "rivals")]
async fn rival(
    secret: Arc<Secret>,
    _runs: Arc<AtomicU32>,
    client: Client,
    _recorder: Recorder,
) -> Result<Action, kube::Error> {
    insist(secret, client).await
}

async fn insist(secret: Arc<Secret>, client: Client) -> Result<Action, kube::Error> {
    if secret.name_any() == "contested" && secret.annotations().get("mode").is_none_or(|mode| mode != "mine")
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
        patch::<Secret>(
            &client,
            "contested",
            json!({ "metadata": { "annotations": { "mode": "mine" } } }),
        )
        .await?;
    }
    Ok(Action::await_change())
}

async fn patch<K>(client: &Client, name: &str, patch: Value) -> Result<K, kube::Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let api = Api::<K>::default_namespaced(client.clone());
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
}

struct World {
    server: Server,
    client: Client,
    board: Board,
    runs: Arc<AtomicU32>,
    task: JoinHandle<()>,
}

impl World {
    async fn start(operator: impl FnOnce(Operator, &Arc<AtomicU32>) -> Operator) -> Self {
        let server = Server::new();
        let (board, runs) = (Board::new("circles"), Arc::new(AtomicU32::new(0)));
        let operator = operator(Operator::new("circles"), &runs);
        let options = RunOptions::new()
            .client(server.client_named("operator"))
            .stop_on(&Stop::new());
        let told = board.clone();
        let task = tokio::spawn(async move { operator.run_on(&told, options).await.unwrap() });
        let world = Self {
            client: server.client_named("test"),
            server,
            board,
            runs,
            task,
        };
        world.pass(Duration::from_secs(1)).await;
        world
    }

    /// Lets time pass, whether or not anything comes to rest.
    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn map(&self, name: &str, labels: Value) {
        let map: ConfigMap =
            serde_json::from_value(json!({ "metadata": { "name": name, "labels": labels } })).unwrap();
        Api::default_namespaced(self.client.clone())
            .create(&PostParams::default(), &map)
            .await
            .unwrap();
    }

    async fn events(&self) -> Vec<Event> {
        let all = Api::<Event>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .unwrap();
        all.items
            .into_iter()
            .filter(|event| event.reason.as_deref() == Some("HotLoop"))
            .collect()
    }

    fn runs(&self) -> u32 {
        self.runs.swap(0, Ordering::Relaxed)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_in_ones_own_object_is_found_and_only_that_object_slowed() {
    let world = World::start(|operator, runs| operator.controller(clock::controller(runs.clone()))).await;
    world.map("calm", json!({})).await;
    world.map("hot", json!({ "clock": "" })).await;
    world.pass(Duration::from_secs(3600)).await;
    let first_hour = world.runs();
    assert!((30..80).contains(&first_hour), "{first_hour}");
    let why = world.board.why("clocks", "default/hot").unwrap();
    let slowed = why.slowed.as_ref().unwrap();
    assert_eq!(slowed.delay_ms, 300_000, "{why}");
    assert_eq!(
        (slowed.fields[0].path.as_str(), slowed.fields[0].how),
        ("data.checkedAt", Flapping::AlwaysNew)
    );
    assert!(why.held.iter().any(|held| held.reason == "slowed"), "{why}");
    assert!(matches!(why.queue, KeyState::Waiting { .. }), "{why}");
    let events = world.events().await;
    assert_eq!(events.len(), 1, "one Event");
    let event = &events[0];
    assert_eq!(event.regarding.as_ref().unwrap().name.as_deref(), Some("hot"));
    let note = event.note.as_ref().unwrap();
    assert!(
        note.contains("data.checkedAt has a new value each time"),
        "{note}"
    );
    assert!(!note.contains("run 1"), "no value: {note}");

    // Others run at once; and so does whoever mends it.
    assert!(
        world
            .board
            .why("clocks", "default/calm")
            .unwrap()
            .slowed
            .is_none()
    );
    patch::<ConfigMap>(&world.client, "calm", json!({ "data": { "x": "y" } }))
        .await
        .unwrap();
    world.pass(Duration::from_millis(10)).await;
    assert_eq!(world.runs(), 1);
    patch::<ConfigMap>(
        &world.client,
        "hot",
        json!({ "metadata": { "labels": { "clock": null } } }),
    )
    .await
    .unwrap();
    world.pass(Duration::from_secs(1)).await;
    assert_eq!(world.runs(), 1);
    world.pass(Duration::from_secs(3600)).await;
    assert!(
        world.board.why("clocks", "default/hot").unwrap().slowed.is_none(),
        "quiet ends it"
    );
}

/// `hot_loop_cycles = 0`: an object that is meant to run in circles may.
#[tokio::test(start_paused = true)]
async fn without_a_limit_nobody_is_slowed() {
    #[controller(name = "free", config(hot_loop_cycles = 0))]
    async fn free(map: Arc<ConfigMap>, runs: Arc<AtomicU32>, client: Client) -> Result<Action, kube::Error> {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(1)).await;
        patch::<ConfigMap>(
            &client,
            &map.name_any(),
            json!({ "data": { "run": run.to_string() } }),
        )
        .await?;
        Ok(Action::await_change())
    }
    let world = World::start(|operator, runs| operator.controller(free::controller(runs.clone()))).await;
    world.map("hot", json!({})).await;
    world.pass(Duration::from_secs(3600)).await;
    let runs = world.runs();
    assert!(runs > 3000, "about one a second: {runs}");
    assert!(world.board.why("free", "default/hot").unwrap().slowed.is_none());
    assert_eq!(world.events().await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_writers_are_named_by_the_field_they_fight_about() {
    let world = World::start(|operator, runs| operator.controller(keeper::controller(runs.clone()))).await;
    // Another program, which knows no guard.
    let stubborn = world.server.client_named("stubborn");
    let secrets = Api::<Secret>::default_namespaced(stubborn.clone());
    let other =
        Controller::new(secrets, Default::default()).with_config(Config::default().hot_loop(HotLoop::off()));
    let other = other.run(
        move |secret, _: Arc<()>| insist(secret, stubborn.clone()),
        backoff(),
        Arc::new(()),
    );
    let other = tokio::spawn(other.for_each(|_| async {}));
    world.map("contested", json!({})).await;
    world.map("settled", json!({})).await;
    world.pass(Duration::from_secs(3600)).await;
    let why = world.board.why("keepers", "default/contested").unwrap();
    let field = &why.slowed.as_ref().unwrap().fields[0];
    assert_eq!(
        field.to_string(),
        "metadata.annotations.mode of Secret default/contested goes back and forth"
    );
    assert!(
        world
            .board
            .why("keepers", "default/settled")
            .unwrap()
            .slowed
            .is_none()
    );
    let note = world.events().await.remove(0).note.unwrap();
    assert!(note.contains("goes back and forth"), "{note}");
    world.runs();
    world.pass(Duration::from_secs(3600)).await;
    let runs = world.runs();
    assert!((10..20).contains(&runs), "about one in five minutes: {runs}");
    other.abort();
}

/// Each waits for the other: the circle is as slow as the slower, and one of them says what it is about.
#[tokio::test(start_paused = true)]
async fn a_circle_through_two_controllers_is_slowed_as_a_whole() {
    let world = World::start(|operator, runs| {
        let rival = rival::controller(Arc::default());
        operator
            .controller(keeper::controller(runs.clone()))
            .controller(rival)
    })
    .await;
    world.map("contested", json!({})).await;
    world.pass(Duration::from_secs(3600)).await;
    world.runs();
    world.pass(Duration::from_secs(3600)).await;
    let runs = world.runs();
    assert!(runs < 60, "{runs}");
    assert!(!world.events().await.is_empty());
}

/// Nothing is ever said of these, and nothing waits.
#[tokio::test(start_paused = true)]
async fn convergence_is_left_alone() {
    let world = World::start(|operator, runs| {
        operator
            .controller(keeper::controller(runs.clone()))
            .controller(clock::controller(runs.clone()))
    })
    .await;
    // The first creations, then changes of all, again and again.
    for map in 0..100 {
        world.map(&format!("m{map}"), json!({})).await;
    }
    for round in 0..3 {
        for map in 0..100 {
            let change = json!({ "data": { "round": round.to_string() } });
            patch::<ConfigMap>(&world.client, &format!("m{map}"), change)
                .await
                .unwrap();
        }
        world.pass(Duration::from_millis(300)).await;
    }
    // A user who cannot decide, at the speed of a script.
    for edit in 0..100 {
        let change = json!({ "data": { "choice": (edit % 2).to_string() } });
        patch::<ConfigMap>(&world.client, "m1", change).await.unwrap();
        world.pass(Duration::from_millis(70)).await;
    }
    // Children that report their progress, at several speeds.
    for (map, pace) in [("m2", 1), ("m3", 30), ("m4", 400), ("m5", 900)] {
        for step in 0..100 {
            let change = json!({ "metadata": { "annotations": { "ready": step.to_string() } } });
            patch::<Secret>(&world.client, map, change).await.unwrap();
            world.pass(Duration::from_millis(pace)).await;
        }
    }
    world.pass(Duration::from_secs(10)).await;
    for map in 0..100 {
        for controller in ["keepers", "clocks"] {
            let why = world.board.why(controller, &format!("default/m{map}")).unwrap();
            assert!(why.slowed.is_none() && why.queue == KeyState::Idle, "{why}");
        }
    }
    assert_eq!(world.events().await.len(), 0);
}
