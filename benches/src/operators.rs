//! Memory of a whole operator: ten controllers over three kinds.
//!
//! Each controller reconciles one of the kinds and is woken by the two others. Ours share three informers; kube-rs has none to share, so that each
//! controller watches for itself, and keeps the objects that it reconciles (of the others it keeps nothing). The answers of the API server are made
//! page by page and freed at once, so that what stays is what the controllers hold.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use controller_runtime::{object::Object, trigger, watch::Informer};
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::{
    Api, Client, Resource,
    client::Body,
    runtime::{self, reflector::ObjectRef, watcher},
};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::{
    measure::{Counter, Readings, resident_memory},
    server,
};

const CONTROLLERS: usize = 10;
const PAGE: usize = 500;

/// Never comes.
#[derive(Debug)]
struct Never;

impl std::fmt::Display for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("never")
    }
}

impl std::error::Error for Never {}

/// A server of one kind with so many objects of 5 KiB, and a count of the watches that were opened.
#[derive(Clone)]
struct Source {
    objects: usize,
    watches: Arc<AtomicU64>,
}

type Answer = UnsyncBoxBody<Bytes, Infallible>;

impl Source {
    fn client(&self) -> Client {
        let source = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = source.answer(request.uri().query().unwrap_or_default());
            std::future::ready(Ok::<_, Infallible>(answer))
        });
        Client::new(service, "default")
    }

    fn answer(&self, query: &str) -> Response<Answer> {
        let value = |name: &str| {
            let mut pairs = query.split('&');
            pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        if value("sendInitialEvents").is_some() {
            let refusal =
                r#"{"kind":"Status","status":"Failure","message":"no","reason":"Invalid","code":422}"#;
            return json(
                422,
                Full::new(Bytes::from_static(refusal.as_bytes())).boxed_unsync(),
            );
        }
        if value("watch").is_some() {
            self.watches.fetch_add(1, Ordering::Relaxed);
            let silence = futures::stream::pending::<Result<http_body::Frame<Bytes>, Infallible>>();
            return json(200, BodyExt::boxed_unsync(StreamBody::new(silence)));
        }
        let first: usize = value("continue")
            .and_then(|token| token.parse().ok())
            .unwrap_or(0);
        let next = (first + PAGE).min(self.objects);
        let items: Vec<_> = (first..next).map(server::large).collect();
        let page = serde_json::json!({
            "kind": "List",
            "apiVersion": "v1",
            "metadata": {
                "resourceVersion": "1000000",
                "continue": if next < self.objects { next.to_string() } else { String::new() },
            },
            "items": items,
        });
        let bytes = serde_json::to_vec(&page).expect("a page");
        json(200, Full::new(bytes.into()).boxed_unsync())
    }
}

fn json(status: u16, body: Answer) -> Response<Answer> {
    let response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    response.body(body).expect("a response")
}

/// Three sources with `count` objects together.
fn sources(count: usize) -> [Source; 3] {
    let watches = Arc::new(AtomicU64::new(0));
    std::array::from_fn(|kind| Source {
        objects: count / 3 + usize::from(kind < count % 3),
        watches: Arc::clone(&watches),
    })
}

/// How many reconciles there are until every controller has seen all its objects once.
fn reconciles(sources: &[Source; 3]) -> u64 {
    (0..CONTROLLERS)
        .map(|controller| sources[controller % 3].objects as u64)
        .sum()
}

/// What the controllers hold when all is reconciled.
async fn measured(sources: &[Source; 3], counter: &Counter, before: usize, start: Instant) -> Readings {
    counter.reaches(reconciles(sources)).await;
    let took = start.elapsed();
    let memory = resident_memory().saturating_sub(before);
    Readings::default()
        .time(took)
        .memory(memory)
        .watches(sources[0].watches.load(Ordering::Relaxed))
}

pub(crate) async fn ours(count: usize) -> Readings {
    let sources = sources(count);
    let (before, start) = (resident_memory(), Instant::now());
    let maps = Informer::<ConfigMap>::new(Api::all(sources[0].client()), config());
    let secrets = Informer::<Secret>::new(Api::all(sources[1].client()), config());
    let accounts = Informer::<ServiceAccount>::new(Api::all(sources[2].client()), config());
    let counter = Counter::default();
    for controller in 0..CONTROLLERS {
        match controller % 3 {
            0 => our_one(&maps, &secrets, &accounts, &counter),
            1 => our_one(&secrets, &accounts, &maps, &counter),
            _ => our_one(&accounts, &maps, &secrets, &counter),
        }
    }
    measured(&sources, &counter, before, start).await
}

fn config() -> controller_runtime::watch::Config {
    controller_runtime::watch::Config::default()
}

fn our_one<K: Object, A: Object, B: Object>(
    primary: &Informer<K>,
    one: &Informer<A>,
    other: &Informer<B>,
    counter: &Counter,
) {
    let counter = counter.clone();
    let results = controller_runtime::Controller::for_informer(primary, trigger::Predicate::any([]))
        .related(one, |_| Vec::new())
        .related(other, |_| Vec::new())
        .run(
            move |_, _: Arc<()>| {
                counter.add();
                async { Ok::<_, Never>(controller_runtime::Action::await_change()) }
            },
            |_, _, _| controller_runtime::Action::await_change(),
            Arc::new(()),
        );
    tokio::spawn(results.for_each(|_| std::future::ready(())));
}

pub(crate) async fn kubes(count: usize) -> Readings {
    let sources = sources(count);
    let (before, start) = (resident_memory(), Instant::now());
    let maps = || Api::<ConfigMap>::all(sources[0].client());
    let secrets = || Api::<Secret>::all(sources[1].client());
    let accounts = || Api::<ServiceAccount>::all(sources[2].client());
    let counter = Counter::default();
    for controller in 0..CONTROLLERS {
        match controller % 3 {
            0 => kubes_one(maps(), secrets(), accounts(), &counter),
            1 => kubes_one(secrets(), accounts(), maps(), &counter),
            _ => kubes_one(accounts(), maps(), secrets(), &counter),
        }
    }
    measured(&sources, &counter, before, start).await
}

fn kubes_one<K, A, B>(primary: Api<K>, one: Api<A>, other: Api<B>, counter: &Counter)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static,
    A: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static,
    B: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static,
{
    let counter = counter.clone();
    let results = runtime::Controller::new(primary, watcher::Config::default())
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
