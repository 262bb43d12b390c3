//! Whole operators on a whole cluster: the API server of this process, or any other.
//!
//! One switch: `TEST_KUBECONFIG=path cargo test -p integration-tests --test cluster` runs the same tests on the cluster of that kubeconfig, whose
//! user may create namespaces and definitions there. Without it they run in this process, on paused time.
//!
//! Each test has a namespace of its own, and waits for conditions, never for a moment.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failed expectation is a failed test"
)]

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use controller_apiserver::Server;
use controller_runtime::{
    Action, Operator, OperatorError, PAUSED, controller,
    declare::Namespaces,
    leader::Timing,
    operator::{ElectionOptions, RunOptions, Stop},
    reconcile::{Children, Recorder},
};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, Client, Config, CustomResource, CustomResourceExt, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{task::JoinHandle, time::Instant};

const PATIENCE: Duration = Duration::from_secs(90);

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "tests.controller-runtime.example.com",
    version = "v1",
    kind = "Note",
    namespaced,
    status = "NoteStatus"
)]
struct NoteSpec {
    text: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct NoteStatus {
    observed_generation: Option<i64>,
    conditions: Vec<Condition>,
}

/// What the reconciles of one process share.
#[derive(Default)]
struct Desk {
    runs: AtomicUsize,
    released: AtomicUsize,
}

#[controller(
    name = "notes",
    context = Desk,
    owns(ConfigMap),
    cleanup(release),
    status(conditions),
    backoff(initial = "1s", max = "5s"),
)]
async fn note(
    note: Arc<Note>,
    desk: Arc<Desk>,
    children: Children,
    recorder: Recorder,
) -> Result<Action, kube::Error> {
    desk.runs.fetch_add(1, Ordering::Relaxed);
    let copy = ConfigMap {
        metadata: ObjectMeta {
            name: Some(note.name_any()),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), note.spec.text.clone())].into()),
        ..ConfigMap::default()
    };
    children.apply([copy]).await?;
    recorder.normal("Copied", "the text is in its ConfigMap").await;
    Ok(Action::await_change())
}

async fn release(_: Arc<Note>, desk: Arc<Desk>) -> Result<(), kube::Error> {
    desk.released.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// A cluster, and a namespace of the test's own in it.
struct Cluster {
    client: Client,
    namespace: String,
}

/// An operator of this process.
struct Process {
    desk: Arc<Desk>,
    stop: Stop,
    ending: JoinHandle<Result<(), OperatorError>>,
}

/// Runs a test where the switch says.
fn on_a_cluster<F: Future<Output = ()>>(name: &str, test: impl FnOnce(Arc<Cluster>) -> F) {
    let elsewhere = std::env::var("TEST_KUBECONFIG").ok();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(elsewhere.is_none())
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let client = match elsewhere {
            Some(path) => client_of(&path).await,
            None => Server::new().client(),
        };
        let cluster = Cluster::prepare(client, name).await;
        test(Arc::clone(&cluster)).await;
        let namespaces = Api::<Namespace>::all(cluster.client.clone());
        namespaces
            .delete(&cluster.namespace, &DeleteParams::default())
            .await
            .expect("the namespace can go");
    });
}

async fn client_of(path: &str) -> Client {
    let kubeconfig = Kubeconfig::read_from(path).expect("TEST_KUBECONFIG names a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a kubeconfig that can be used");
    Client::try_from(config).expect("a client")
}

impl Cluster {
    async fn prepare(client: Client, name: &str) -> Arc<Self> {
        let apply = PatchParams::apply("integration-tests").force();
        let definitions = Api::<CustomResourceDefinition>::all(client.clone());
        definitions
            .patch(Note::crd_name(), &apply, &Patch::Apply(Note::crd()))
            .await
            .expect("the definition is taken");
        let namespace = format!("{name}-{}", std::process::id());
        let object = Namespace {
            metadata: ObjectMeta {
                name: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let namespaces = Api::<Namespace>::all(client.clone());
        namespaces
            .create(&PostParams::default(), &object)
            .await
            .expect("a namespace");
        let cluster = Arc::new(Self { client, namespace });
        let notes = cluster.notes();
        cluster
            .until("the definition is served", || async {
                notes
                    .list(&Default::default())
                    .await
                    .map(|_| ())
                    .map_err(|error| error.to_string())
            })
            .await;
        cluster
    }

    fn notes(&self) -> Api<Note> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn start(&self, elect: bool) -> Process {
        let desk = Arc::new(Desk::default());
        let stop = Stop::new();
        let mut options = RunOptions::new()
            .client(self.client.clone())
            .namespaces(Namespaces::Only(vec![self.namespace.clone()]))
            .stop_on(&stop);
        if elect {
            let seconds = Duration::from_secs;
            let timing = Timing::new(seconds(5), seconds(4), seconds(1)).expect("durations that fit");
            options = options.elect(ElectionOptions::new().namespace(&self.namespace).timing(timing));
        }
        let operator = Operator::new("notes")
            .crd::<Note>()
            .controller(note::controller(Arc::clone(&desk)));
        Process {
            desk,
            stop,
            ending: tokio::spawn(operator.run(options)),
        }
    }

    async fn write(&self, name: &str, text: &str) {
        let note = Note::new(
            name,
            NoteSpec {
                text: text.to_owned(),
            },
        );
        let apply = PatchParams::apply("a-person").force();
        self.notes()
            .patch(name, &apply, &Patch::Apply(note))
            .await
            .expect("the note is taken");
    }

    async fn text_is(&self, name: &str, text: &str) {
        self.until(&format!("{name} says {text:?}"), || async {
            let map = self
                .maps()
                .get_opt(name)
                .await
                .map_err(|error| error.to_string())?;
            let says = map.and_then(|map| map.data?.get("text").cloned());
            if says.as_deref() == Some(text) {
                Ok(())
            } else {
                Err(format!("{says:?}"))
            }
        })
        .await;
    }

    /// Deletes all notes, and waits until they are cleaned up.
    async fn delete_all(&self) {
        let notes = self.notes();
        for note in notes.list(&Default::default()).await.unwrap() {
            notes
                .delete(&note.name_any(), &DeleteParams::default())
                .await
                .unwrap();
        }
        self.until("all are cleaned up", || async {
            let left = notes
                .list(&Default::default())
                .await
                .map_err(|error| error.to_string())?;
            if left.items.is_empty() {
                Ok(())
            } else {
                Err(format!("{} left", left.items.len()))
            }
        })
        .await;
    }

    async fn until<T: Debug, F: Future<Output = Result<(), T>>>(&self, what: &str, holds: impl Fn() -> F) {
        let limit = Instant::now() + PATIENCE;
        while let Err(state) = holds().await {
            assert!(
                Instant::now() < limit,
                "not within {PATIENCE:?}: {what}; last seen: {state:?}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

impl Process {
    async fn stop(self) {
        self.stop.now();
        self.ending.await.expect("no panic").expect("a good end");
    }
}

#[test]
fn an_object_is_followed_through_its_whole_life() {
    on_a_cluster("life", |cluster| async move {
        let process = cluster.start(false);
        cluster.write("a", "first").await;
        cluster.text_is("a", "first").await;
        cluster.write("a", "second").await;
        cluster.text_is("a", "second").await;
        let edit = Patch::Merge(json!({"data": {"text": "theirs"}}));
        cluster
            .maps()
            .patch("a", &PatchParams::default(), &edit)
            .await
            .unwrap();
        cluster.text_is("a", "second").await;
        cluster
            .maps()
            .delete("a", &DeleteParams::default())
            .await
            .unwrap();
        cluster.text_is("a", "second").await;
        cluster
            .until("it is told to be ready", || async {
                let note = cluster
                    .notes()
                    .get("a")
                    .await
                    .map_err(|error| error.to_string())?;
                let status = note.status.unwrap_or_default();
                let ready = |condition: &&Condition| condition.type_ == "Ready" && condition.status == "True";
                match status.conditions.iter().find(ready) {
                    Some(_) if status.observed_generation == note.metadata.generation => Ok(()),
                    _ => Err(format!("{status:?}")),
                }
            })
            .await;
        cluster.delete_all().await;
        cluster
            .until("its child is gone", || async {
                let map = cluster
                    .maps()
                    .get_opt("a")
                    .await
                    .map_err(|error| error.to_string())?;
                map.map_or(Ok(()), |_| Err("there".to_owned()))
            })
            .await;
        assert_eq!(process.desk.released.load(Ordering::Relaxed), 1);
        process.stop().await;
    });
}

#[test]
fn a_paused_object_waits() {
    on_a_cluster("pause", |cluster| async move {
        let process = cluster.start(false);
        cluster.write("a", "first").await;
        cluster.text_is("a", "first").await;
        let pause = |value: Option<&str>| Patch::Merge(json!({"metadata": {"annotations": {PAUSED: value}}}));
        let patched = PatchParams::default();
        cluster
            .notes()
            .patch("a", &patched, &pause(Some("true")))
            .await
            .unwrap();
        cluster.write("a", "second").await;
        // Another one is through, so this one could have been.
        cluster.write("b", "other").await;
        cluster.text_is("b", "other").await;
        cluster.text_is("a", "first").await;
        cluster.notes().patch("a", &patched, &pause(None)).await.unwrap();
        cluster.text_is("a", "second").await;
        cluster.delete_all().await;
        process.stop().await;
    });
}

#[test]
fn another_replica_takes_over_from_one_that_stops() {
    on_a_cluster("replicas", |cluster| async move {
        let first = cluster.start(true);
        cluster.write("a", "first").await;
        cluster.text_is("a", "first").await;
        let second = cluster.start(true);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(second.desk.runs.load(Ordering::Relaxed), 0, "one leads");
        first.stop().await;
        cluster.write("a", "second").await;
        cluster.text_is("a", "second").await;
        assert!(second.desk.runs.load(Ordering::Relaxed) > 0);
        cluster.delete_all().await;
        second.stop().await;
    });
}
