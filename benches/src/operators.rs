//! Memory of a whole operator: ten controllers over three kinds.
//!
//! Each controller reconciles one of the kinds and is woken by the two others. Ours are an operator as its users write it, with metrics, board and
//! explanations; its controllers share their watches. kube-rs's are ten `Controller`s in one process, as its users write them: each watches for itself,
//! keeps the objects that it reconciles, and of the others nothing.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use controller_runtime::{
    Operator, controller,
    operator::{RunOptions, Stop},
};
use futures::StreamExt;
use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::{
    Api, Client, Resource,
    client::Body,
    runtime::{self, reflector::ObjectRef, watcher},
};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    measure::{Counter, Readings, peak_memory, resident_memory},
    server::{Answer, KINDS, Server, Shape, answer, full},
};

/// How many controllers there are of each kind.
const CONTROLLERS: [usize; 3] = [4, 3, 3];

/// A server of each kind: its plural, how many objects there are, and what serves them.
#[derive(Clone)]
struct Cluster([(&'static str, usize, Server); 3]);

impl Cluster {
    /// With so many objects together.
    fn new(count: usize, shape: Shape) -> Self {
        let mut rest = count % 3;
        Self(KINDS.map(|(plural, _)| {
            let objects = count / 3 + usize::from(rest > 0);
            rest = rest.saturating_sub(1);
            (plural, objects, Server::of(plural, shape, objects))
        }))
    }

    fn client(&self) -> Client {
        let cluster = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            std::future::ready(Ok::<_, Infallible>(cluster.answer(&request)))
        });
        Client::new(service, "default")
    }

    /// A panic in here would end the client for good: what is not known is not there.
    fn answer(&self, request: &Request<Body>) -> Response<Answer> {
        let value = |code, value: serde_json::Value| answer(code, full(Bytes::from(value.to_string())));
        let path = request.uri().path();
        let served = path
            .strip_prefix("/api/v1/")
            .and_then(|path| self.0.iter().find(|(plural, ..)| *plural == path));
        match (request.method(), path, served) {
            (&Method::GET, _, Some((_, _, server))) => {
                server.answer(request.uri().query().unwrap_or_default())
            }
            (&Method::GET, "/api/v1", _) => value(200, discovery()),
            // A review: everything is allowed.
            (&Method::POST, ..) => value(201, json!({"spec": {}, "status": {"allowed": true}})),
            _ => value(
                404,
                json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}),
            ),
        }
    }

    /// How many reconciles there are when every controller has seen all its objects once.
    fn reconciles(&self) -> u64 {
        let pairs = self.0.iter().zip(CONTROLLERS);
        pairs
            .map(|((_, objects, _), controllers)| (objects * controllers) as u64)
            .sum()
    }

    fn watches(&self) -> usize {
        self.0.iter().map(|(_, _, server)| server.watches()).sum()
    }
}

fn discovery() -> serde_json::Value {
    let resources = KINDS.map(|(plural, kind)| {
        let verbs = ["list", "watch"];
        json!({"name": plural, "singularName": "", "kind": kind, "namespaced": true, "verbs": verbs})
    });
    json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": resources})
}

/// What the controllers hold when all is reconciled.
pub(crate) async fn ten(side: &str, count: usize, shape: Shape) -> Readings {
    let cluster = Cluster::new(count, shape);
    let counter = Counter::default();
    let (before, start) = (resident_memory(), Instant::now());
    match side {
        "ours" => ours(&cluster, &counter),
        "kube-rs" => kubes(&cluster, &counter),
        other => panic!("no side {other}"),
    }
    counter.reaches(cluster.reconciles()).await;
    let took = start.elapsed();
    tokio::time::sleep(Duration::from_secs(1)).await;
    Readings::default()
        .time(took)
        .memory(peak_memory().saturating_sub(before))
        .rest(resident_memory().saturating_sub(before) / count)
        .watches(cluster.watches())
}

/// Controllers of one kind each, which two others wake.
macro_rules! controllers {
    ($($name:ident $text:tt: $primary:ident, $one:ident, $other:ident;)*) => {
        fn operator(counter: &Arc<Counter>) -> Operator {
            Operator::new("ten")$(.controller($name::controller(Arc::clone(counter))))*
        }

        $(#[controller(
            name = $text,
            watches($one, map(|_| None::<ObjectRef<$primary>>)),
            watches($other, map(|_| None::<ObjectRef<$primary>>))
        )]
        async fn $name(
            _: Arc<$primary>,
            counter: Arc<Counter>,
        ) -> Result<controller_runtime::Action, kube::Error> {
            counter.add();
            Ok(controller_runtime::Action::await_change())
        })*
    };
}

controllers! {
    maps_1 "maps-1": ConfigMap, Secret, ServiceAccount;
    maps_2 "maps-2": ConfigMap, Secret, ServiceAccount;
    maps_3 "maps-3": ConfigMap, Secret, ServiceAccount;
    maps_4 "maps-4": ConfigMap, Secret, ServiceAccount;
    secrets_1 "secrets-1": Secret, ServiceAccount, ConfigMap;
    secrets_2 "secrets-2": Secret, ServiceAccount, ConfigMap;
    secrets_3 "secrets-3": Secret, ServiceAccount, ConfigMap;
    accounts_1 "accounts-1": ServiceAccount, ConfigMap, Secret;
    accounts_2 "accounts-2": ServiceAccount, ConfigMap, Secret;
    accounts_3 "accounts-3": ServiceAccount, ConfigMap, Secret;
}

fn ours(cluster: &Cluster, counter: &Counter) {
    let options = RunOptions::new().client(cluster.client()).stop_on(&Stop::new());
    let operator = operator(&Arc::new(counter.clone()));
    tokio::spawn(async move { operator.run(options).await.expect("it runs on") });
}

fn kubes(cluster: &Cluster, counter: &Counter) {
    let client = cluster.client();
    for _ in 0..CONTROLLERS[0] {
        kubes_one::<ConfigMap, Secret, ServiceAccount>(&client, counter);
    }
    for _ in 0..CONTROLLERS[1] {
        kubes_one::<Secret, ServiceAccount, ConfigMap>(&client, counter);
    }
    for _ in 0..CONTROLLERS[2] {
        kubes_one::<ServiceAccount, ConfigMap, Secret>(&client, counter);
    }
}

/// Something that can be watched.
trait Kind:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static
{
}
impl<K> Kind for K where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static
{
}

/// Never comes.
#[derive(Debug, thiserror::Error)]
#[error("never")]
struct Never;

fn kubes_one<K: Kind, A: Kind, B: Kind>(client: &Client, counter: &Counter) {
    let counter = counter.clone();
    let (one, other) = (Api::<A>::all(client.clone()), Api::<B>::all(client.clone()));
    let results = runtime::Controller::new(Api::<K>::all(client.clone()), watcher::Config::default())
        .watches(one, watcher::Config::default(), |_| None::<ObjectRef<K>>)
        .watches(other, watcher::Config::default(), |_| None::<ObjectRef<K>>)
        .run(
            move |_, _: Arc<()>| {
                counter.add();
                async { Ok::<_, Never>(runtime::controller::Action::await_change()) }
            },
            |_, _, _| runtime::controller::Action::await_change(),
            Arc::new(()),
        );
    tokio::spawn(results.for_each(|_| std::future::ready(())));
}
