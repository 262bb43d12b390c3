//! What has come and gone leaves nothing behind: no entry in a map, no series, no key in the queue.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use controller_apiserver::Server;
use controller_runtime::{
    Action,
    clock::Origin,
    controller,
    declare::{Declaration, Environment, Namespaces, RelationDeclaration, RelationKind, Runnable, Watched},
    manager::Board,
    metrics::Metrics,
    object::ObjectRef,
    reconcile::{Children, Recorder},
    runner::Observer,
};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Secret, ServiceAccount},
    },
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, CustomResource, CustomResourceExt, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::world::{Failure, World, same};

/// So many at a time.
const BATCH: usize = 250;

/// How many names come and go; `CHURN` chooses.
fn names(usually: usize) -> usize {
    let chosen = std::env::var("CHURN").ok().and_then(|names| names.parse().ok());
    chosen.unwrap_or(usually)
}

fn series(metrics: &Metrics) -> usize {
    let text = metrics.encode();
    text.lines().filter(|line| !line.starts_with('#')).count()
}

/// operator-framework/java-operator-sdk#1803, kubernetes-sigs/controller-runtime#3396, kube-rs/kube#1837: state and series per name that ever lived.
#[tokio::test(start_paused = true)]
async fn names_that_come_and_go_leave_nothing_behind() {
    let world = World::new();
    let mut declaration = Declaration::new("maps", Watched::new::<ConfigMap>(&()));
    declaration.relations = vec![RelationDeclaration::new(
        RelationKind::Owns,
        Watched::new::<Secret>(&()),
    )];
    let (board, metrics) = (Board::new("test"), Metrics::new("test", "0"));
    board.expect(&declaration, &Namespaces::All);
    metrics.expect(&declaration);
    let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(board.clone()), Arc::new(metrics.clone())];
    let controller = world.with_secrets().named("maps").observe(Arc::new(observers));
    let store = controller.store();
    // Some fail and are in backoff, some ask to run again, when they are deleted.
    let running = world.run(controller, |map| async move {
        match map.name_any().bytes().last() {
            Some(b'3') => Err(Failure("three".to_owned())),
            Some(b'7') => Ok(Action::requeue(Duration::from_secs(3600))),
            _ => Ok(Action::await_change()),
        }
    });
    world.map("stays").await;
    world.settle().await;
    let mut settled = None;
    for first in (0..names(2_000)).step_by(BATCH) {
        for number in first..first + BATCH {
            let map = world.map(&format!("m{number}")).await;
            if number % 10 == 0 {
                world.secret_of(&map, &format!("s{number}")).await;
            }
        }
        world.settle().await;
        assert_eq!(board.status().controllers[0].objects.len(), BATCH + 1);
        for number in first..first + BATCH {
            world.delete_map(&format!("m{number}")).await;
        }
        world.seen.clear();
        // The first batch shows which series there are.
        let now = series(&metrics);
        assert_eq!(*settled.get_or_insert(now), now, "after {first} names");
    }
    let left = || {
        let status = &board.status().controllers[0];
        let depth = running.gauge.read();
        let objects: Vec<_> = status
            .objects
            .iter()
            .map(|object| object.object.name.clone())
            .collect();
        (objects, depth.ready + depth.running + depth.waiting, store.len())
    };
    world
        .until("only what lives is known", || {
            same(left(), (vec!["stays".to_owned()], 0, 1))
        })
        .await;
    assert!(board.running().is_empty());
    assert!(!running.task.is_finished());
}

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Order",
    namespaced,
    status = "OrderStatus"
)]
struct OrderSpec {
    settings: String,
    outcome: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct OrderStatus {
    observed_generation: Option<i64>,
    conditions: Vec<Condition>,
}

/// It keeps a record of everything that a controller can keep a record of.
#[controller(
    name = "orders",
    owns(Secret),
    references(ConfigMap, |order| order.spec.settings.clone()),
    references(ServiceAccount, |order| order.spec.settings.clone(), referenced_only),
    watches(Lease, try_map(orders_of)),
    cleanup(release),
    status(conditions),
    backoff(initial = "1s", max = "1h"),
    error = enum OrderError {
        #[error("kubernetes: {0}")] Kube(#[from] kube::Error),
        #[error("it is broken")] Broken,
        #[error("it is hopeless")] #[permanent] Hopeless,
    },
)]
async fn order(order: Arc<Order>, children: Children, recorder: Recorder) -> Result<Action, OrderError> {
    children
        .apply([Secret {
            metadata: named(&order.name_any()),
            ..Secret::default()
        }])
        .await?;
    match &*order.spec.outcome {
        "broken" => return Err(OrderError::Broken),
        "hopeless" => return Err(OrderError::Hopeless),
        "later" => return Ok(Action::requeue(Duration::from_secs(3600))),
        "told" => recorder.normal("Done", "it is done").await,
        _ => {}
    }
    Ok(Action::await_change())
}

fn orders_of(lease: &Lease) -> Result<Option<ObjectRef<Order>>, String> {
    Err(format!("nobody knows whose {} is", lease.name_any()))
}

async fn release(_: Arc<Order>) -> Result<(), kube::Error> {
    Ok(())
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

/// The controller of orders at work.
struct Orders {
    server: Server,
    api: Api<Order>,
    leases: Api<Lease>,
    board: Board,
    metrics: Metrics,
}

/// What is held, by what it is.
type Held = BTreeMap<String, usize>;

impl Orders {
    async fn create(&self, name: &str, outcome: &str) {
        let spec = OrderSpec {
            settings: format!("of-{name}"),
            outcome: outcome.to_owned(),
        };
        let (orders, params) = (&self.api, PostParams::default());
        orders.create(&params, &Order::new(name, spec)).await.unwrap();
    }

    async fn come(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            let outcome = ["done", "told", "later", "broken", "hopeless"][number % 5];
            self.create(&format!("o{number}"), outcome).await;
            if number % 5 == 0 {
                let metadata = named(&format!("l{number}"));
                let lease = Lease {
                    metadata,
                    ..Lease::default()
                };
                self.leases.create(&PostParams::default(), &lease).await.unwrap();
            }
        }
        self.server.settle().await.unwrap();
    }

    async fn go(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            let params = DeleteParams::default();
            self.api.delete(&format!("o{number}"), &params).await.unwrap();
            if number % 5 == 0 {
                self.leases.delete(&format!("l{number}"), &params).await.unwrap();
            }
        }
        self.server.settle().await.unwrap();
        self.server.compact();
    }

    /// What is held when what is remembered for minutes only has been let go, which the next use of each record does.
    async fn at_rest(&self) -> Held {
        for minutes in [10, 2] {
            self.server
                .advance(Duration::from_secs(minutes * 60))
                .await
                .unwrap();
            let spec = json!({"spec": {"settings": format!("after {minutes} minutes")}});
            let (orders, params) = (&self.api, PatchParams::default());
            orders.patch("stays", &params, &Patch::Merge(spec)).await.unwrap();
            self.server.settle().await.unwrap();
        }
        self.held()
    }

    fn held(&self) -> Held {
        let mut held: Held = self
            .board
            .census()
            .remove("orders")
            .unwrap()
            .into_iter()
            .collect();
        held.insert("series".to_owned(), series(&self.metrics));
        held
    }
}

/// The same for a controller with everything that keeps a record: none grows with what ever lived.
#[tokio::test(start_paused = true)]
async fn every_map_of_a_controller_returns_to_what_lives() {
    let server = Server::new();
    server.install([Order::crd()]).await.unwrap();
    let (board, metrics) = (Board::new("orders"), Metrics::new("orders", "0"));
    let controller = order::controller();
    board.expect(controller.declaration(), &Namespaces::All);
    metrics.expect(controller.declaration());
    let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(board.clone()), Arc::new(metrics.clone())];
    let environment = Environment::new(server.client_named("operator"))
        .observe_with(Arc::new(observers))
        .origin(Origin::fixed(server.now(), 1));
    let running = tokio::spawn(controller.run(environment));
    let works = board.clone();
    let _probe = server.on_settle("the orders", move || works.has_work());
    let client = server.client_named("test");
    let orders = Orders {
        api: Api::default_namespaced(client.clone()),
        leases: Api::default_namespaced(client),
        server,
        board,
        metrics,
    };
    orders.create("stays", "told").await;
    let before = orders.at_rest().await;
    let mut most = Held::new();
    for first in (0..names(500)).step_by(BATCH) {
        orders.come(first..first + BATCH).await;
        for (what, count) in orders.held() {
            let known = most.entry(what).or_default();
            *known = count.max(*known);
        }
        orders.go(first..first + BATCH).await;
    }
    let after = orders.at_rest().await;
    assert_eq!(after, before, "at most there were {most:?}");
    // The others were in use.
    let idle = most
        .iter()
        .filter(|(what, most)| **most <= before[*what])
        .map(|(what, _)| &**what);
    assert_eq!(idle.collect::<Vec<_>>(), SELDOM);
    assert!(!running.is_finished());
}

/// What stays empty here, or holds something for a moment only.
const SELDOM: [&str; 13] = [
    "ConfigMap index values",
    "ConfigMap objects",
    "Lease index values",
    "Order index values",
    "Order own writes to come",
    "Secret applies that changed nothing",
    "Secret own writes to come",
    "ServiceAccount index values",
    "ServiceAccount objects",
    "objects of a life before",
    "paused objects",
    "running reconciles",
    "series",
];
