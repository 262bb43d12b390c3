//! "Why did it run?" has a true answer, for a whole operator: what woke an object, what did not, and what it waits for.

use std::collections::BTreeMap;

use controller_apiserver::{Fault, Server, When};
use controller_runtime::{
    PAUSED,
    explain::{KeyState, Why},
    manager::Board,
    operator::{ElectionOptions, RunOptions, Stop},
    prelude::*,
};
use k8s_openapi::{
    ByteString,
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Secret, ServiceAccount},
    },
};
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

#[derive(Debug, thiserror::Error, ReconcileError)]
enum KeyError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("no key for {0}: ask the operator's owner")]
    NoKey(String),
}

/// Each ConfigMap gets a Secret with a key, unless it says that there is none.
#[controller(
    name = "keys",
    owns(Secret),
    watches(ServiceAccount, map(maps_of), predicates(annotations)),
    predicates(labels),
    backoff(initial = "10s", max = "10m", jitter = 0.0)
)]
async fn reconcile(map: Arc<ConfigMap>, children: Children) -> Result<Action, KeyError> {
    if map.labels().contains_key("broken") {
        return Err(KeyError::NoKey(map.name_any()));
    }
    let key = Secret {
        metadata: ObjectMeta {
            name: Some(map.name_any()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(
            "key".to_owned(),
            ByteString(b"hunter2".to_vec()),
        )])),
        ..Secret::default()
    };
    children.apply([key]).await?;
    Ok(match map.labels().get("again") {
        Some(_) => Action::requeue(Duration::from_secs(3600)),
        None => Action::await_change(),
    })
}

fn maps_of(account: &ServiceAccount) -> Option<ObjectRef<ConfigMap>> {
    let name = account.annotations().get("map")?;
    Some(ObjectRef::new(name).within("default"))
}

/// An operator on a server.
struct World {
    server: Server,
    client: Client,
    board: Board,
    task: JoinHandle<()>,
}

impl World {
    fn start(options: impl FnOnce(RunOptions) -> RunOptions) -> Self {
        Self::on(Server::new(), options)
    }

    fn on(server: Server, options: impl FnOnce(RunOptions) -> RunOptions) -> Self {
        let board = Board::new("keys");
        let options = options(
            RunOptions::new()
                .client(server.client_named("operator"))
                .stop_on(&Stop::new()),
        );
        let told = board.clone();
        let task = tokio::spawn(async move {
            let operator = Operator::new("keys").controller(reconcile::controller());
            operator.run_on(&told, options).await.unwrap();
        });
        Self {
            client: server.client_named("test"),
            server,
            board,
            task,
        }
    }

    async fn pass(&self, secs: u64) {
        self.server.advance(Duration::from_secs(secs)).await.unwrap();
    }

    async fn map(&self, name: &str) {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        };
        let map = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        Api::default_namespaced(self.client.clone())
            .create(&PostParams::default(), &map)
            .await
            .unwrap();
        self.pass(1).await;
    }

    async fn patch<K>(&self, name: &str, patch: Value) -> String
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType: Default>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let api = Api::<K>::default_namespaced(self.client.clone());
        let patched = api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
        self.pass(1).await;
        patched.resource_version().unwrap()
    }

    fn why(&self, name: &str) -> Why {
        self.board.why("keys", &format!("default/{name}")).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn what_woke_an_object_is_told_with_relation_version_and_fields() {
    let world = World::start(|options| options);
    world.map("a").await;
    let version = world
        .patch::<ConfigMap>("a", json!({ "metadata": { "labels": { "tier": "1" } } }))
        .await;
    let why = world.why("a");
    let change = &why.changes[0];
    assert_eq!(
        (change.relation, change.what, change.fate),
        ("primary", "changed", "woke")
    );
    assert_eq!(change.resource_version, version);
    assert_eq!(
        change.fields.as_deref(),
        Some(&["metadata.labels".to_owned()][..])
    );
    assert_eq!((&why.queue, why.failures), (&KeyState::Idle, 0));
    assert_eq!(why.last_run.as_ref().unwrap().report.causes, ["changed"]);
    assert!(why.last_run.as_ref().unwrap().ago_ms >= 1000);

    // Someone else writes the Secret; the operator writes it back, and does not wake for that.
    let version = world
        .patch::<Secret>("a", json!({ "data": { "key": "c3dvcmRmaXNo" } }))
        .await;
    let why = world.why("a");
    let change = &why.changes[0];
    assert_eq!(
        (change.relation, change.object.to_string()),
        ("owns", "Secret default/a".to_owned())
    );
    assert_eq!(
        (&change.resource_version, change.fields.as_ref().unwrap()),
        (&version, &vec!["data.key".to_owned()])
    );
    assert_eq!(why.ignored[0].fate, "own_write", "{:?}", why.ignored);
    assert_eq!(why.ignored[0].fields, Some(vec!["data.key".to_owned()]));
    let told = format!("{why}\n{}", serde_json::to_string(&why).unwrap());
    for secret in ["hunter2", "swordfish", "aHVudGVyMg", "c3dvcmRmaXNo"] {
        assert!(!told.contains(secret), "no value of a Secret: {told}");
    }
    assert!(told.contains("data.key"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn what_predicates_dropped_is_told_with_the_predicates() {
    let world = World::start(|options| options);
    world.map("a").await;
    world
        .patch::<ConfigMap>("a", json!({ "data": { "text": "new" } }))
        .await;
    let why = world.why("a");
    let change = why
        .ignored
        .iter()
        .find(|change| change.relation == "primary")
        .unwrap();
    assert_eq!(
        (change.fate, change.dropped_by.as_slice()),
        ("dropped", &["labels".to_owned()][..])
    );
    assert_eq!(change.fields, Some(vec!["data".to_owned()]));
    assert!(
        why.changes
            .iter()
            .all(|change| change.fields != Some(vec!["data".to_owned()]))
    );

    let account: ServiceAccount = serde_json::from_value(json!({
        "metadata": { "name": "robot", "annotations": { "map": "a" } },
    }))
    .unwrap();
    Api::default_namespaced(world.client.clone())
        .create(&PostParams::default(), &account)
        .await
        .unwrap();
    world.pass(1).await;
    assert_eq!(
        (world.why("a").changes[0].relation, world.why("a").changes[0].what),
        ("watches", "added")
    );
    world
        .patch::<ServiceAccount>("robot", json!({ "metadata": { "labels": { "x": "y" } } }))
        .await;
    let why = world.why("a");
    let dropped = &why.dropped_elsewhere[0];
    assert_eq!(dropped.object.to_string(), "ServiceAccount default/robot");
    assert_eq!(
        (dropped.dropped_by.as_slice(), dropped.fate),
        (&["annotations".to_owned()][..], "dropped")
    );
}

#[tokio::test(start_paused = true)]
async fn failures_the_last_error_and_the_next_run_are_told() {
    let world = World::start(|options| options);
    world.map("a").await;
    world
        .patch::<ConfigMap>("a", json!({ "metadata": { "labels": { "broken": "" } } }))
        .await;
    let why = world.why("a");
    assert_eq!(why.failures, 1);
    let run = &why.last_run.as_ref().unwrap().report;
    assert_eq!(
        run.error.as_deref(),
        Some("no key for a: ask the operator's owner")
    );
    let KeyState::Waiting { due_ms, causes } = &why.queue else {
        panic!("{why:?}")
    };
    assert!((8000..=10_000).contains(due_ms), "{due_ms}");
    assert_eq!(causes, &["tried again"]);
    world.pass(10).await;
    assert_eq!(world.why("a").failures, 2);
    world
        .patch::<ConfigMap>(
            "a",
            json!({ "metadata": { "labels": { "broken": null, "again": "" } } }),
        )
        .await;
    let why = world.why("a");
    assert_eq!(
        (why.failures, why.last_run.as_ref().unwrap().report.error.as_ref()),
        (0, None)
    );
    assert!(
        why.to_string().contains("runs in 59 min (asked to run again)"),
        "{why}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_keeps_it_from_running_is_told() {
    let server = Server::new();
    let refused = server.faults().inject(
        When::any().resource("secrets").agent("operator"),
        Fault::status(503),
    );
    let world = World::on(server, |options| options);
    world.map("a").await;
    let why = world.why("a");
    assert!(matches!(why.queue, KeyState::Ready { .. }), "{why}");
    assert_eq!(why.held[0].reason, "not_synced");
    assert!(why.held[0].text.contains("Secret"), "{why}");
    world.server.faults().remove(refused);
    world.pass(120).await;
    assert_eq!(
        (world.why("a").queue, world.why("a").held),
        (KeyState::Idle, Vec::new())
    );

    let server = Server::new();
    let lease: Lease = serde_json::from_value(json!({
        "metadata": { "name": "keys" },
        "spec": { "holderIdentity": "another", "leaseDurationSeconds": 3600, "leaseTransitions": 0 },
    }))
    .unwrap();
    let leases = Api::<Lease>::default_namespaced(server.client());
    leases.create(&PostParams::default(), &lease).await.unwrap();
    let standby = World::on(server, |options| options.elect(ElectionOptions::new().seed(1)));
    standby.map("a").await;
    let why = standby.why("a");
    assert_eq!(why.held[0].reason, "not_leading", "{why}");
    assert!(why.held[0].text.contains("another leads"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_paused_object_is_told_to_be_paused() {
    let world = World::start(|options| options);
    world.map("a").await;
    let pause = |value: Option<&str>| json!({ "metadata": { "annotations": { PAUSED: value } } });
    world.patch::<ConfigMap>("a", pause(Some("true"))).await;
    world
        .patch::<ConfigMap>("a", json!({ "metadata": { "labels": { "tier": "1" } } }))
        .await;
    let why = world.why("a");
    assert_eq!(why.held[0].reason, "paused", "{why}");
    assert!(why.held[0].text.contains(PAUSED), "{why}");
    assert_eq!(
        why.changes[0].fields.as_deref(),
        Some(&["metadata.labels".to_owned()][..]),
        "what it missed is told: {why}"
    );
    world.patch::<ConfigMap>("a", pause(None)).await;
    let why = world.why("a");
    assert_eq!(why.held, Vec::new(), "{why}");
    assert!(why.last_run.unwrap().ago_ms <= 1000);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_told_with_what_is() {
    let world = World::start(|options| options);
    world.map("welcome").await;
    let told = |controller: &str, object: &str| world.board.why(controller, object).unwrap_err().to_string();
    assert_eq!(
        told("kees", "default/welcome"),
        "there is no controller \"kees\"; did you mean \"keys\"? There are: keys"
    );
    assert!(told("keys", "default/wellcome").ends_with("did you mean default/welcome?"));
    assert!(told("keys", "welcome").ends_with("did you mean default/welcome?"));
    assert!(told("keys", "default/x").starts_with("keys has never seen \"default/x\""));
    let maps = Api::<ConfigMap>::default_namespaced(world.client.clone());
    maps.delete("welcome", &Default::default()).await.unwrap();
    world.pass(10).await;
    assert_eq!(
        told("keys", "default/welcome"),
        "default/welcome was deleted 10 s ago; nothing runs for it any more"
    );
}
