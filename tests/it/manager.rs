//! Several controllers in one process: they share watches, and no one of them is in another's way.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use controller_apiserver::{Fault, Server, Verb, When};
use controller_runtime::{
    Action, Operator, PAUSED, controller,
    manager::Board,
    operator::{RunOptions, Stop},
    store::Store,
    watch::{Config, Informer},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::task::JoinHandle;

/// How often each controller ran, and how many run now.
#[derive(Default)]
struct Count {
    runs: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
    /// How long a run takes.
    takes: Mutex<Duration>,
}

impl Count {
    fn taking(takes: Duration) -> Arc<Self> {
        let count = Self::default();
        *count.takes.lock().unwrap() = takes;
        Arc::new(count)
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    async fn run(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        let takes = *self.takes.lock().unwrap();
        tokio::time::sleep(takes).await;
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

#[controller(name = "slow", context = Count, watches(Secret, map(nobody)), config(concurrency = 0))]
async fn slow(
    _map: Arc<ConfigMap>,
    count: Arc<Count>,
    _secrets: Store<Secret>,
) -> Result<Action, kube::Error> {
    count.run().await;
    Ok(Action::await_change())
}

#[controller(name = "quick", context = Count, watches(Secret, map(nobody)), predicates(labels), config(concurrency = 0))]
async fn quick(
    _map: Arc<ConfigMap>,
    count: Arc<Count>,
    _secrets: Store<Secret>,
) -> Result<Action, kube::Error> {
    count.run().await;
    Ok(Action::await_change())
}

fn nobody(_: &Secret) -> Option<controller_runtime::object::ObjectRef<ConfigMap>> {
    None
}

struct World {
    server: Server,
    client: Client,
    board: Board,
    stop: Stop,
}

impl World {
    fn new() -> Self {
        let server = Server::new();
        Self {
            client: server.client_named("test"),
            server,
            board: Board::new("test"),
            stop: Stop::new(),
        }
    }

    fn start(&self, slow: &Arc<Count>, quick: &Arc<Count>, options: RunOptions) -> JoinHandle<()> {
        let operator = Operator::new("test")
            .controller(slow::controller(Arc::clone(slow)))
            .controller(quick::controller(Arc::clone(quick)));
        let options = options
            .client(self.server.client_named("operator"))
            .stop_on(&self.stop);
        let board = self.board.clone();
        tokio::spawn(async move { operator.run_on(&board, options).await.unwrap() })
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn map(&self, name: &str) {
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        self.maps().create(&PostParams::default(), &map).await.unwrap();
    }

    async fn annotate(&self, name: &str, value: Option<&str>) {
        let patch = json!({"metadata": {"annotations": {PAUSED: value}}});
        self.maps()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    fn watches(&self, resource: &str) -> usize {
        let journal = self.server.journal().verb(Verb::Watch).resource(resource);
        journal
            .filter(|entry| entry.user_agent.starts_with("operator"))
            .len()
    }
}

#[tokio::test(start_paused = true)]
async fn controllers_of_one_process_share_their_watches() {
    let world = World::new();
    world.map("a").await;
    let (slow, quick) = (Count::taking(Duration::ZERO), Count::taking(Duration::ZERO));
    let _running = world.start(&slow, &quick, RunOptions::new());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((slow.runs(), quick.runs()), (1, 1));
    assert_eq!((world.watches("configmaps"), world.watches("secrets")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_slow_controller_stalls_no_other() {
    let world = World::new();
    for index in 0..20 {
        world.map(&format!("m{index}")).await;
    }
    let (slow, quick) = (
        Count::taking(Duration::from_secs(3600)),
        Count::taking(Duration::from_millis(10)),
    );
    let _running = world.start(&slow, &quick, RunOptions::new());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((slow.runs(), quick.runs()), (20, 20));
}

/// Both have much to do: one was there first, and the other has its turns all the same.
#[tokio::test(start_paused = true)]
async fn a_limit_on_all_reconciles_is_kept_and_starves_nobody() {
    let world = World::new();
    for index in 0..60 {
        world.map(&format!("m{index}")).await;
    }
    let second = Duration::from_secs(1);
    let (slow, quick) = (Count::taking(second), Count::taking(second));
    let _running = world.start(&slow, &quick, RunOptions::new().max_concurrent_reconciles(6));
    let mut most = 0;
    for _ in 0..80 {
        tokio::time::sleep(Duration::from_millis(125)).await;
        most = most.max(slow.now.load(Ordering::Relaxed) + quick.now.load(Ordering::Relaxed));
    }
    assert_eq!(most, 6);
    let (slow, quick) = (slow.runs(), quick.runs());
    assert!(slow.min(quick) >= 15, "{slow} and {quick} after ten seconds");
    assert!(
        slow + quick >= 50,
        "places are not left empty: {slow} and {quick}"
    );
}

/// `labels` would hide the change of an annotation.
#[tokio::test(start_paused = true)]
async fn a_paused_object_is_left_alone_until_the_annotation_goes() {
    let world = World::new();
    world.map("a").await;
    world.map("b").await;
    world.annotate("a", Some("true")).await;
    let (slow, quick) = (Count::taking(Duration::ZERO), Count::taking(Duration::ZERO));
    let _running = world.start(&slow, &quick, RunOptions::new());
    let wait = || tokio::time::sleep(Duration::from_secs(5));
    wait().await;
    assert_eq!((slow.runs(), quick.runs()), (1, 1), "only the other object ran");
    let paused = || -> BTreeMap<String, Vec<String>> {
        let status = world.board.status();
        let controllers = status.controllers.into_iter();
        controllers
            .map(|controller| {
                let names = controller.paused.iter().map(ToString::to_string).collect();
                (controller.name, names)
            })
            .collect()
    };
    let told = vec!["ConfigMap default/a".to_owned()];
    assert_eq!(
        paused(),
        BTreeMap::from([("quick".to_owned(), told.clone()), ("slow".to_owned(), told)])
    );
    let edit = json!({"data": {"k": "v"}, "metadata": {"labels": {"l": "v"}}});
    let patched = PatchParams::default();
    world
        .maps()
        .patch("a", &patched, &Patch::Merge(edit))
        .await
        .unwrap();
    wait().await;
    assert_eq!((slow.runs(), quick.runs()), (1, 1), "changes do not wake it");
    world.annotate("a", None).await;
    wait().await;
    assert_eq!(
        (slow.runs(), quick.runs()),
        (2, 2),
        "it runs at once, whatever the predicates"
    );
    assert!(paused().values().all(Vec::is_empty));
    world.annotate("a", Some("true")).await;
    wait().await;
    world.maps().delete("a", &Default::default()).await.unwrap();
    wait().await;
    assert_eq!((slow.runs(), quick.runs()), (2, 2));
    assert!(paused().values().all(Vec::is_empty), "who is gone is not paused");
}

/// Whoever comes late misses nothing, deletions least of all.
#[tokio::test(start_paused = true)]
async fn a_late_subscriber_gets_what_is_there_and_every_later_change() {
    for seed in 0..20 {
        let server = Server::builder().seed(seed).build();
        let mut rng = fastrand::Rng::with_seed(seed);
        let world = World {
            client: server.client_named("test"),
            server,
            board: Board::new("test"),
            stop: Stop::new(),
        };
        let api = Api::<ConfigMap>::all(world.server.client_named("informer"));
        let informer = Informer::new(api, Config::default());
        let _driver = tokio::spawn(informer.run());
        let replicas: Arc<Mutex<Vec<BTreeMap<String, String>>>> = Arc::default();
        let mut subscriptions = Vec::new();
        for _ in 0..60 {
            let name = format!("m{}", rng.usize(..6));
            let there = world.maps().get_opt(&name).await.unwrap().is_some();
            match (rng.u8(..6), there) {
                (0 | 1, false) => world.map(&name).await,
                (0, true) => {
                    world.maps().delete(&name, &Default::default()).await.unwrap();
                }
                (1 | 2, true) => world.annotate(&name, Some("false")).await,
                (3, _) => world.server.close_watches(),
                (4, _) => {
                    let cut = Fault::Cut {
                        after: rng.usize(..3),
                    };
                    world
                        .server
                        .faults()
                        .inject(When::verb(Verb::Watch).times(1), cut);
                    world.server.compact();
                }
                _ => {
                    let place = {
                        let mut replicas = replicas.lock().unwrap();
                        replicas.push(BTreeMap::new());
                        replicas.len() - 1
                    };
                    let replicas = replicas.clone();
                    subscriptions.push(informer.subscribe(move |delta| {
                        let replica = &mut replicas.lock().unwrap()[place];
                        let before = replica.get(&delta.key.name);
                        let old = delta.old.as_ref().and_then(|old| old.resource_version());
                        assert_eq!(before, old.as_ref(), "seed {seed}: a gap before {}", delta.key);
                        match &delta.new {
                            Some(new) => {
                                replica.insert(delta.key.name.clone(), new.resource_version().unwrap())
                            }
                            None => replica.remove(&delta.key.name),
                        };
                    }));
                }
            }
            tokio::time::sleep(Duration::from_millis(rng.u64(..1500))).await;
        }
        world.server.faults().clear();
        world.server.advance(Duration::from_secs(120)).await.unwrap();
        let maps = world.maps().list(&Default::default()).await.unwrap();
        let truth: BTreeMap<_, _> = maps
            .iter()
            .map(|map| (map.name_any(), map.resource_version().unwrap()))
            .collect();
        let replicas = replicas.lock().unwrap();
        assert!(replicas.len() > 3, "seed {seed}: nobody came late");
        for (place, replica) in replicas.iter().enumerate() {
            assert_eq!(*replica, truth, "seed {seed}: subscriber {place}");
        }
    }
}
