//! What an operator asks of a server: reconciles and requests until all objects are as they should be, and at a restart.
//!
//! `cargo run --release -p benches --bin converge [COUNT]`: COUNT Documents (2,000), each of which owns one ConfigMap and
//! has one status write. Run against the server in this process, or, with `--kubeconfig`, against the cluster of your
//! kubeconfig, in the namespace `converge`, which must be there. Sides: kube-rs as its documentation shows it, ours, and ours with
//! a finalizer.

#![expect(clippy::expect_used, reason = "a benchmark that cannot run stops")]

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use controller_runtime::{
    controller,
    declare::{Environment, Runnable},
    reconcile::{Children, Declared},
};
use futures::{FutureExt, StreamExt};
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    client::Body,
    runtime::{Controller, controller::Action, watcher::Config},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::oneshot;

const NAMESPACE: &str = "converge";
/// No request for so long is taken for rest.
const REST: Duration = Duration::from_secs(3);

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "bench.example.com",
    version = "v1",
    kind = "Document",
    namespaced,
    status = "DocumentStatus"
)]
#[serde(rename_all = "camelCase")]
struct DocumentSpec {
    text: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DocumentStatus {
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Condition {
    r#type: String,
    status: String,
    reason: String,
    message: String,
    last_transition_time: String,
    observed_generation: Option<i64>,
}

/// What is counted on one side.
#[derive(Clone, Default)]
struct Counts(Arc<[AtomicU64; 3]>);

impl Counts {
    fn reconcile(&self) {
        self.0[0].fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> [u64; 3] {
        [0, 1, 2].map(|index| self.0[index].load(Ordering::Relaxed))
    }

    /// A client whose requests are counted.
    fn client(&self, inner: &Client) -> Client {
        let (counts, inner) = (self.clone(), inner.clone());
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let write = request.method() != http::Method::GET;
            counts.0[1 + usize::from(!write)].fetch_add(1, Ordering::Relaxed);
            let inner = inner.clone();
            async move { inner.send(request).await }
        });
        Client::new(service, NAMESPACE)
    }
}

#[controller(name = "ours", owns(ConfigMap), predicates(generation), status(conditions))]
async fn plain(
    document: Arc<Document>,
    counts: Arc<Counts>,
    children: Children,
) -> Result<controller_runtime::Action, kube::Error> {
    counts.reconcile();
    children.apply([render(&document)]).await?;
    Ok(controller_runtime::Action::await_change())
}

#[controller(
    name = "guarded",
    owns(ConfigMap),
    predicates(generation),
    status(conditions),
    cleanup(release)
)]
async fn guarded(
    document: Arc<Document>,
    counts: Arc<Counts>,
    children: Children,
) -> Result<controller_runtime::Action, kube::Error> {
    counts.reconcile();
    children.apply([render(&document)]).await?;
    Ok(controller_runtime::Action::await_change())
}

async fn release(_: Arc<Document>) -> Result<(), kube::Error> {
    Ok(())
}

fn render(document: &Document) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(document.name_any());
    map.metadata.namespace = document.namespace();
    map.data = Some([("text".to_owned(), document.spec.text.clone())].into());
    map
}

/// kube-rs by its documentation: apply the child, patch the status, come again in five minutes.
async fn kubes(document: Arc<Document>, context: Arc<(Client, Counts)>) -> Result<Action, kube::Error> {
    let (client, counts) = &*context;
    counts.reconcile();
    let mut map = render(&document);
    map.metadata.owner_references = document.controller_owner_ref(&()).map(|owner| vec![owner]);
    let (name, params) = (document.name_any(), PatchParams::apply("kubes").force());
    let maps = Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE);
    maps.patch(&name, &params, &Patch::Apply(&map)).await?;
    let status = json!({ "status": {
        "observedGeneration": document.metadata.generation,
        "conditions": [{ "type": "Ready", "status": "True", "reason": "Reconciled", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
    } });
    let documents = Api::<Document>::namespaced(client.clone(), NAMESPACE);
    documents
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(&status))
        .await?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

/// A running side, and how it is stopped.
type Running = (oneshot::Sender<()>, tokio::task::JoinHandle<()>);

fn start(side: &str, client: &Client, counts: &Counts) -> Running {
    let (stop, stopped) = oneshot::channel::<()>();
    let client = counts.client(client);
    let stopped = stopped.map(drop);
    let declared: Declared = match side {
        "kube-rs" => {
            let documents = Api::<Document>::namespaced(client.clone(), NAMESPACE);
            let maps = Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE);
            let results = Controller::new(documents, Config::default())
                .owns(maps, Config::default())
                .graceful_shutdown_on(stopped)
                .run(
                    kubes,
                    |_, _, _| Action::requeue(Duration::from_secs(5)),
                    Arc::new((client, counts.clone())),
                );
            return (stop, tokio::spawn(results.for_each(|_| async {})));
        }
        "ours" => plain::controller(counts.clone()),
        _ => guarded::controller(counts.clone()),
    };
    let environment = Environment::new(client)
        .namespaces(controller_runtime::declare::Namespaces::Only(vec![
            NAMESPACE.to_owned(),
        ]))
        .shutdown_on(stopped);
    let running = async move {
        declared.run(environment).await.expect("the controller runs");
    };
    (stop, tokio::spawn(running))
}

/// Waits until nothing was asked for a while, after everything is `ready`.
async fn rest(counts: &Counts, client: &Client, count: usize) {
    loop {
        let documents = Api::<Document>::namespaced(client.clone(), NAMESPACE);
        let all = documents
            .list(&ListParams::default())
            .await
            .expect("a list")
            .items;
        let ready = all.iter().filter(|document| document.status.is_some()).count();
        if ready == count {
            break;
        }
        tokio::time::sleep(REST / 6).await;
    }
    let mut before = counts.read();
    loop {
        tokio::time::sleep(REST).await;
        let now = counts.read();
        if now == before {
            return;
        }
        before = now;
    }
}

async fn measure(side: &str, client: &Client, count: usize) {
    let documents = Api::<Document>::namespaced(client.clone(), NAMESPACE);
    for number in 0..count {
        let text = format!("text {number}");
        let document = Document::new(&format!("d-{number:05}"), DocumentSpec { text });
        documents
            .create(&PostParams::default(), &document)
            .await
            .expect("a Document");
    }
    for phase in ["converge", "restart"] {
        let counts = Counts::default();
        let (stop, done) = start(side, client, &counts);
        rest(&counts, client, count).await;
        print_row(phase, side, count, counts.read());
        drop(stop);
        done.await.expect("it ends");
    }
    clean(&documents).await;
    clean(&Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE)).await;
}

/// Deletes everything, whatever holds it.
async fn clean<K>(api: &Api<K>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + serde::de::DeserializeOwned,
{
    let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    for object in api.list(&ListParams::default()).await.expect("a list").items {
        let name = object.name_any();
        // It may go at the same time with its owner.
        let _ = api.patch(&name, &PatchParams::default(), &free).await;
        let _ = api.delete(&name, &DeleteParams::default()).await;
    }
    while !api
        .list(&ListParams::default())
        .await
        .expect("a list")
        .items
        .is_empty()
    {
        tokio::time::sleep(REST / 6).await;
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn print_row(phase: &str, side: &str, count: usize, figures: [u64; 3]) {
    let [reconciles, writes, reads] = figures;
    let each = |figure: u64| figure as f64 / count as f64;
    println!(
        "| {phase} | {side} | {reconciles} | {:.3} | {writes} | {:.3} | {reads} |",
        each(reconciles),
        each(writes),
    );
}

#[tokio::main]
async fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let count = arguments
        .iter()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(2000);
    let server = controller_apiserver::Server::new();
    let client = if arguments.iter().any(|argument| argument == "--kubeconfig") {
        Client::try_default().await.expect("a cluster")
    } else {
        let client = server.client_named("bench");
        let namespace =
            serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } })).expect("a Namespace");
        let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone());
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .expect("a Namespace");
        client
    };
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let apply = PatchParams::apply("bench").force();
    definitions
        .patch(
            &Document::crd().name_any(),
            &apply,
            &Patch::Apply(Document::crd()),
        )
        .await
        .expect("a definition");
    tokio::time::sleep(REST).await;
    println!("| | side | reconciles | per object | write requests | per object | reads |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for side in ["kube-rs", "ours", "ours, with cleanup"] {
        measure(side, &client, count).await;
    }
}
