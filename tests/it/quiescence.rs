//! No lost last event: after quiescence, every object's final version was reconciled, and the owner of everything that
//! vanished has run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use controller_apiserver::Server;
use controller_runtime::{
    Action, Backoff, Config, Controller, backoff,
    trigger::{self, Predicate},
    watch::{self, Informer},
};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::time::Instant;

/// What the last reconcile of each parent saw: its resourceVersion and its children.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeMap<String, Last>>>);

/// The version and the children that the last run of an object saw.
type Last = (String, BTreeSet<String>);

impl Seen {
    fn all(&self) -> BTreeMap<String, (String, BTreeSet<String>)> {
        self.0.lock().unwrap().clone()
    }
}

/// Fails now and then, at moments that the seed decides.
#[derive(Debug, thiserror::Error)]
#[error("now and then")]
struct NowAndThen;

struct World {
    server: Server,
    parents: Api<ConfigMap>,
    children: Api<Secret>,
    rng: fastrand::Rng,
}

impl World {
    fn new(seed: u64) -> Self {
        let server = Server::builder().seed(seed).service_accounts(false).build();
        let client = server.client();
        Self {
            parents: Api::namespaced(client.clone(), "default"),
            children: Api::namespaced(client, "default"),
            server,
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    /// Makes, changes, repoints or deletes something, or disturbs the watches.
    async fn step(&mut self) {
        let parent = format!("parent-{}", self.rng.u8(0..5));
        let child = format!("child-{}", self.rng.u8(0..8));
        match self.rng.u8(0..20) {
            0..4 => self.put_parent(&parent).await,
            4..10 => self.put_child(&child, &parent).await,
            10..13 => drop(self.children.delete(&child, &DeleteParams::default()).await),
            13..15 => drop(self.parents.delete(&parent, &DeleteParams::background()).await),
            15 => self.server.close_watches(),
            16 => self.server.compact(),
            17 => {
                self.server.compact();
                self.server.close_watches();
            }
            _ => tokio::time::sleep(Duration::from_millis(self.rng.u64(0..3_000))).await,
        }
    }

    async fn put_parent(&mut self, name: &str) {
        let change = json!({"data": {"value": self.rng.u32(..).to_string()}});
        let patched = self
            .parents
            .patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await;
        if patched.is_err() {
            let mut parent = ConfigMap::default();
            parent.metadata.name = Some(name.to_owned());
            parent.metadata.labels = Some([("parent".to_owned(), "yes".to_owned())].into());
            drop(self.parents.create(&PostParams::default(), &parent).await);
        }
    }

    /// A child of this parent, or a repointed one.
    async fn put_child(&mut self, name: &str, parent: &str) {
        let Ok(Some(parent)) = self.parents.get_opt(parent).await else {
            return;
        };
        let owner =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": parent.name_any(), "uid": parent.uid()});
        let change = json!({"metadata": {"ownerReferences": [owner]}});
        let patched = self
            .children
            .patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await;
        if patched.is_err() {
            let child = json!({"metadata": {"name": name, "ownerReferences": [owner]}});
            let child: Secret = serde_json::from_value(child).expect("a Secret");
            drop(self.children.create(&PostParams::default(), &child).await);
        }
    }

    /// What every parent should have been seen as in the end.
    async fn truth(&self) -> BTreeMap<String, (String, BTreeSet<String>)> {
        let parents = self.parents.list(&Default::default()).await.expect("a list");
        let children = self
            .children
            .list(&Default::default())
            .await
            .expect("a list")
            .items;
        let of = |parent: &ConfigMap| {
            let owned = children.iter().filter(|child| owns(parent, child));
            (
                parent.resource_version().expect("it is stored"),
                owned.map(ResourceExt::name_any).collect(),
            )
        };
        parents
            .items
            .iter()
            .map(|parent| (parent.name_any(), of(parent)))
            .collect()
    }
}

fn owns(parent: &ConfigMap, child: &Secret) -> bool {
    child
        .owner_references()
        .iter()
        .any(|owner| Some(&owner.uid) == parent.metadata.uid.as_ref())
}

/// A controller that notes what it sees; some of its runs fail, some panic, some take longer than the changes.
fn controller(
    world: &World,
    seen: Seen,
    seed: u64,
) -> (
    impl Future<Output = ()> + Send + 'static,
    controller_runtime::runner::Gauge,
) {
    let client = world.server.client_named("controller");
    let parents = Informer::<ConfigMap>::in_namespaces(&client, ["default"], watch::Config::default(), ());
    let children = Informer::<Secret>::in_namespaces(&client, ["default"], watch::Config::default(), ());
    let (primaries, secrets) = (parents.store(), children.store());
    let config = Config::default()
        .debounce(Duration::from_millis(200 * (seed % 2)))
        .concurrency(u16::try_from(seed % 3).expect("small"))
        .backoff(Backoff::default().max(Duration::from_secs(30)))
        .seed(seed);
    let controller = Controller::for_informer(&parents, Predicate::any([]))
        .related(&children, move |delta| trigger::owner(delta, &primaries, &()))
        .with_config(config);
    let gauge = controller.gauge();
    let runs = Arc::new(AtomicUsize::new(0));
    let results = controller.run(
        move |parent: Arc<ConfigMap>, _: Arc<()>| {
            let (seen, secrets, run) = (
                seen.clone(),
                secrets.clone(),
                runs.fetch_add(1, Ordering::Relaxed),
            );
            async move {
                tokio::time::sleep(Duration::from_millis(150)).await;
                if run % 7 == 3 {
                    return Err(NowAndThen);
                }
                let owned = secrets
                    .snapshot()
                    .iter()
                    .filter(|child| owns(&parent, child))
                    .map(|child| child.name_any())
                    .collect();
                let version = parent.resource_version().expect("it is stored");
                seen.0.lock().unwrap().insert(parent.name_any(), (version, owned));
                tokio::time::sleep(Duration::from_millis(150)).await;
                Ok(Action::await_change())
            }
        },
        backoff(),
        Arc::new(()),
    );
    (results.for_each(|_| std::future::ready(())), gauge)
}

async fn nothing_is_lost(seed: u64) {
    let mut world = World::new(seed);
    let seen = Seen::default();
    let (running, gauge) = controller(&world, seen.clone(), seed);
    let running = tokio::spawn(running);
    for _ in 0..120 {
        world.step().await;
    }
    let limit = Instant::now() + Duration::from_secs(15 * 60);
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (truth, all) = (world.truth().await, seen.all());
        let missed: Vec<_> = truth
            .iter()
            .filter(|(name, state)| all.get(*name) != Some(state))
            .collect();
        if missed.is_empty() && gauge.is_settled() {
            break;
        }
        assert!(
            Instant::now() < limit,
            "seed {seed}: never seen {missed:?}; seen {all:?}; queue {gauge:?}"
        );
    }
    running.abort();
}

/// dotnet/dotnet-operator-sdk#675, kube-rs/kube#1590 and their kind: changes and deletions hidden by closed watches and
/// compacted history, while reconciles fail and take longer than the changes.
#[tokio::test(start_paused = true)]
async fn after_quiescence_every_change_was_seen() {
    for seed in 0..12 {
        nothing_is_lost(seed).await;
    }
}
