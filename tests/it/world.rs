//! An API server, a controller on it, and what the controller did: the ground of every test here.
//!
//! Time is paused. Tests wait for conditions through [`World::until`], which tells the last state it saw.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{ProbeGuard, Server};
use controller_runtime::{Action, Controller, runner::Gauge};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};

/// The error of test reconcilers.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(pub(crate) String);

/// One run of the reconciler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) at: Duration,
}

/// What the reconciler saw, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<Run>>>);

impl Seen {
    pub(crate) fn record(&self, run: Run) {
        self.0.lock().unwrap().push(run);
    }

    pub(crate) fn all(&self) -> Vec<Run> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn of(&self, name: &str) -> Vec<Run> {
        self.all().into_iter().filter(|run| run.name == name).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    /// The last version that was reconciled of each object.
    pub(crate) fn last(&self) -> BTreeMap<String, String> {
        self.all()
            .into_iter()
            .map(|run| (run.name, run.version))
            .collect()
    }
}

/// A server and a client. Config maps are the primaries of most tests, secrets what they own.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) seen: Seen,
    began: tokio::time::Instant,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Server::new())
    }

    pub(crate) fn with(server: Server) -> Self {
        Self {
            client: server.client_named("test"),
            server,
            seen: Seen::default(),
            began: tokio::time::Instant::now(),
        }
    }

    pub(crate) fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "default")
    }

    pub(crate) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// What a controller uses; its requests are told apart from the test's by their agent.
    pub(crate) fn controllers_client(&self) -> Client {
        self.server.client_named("controller")
    }

    pub(crate) fn controller(&self) -> Controller<ConfigMap> {
        Controller::new(Api::all(self.controllers_client()), Default::default())
    }

    pub(crate) fn with_secrets(&self) -> Controller<ConfigMap> {
        self.controller()
            .owns(Api::<Secret>::all(self.controllers_client()), Default::default())
    }

    pub(crate) async fn map(&self, name: &str) -> ConfigMap {
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        self.maps().create(&PostParams::default(), &map).await.unwrap()
    }

    /// A Secret that the map owns.
    pub(crate) async fn secret_of(&self, map: &ConfigMap, name: &str) -> Secret {
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                owner_references: map.controller_owner_ref(&()).map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        };
        self.secrets()
            .create(&PostParams::default(), &secret)
            .await
            .unwrap()
    }

    /// Changes an object's data.
    pub(crate) async fn touch(&self, name: &str, value: &str) -> ConfigMap {
        let patch = serde_json::json!({ "data": { "value": value } });
        self.maps()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap()
    }

    pub(crate) async fn delete_map(&self, name: &str) {
        self.maps().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn delete_secret(&self, name: &str) {
        self.secrets()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Runs a controller whose reconciler records what it sees and then does `then`.
    pub(crate) fn run<F, Fut>(&self, controller: Controller<ConfigMap>, then: F) -> Running
    where
        F: Fn(Arc<ConfigMap>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Action, Failure>> + Send + 'static,
    {
        self.run_with(controller, then, controller_runtime::backoff())
    }

    /// As [`World::run`], with an error policy.
    pub(crate) fn run_with<F, Fut, P>(&self, controller: Controller<ConfigMap>, then: F, policy: P) -> Running
    where
        F: Fn(Arc<ConfigMap>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Action, Failure>> + Send + 'static,
        P: Fn(Arc<ConfigMap>, &Failure, Arc<()>) -> Action + Send + 'static,
    {
        let gauge = controller.gauge();
        let seen = self.seen.clone();
        let began = self.began;
        let reconcile = move |map: Arc<ConfigMap>, _: Arc<()>| {
            seen.record(Run {
                name: map.name_any(),
                version: map.resource_version().unwrap_or_default(),
                at: began.elapsed(),
            });
            then(map)
        };
        let task = tokio::spawn(
            controller
                .run(reconcile, policy, Arc::new(()))
                .for_each(|_| std::future::ready(())),
        );
        let queue = gauge.clone();
        let probe = self.server.on_settle("the queue", move || {
            // Keys before the first sync wait for the server, and behind running ones for those: both are asked there.
            let depth = queue.read();
            depth.synced && depth.running == 0 && !depth.is_settled(tokio::time::Instant::now())
        });
        Running {
            gauge,
            task,
            _probe: probe,
        }
    }

    /// Nothing moves until time passes.
    pub(crate) async fn settle(&self) {
        self.server.settle().await.unwrap();
    }

    pub(crate) async fn advance(&self, by: Duration) {
        self.server.advance(by).await.unwrap();
    }

    /// Lets time pass until `holds`, an hour at most.
    pub(crate) async fn until<T: fmt::Debug>(&self, what: &str, mut holds: impl FnMut() -> Result<(), T>) {
        let mut last = None;
        for _ in 0..3600 {
            self.settle().await;
            match holds() {
                Ok(()) => return,
                Err(state) => last = Some(state),
            }
            self.advance(Duration::from_secs(1)).await;
        }
        panic!("within an hour it was never true that {what}; last seen: {last:#?}");
    }
}

/// A controller as a task; it ends when dropped.
pub(crate) struct Running {
    pub(crate) gauge: Gauge,
    pub(crate) task: tokio::task::JoinHandle<()>,
    _probe: ProbeGuard,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) async fn done(_: Arc<ConfigMap>) -> Result<Action, Failure> {
    Ok(Action::await_change())
}

/// Equal, or told how not.
pub(crate) fn same<T: PartialEq + fmt::Debug>(left: T, right: T) -> Result<(), (T, T)> {
    if left == right { Ok(()) } else { Err((left, right)) }
}
