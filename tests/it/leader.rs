//! Of several replicas one reconciles: no write leaves a process in another's time, whatever happens to its lease.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use controller_apiserver::{Entry, Fault, Server, Verb, When};
use controller_runtime::{
    Action, Config, Controller, OperatorError, backoff,
    declare::{BoxError, Declaration, Environment, Runnable, Watched},
    leader::Loss,
    operator::{ElectionOptions, Operator, RunOptions, Stop},
};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::{
    Api, Client,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::{task::JoinHandle, time::Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// Writes to its ConfigMap every second, for as long as it is let.
struct Ticker {
    declaration: Declaration,
    runs: Arc<AtomicUsize>,
    /// How long a reconcile sleeps before it writes.
    nap: Duration,
}

impl Runnable for Ticker {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn run(&self, environment: Environment) -> BoxFuture<'static, Result<(), BoxError>> {
        let maps = Api::<ConfigMap>::namespaced(environment.client.clone(), "default");
        let writes = maps.clone();
        let controller = Controller::new(maps, Default::default())
            .named(&self.declaration.name)
            .with_config(Config::default().shutdown_grace(Duration::from_secs(60)))
            .observe(environment.observer.clone())
            .hold_until(environment.leading.clone())
            .graceful_shutdown_on(environment.shutdown.clone());
        let (runs, nap) = (Arc::clone(&self.runs), self.nap);
        let reconcile = move |object: Arc<ConfigMap>, _: Arc<()>| {
            runs.fetch_add(1, Ordering::Relaxed);
            let writes = writes.clone();
            async move {
                tokio::time::sleep(nap).await;
                let tick = json!({"data": {"at": format!("{:?}", Instant::now())}});
                let name = object.metadata.name.as_deref().unwrap_or_default();
                writes
                    .patch(name, &PatchParams::default(), &Patch::Merge(tick))
                    .await?;
                Ok::<_, kube::Error>(Action::requeue(Duration::from_secs(1)))
            }
        };
        let results = controller.run(reconcile, backoff(), Arc::new(()));
        results.for_each(|_| async {}).map(Ok).boxed()
    }
}

/// One process.
struct Replica {
    name: &'static str,
    stop: Stop,
    runs: Arc<AtomicUsize>,
    ending: JoinHandle<Result<(), OperatorError>>,
}

impl Replica {
    fn start(server: &Server, name: &'static str, nap: Duration) -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let declaration = Declaration::new("ticker", Watched::new::<ConfigMap>(&()));
        let ticker = Ticker {
            declaration,
            runs: Arc::clone(&runs),
            nap,
        };
        let stop = Stop::new();
        let election = ElectionOptions::new()
            .namespace("default")
            .identity(name)
            .seed(name.len() as u64);
        let options = RunOptions::new()
            .client(server.client_named(name))
            .elect(election)
            .stop_on(&stop);
        let ending = tokio::spawn(Operator::new("ticker").controller(ticker).run(options));
        Self {
            name,
            stop,
            runs,
            ending,
        }
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }
}

struct World {
    server: Server,
    client: Client,
}

impl World {
    async fn new() -> Self {
        let server = Server::new();
        let client = server.client_named("test");
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some("out".to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let maps = Api::<ConfigMap>::namespaced(client.clone(), "default");
        maps.create(&PostParams::default(), &map)
            .await
            .expect("the ConfigMap is created");
        Self { server, client }
    }

    async fn holder(&self) -> String {
        let leases = Api::<Lease>::namespaced(self.client.clone(), "default");
        let lease = leases.get_opt("ticker").await.expect("the server answers");
        lease
            .and_then(|lease| lease.spec)
            .and_then(|spec| spec.holder_identity)
            .unwrap_or_default()
    }

    async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let limit = Instant::now() + PATIENCE;
        while !holds() {
            assert!(
                Instant::now() < limit,
                "not in time: {what}; holder: {:?}",
                self.holder().await
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The writes of one replica, without those to its lease.
    fn writes(&self, replica: &str) -> Vec<Entry> {
        let journal = self.server.journal();
        let of_replica = |entry: &Entry| entry.user_agent.starts_with(replica) && entry.resource != "leases";
        journal.writes().filter(of_replica).entries().to_vec()
    }

    /// No replica wrote after another had taken the lease from it.
    fn assert_one_writer_at_a_time(&self) {
        let mut leader: Option<String> = None;
        let mut former = Vec::new();
        for entry in self.server.journal().writes().entries() {
            let agent = entry.user_agent.split('/').next().unwrap_or_default().to_owned();
            if agent == "test" {
                continue;
            }
            if leader.as_ref() != Some(&agent) {
                former.extend(leader.replace(agent.clone()));
            }
            assert!(
                !former.contains(&agent),
                "{agent} wrote again after {leader:?} had taken over: {entry}"
            );
        }
        assert!(!former.is_empty(), "nobody took over, so nothing was tested");
    }
}

async fn within(limit: Duration, replica: Replica) -> Result<(), OperatorError> {
    let name = replica.name;
    let ending = tokio::time::timeout(limit, replica.ending).await;
    ending
        .unwrap_or_else(|_| panic!("{name} still runs after {limit:?}"))
        .expect("no panic")
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_hands_over_at_once() {
    let world = World::new().await;
    let first = Replica::start(&world.server, "first", Duration::ZERO);
    world.until("first reconciles", || first.runs() > 2).await;
    let second = Replica::start(&world.server, "second", Duration::ZERO);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(second.runs(), 0);
    assert!(world.holder().await.starts_with("first_"));

    first.stop.now();
    within(Duration::from_secs(1), first).await.expect("a clean end");
    let released = Instant::now();
    world.until("second reconciles", || second.runs() > 0).await;
    assert!(
        released.elapsed() <= Duration::from_secs(5),
        "it waits out a lease that was released"
    );
    world.assert_one_writer_at_a_time();
}

/// operator-framework/java-operator-sdk#2056, kubernetes/kubernetes#23731: the old leader went on when its renewals failed.
#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_may_begin() {
    for fault in [
        Fault::status(409),
        Fault::status(500),
        Fault::Hang,
        Fault::HangAfter,
        Fault::LoseAnswer,
        Fault::Disconnect,
    ] {
        let world = World::new().await;
        let first = Replica::start(&world.server, "first", Duration::ZERO);
        world.until("first reconciles", || first.runs() > 2).await;
        let second = Replica::start(&world.server, "second", Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(20)).await;

        let began = Instant::now();
        let renewals = When::verb(Verb::Update).resource("leases").agent("first");
        world.server.faults().inject(renewals, fault.clone());
        let end = within(Duration::from_secs(30), first).await;
        assert!(
            matches!(end, Err(OperatorError::LeadershipLost(Loss::NotRenewed { .. }))),
            "{fault:?}: {end:?}"
        );
        assert!(
            began.elapsed() <= Duration::from_secs(12),
            "{fault:?}: it went on for {:?}",
            began.elapsed()
        );
        world.until("second reconciles", || second.runs() > 0).await;
        world.assert_one_writer_at_a_time();
    }
}

/// cilium/cilium#42920: a reconcile that was stuck wrote when another already led.
#[tokio::test(start_paused = true)]
async fn a_reconcile_that_hangs_is_dropped_with_the_leadership() {
    let world = World::new().await;
    let first = Replica::start(&world.server, "first", Duration::from_secs(60));
    world.until("first reconciles", || first.runs() == 1).await;
    let second = Replica::start(&world.server, "second", Duration::ZERO);
    world.server.faults().inject(
        When::verb(Verb::Update).resource("leases").agent("first"),
        Fault::Hang,
    );
    let end = within(Duration::from_secs(15), first).await;
    assert!(matches!(end, Err(OperatorError::LeadershipLost(_))), "{end:?}");
    world.until("second reconciles", || second.runs() > 0).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(world.writes("first"), []);
}

/// What the network still holds of it may arrive later: nobody else may lead by then.
#[tokio::test(start_paused = true)]
async fn what_is_dropped_at_the_end_of_a_shutdown_keeps_the_lease() {
    let world = World::new().await;
    let first = Replica::start(&world.server, "first", Duration::from_secs(600));
    world.until("first reconciles", || first.runs() == 1).await;
    let second = Replica::start(&world.server, "second", Duration::ZERO);
    first.stop.now();
    let end = within(Duration::from_secs(61), first).await;
    let Err(OperatorError::Dropped { running }) = end else {
        panic!("{end:?}")
    };
    assert_eq!(running, ["ConfigMap default/out"]);
    let ended = Instant::now();
    assert!(world.holder().await.starts_with("first_"));
    world.until("second reconciles", || second.runs() > 0).await;
    assert!(
        ended.elapsed() >= Duration::from_secs(10),
        "after the lease, not before: {:?}",
        ended.elapsed()
    );
}

/// kubernetes-sigs/controller-runtime#2719: stopping a standby started the work of a leader.
#[tokio::test(start_paused = true)]
async fn a_standby_that_is_stopped_writes_nothing() {
    let world = World::new().await;
    let first = Replica::start(&world.server, "first", Duration::ZERO);
    world.until("first reconciles", || first.runs() > 2).await;
    let second = Replica::start(&world.server, "second", Duration::ZERO);
    tokio::time::sleep(Duration::from_secs(30)).await;
    second.stop.now();
    let runs = Arc::clone(&second.runs);
    within(Duration::from_secs(1), second).await.expect("a clean end");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    let journal = world.server.journal();
    let wrote = journal
        .writes()
        .filter(|entry| entry.user_agent.starts_with("second"));
    assert!(wrote.is_empty(), "{wrote:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_is_taken_by_force_stops_at_once() {
    let world = World::new().await;
    let first = Replica::start(&world.server, "first", Duration::ZERO);
    world.until("first reconciles", || first.runs() > 2).await;
    let leases = Api::<Lease>::namespaced(world.client.clone(), "default");
    let theft = json!({"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 600}});
    leases
        .patch("ticker", &PatchParams::default(), &Patch::Merge(theft))
        .await
        .expect("patched");
    let end = within(Duration::from_secs(5), first).await;
    assert!(
        matches!(end, Err(OperatorError::LeadershipLost(Loss::Taken { .. }))),
        "{end:?}"
    );
}

/// Project-HAMi/HAMi#1603: a Lease with missing fields.
#[tokio::test(start_paused = true)]
async fn a_lease_without_a_holder_is_taken_whatever_else_it_lacks() {
    for spec in [
        json!({}),
        json!({"holderIdentity": ""}),
        json!({"leaseDurationSeconds": 5}),
    ] {
        let world = World::new().await;
        let leases = Api::<Lease>::namespaced(world.client.clone(), "default");
        let lease = json!({"metadata": {"name": "ticker"}, "spec": spec});
        let lease: Lease = serde_json::from_value(lease).expect("a lease");
        leases
            .create(&PostParams::default(), &lease)
            .await
            .expect("created");
        let began = Instant::now();
        let first = Replica::start(&world.server, "first", Duration::ZERO);
        world.until("first reconciles", || first.runs() > 0).await;
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}
