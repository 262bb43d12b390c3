//! A server, a running controller, and time that waits for both.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::Server;
use k8s_openapi::api::{
    core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    events::v1::Event,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio::sync::oneshot;

use crate::{
    declare::{BoxError, Environment, Runnable},
    runner::{self, Gauge, Observer},
};

/// What a test writes down while its controller runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(super) fn note(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// What was noted since the last look.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Finds the queue of the controller, so that rest can be waited for.
#[derive(Default)]
struct Ear(Mutex<Option<Gauge>>);

impl Observer for Ear {
    fn observe(&self, _controller: &str, _event: &runner::Event<'_>) {}

    fn queue(&self, _controller: &str, gauge: &Gauge) {
        *self.0.lock().unwrap() = Some(gauge.clone());
    }
}

pub(super) struct World {
    pub(super) server: Server,
    pub(super) client: Client,
}

/// A controller that runs until it is stopped.
pub(super) struct Running {
    stop: oneshot::Sender<()>,
    done: tokio::task::JoinHandle<Result<(), BoxError>>,
}

impl Running {
    pub(super) async fn stop(self) {
        drop(self.stop);
        self.done.await.unwrap().unwrap();
    }
}

impl World {
    pub(super) async fn new() -> Self {
        let server = Server::new();
        let client = server.client_named("test");
        let world = Self { server, client };
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some("docs".into());
        let _ = Api::all(world.client.clone())
            .create(&PostParams::default(), &namespace)
            .await;
        world
    }

    /// Starts a controller and waits until it rests.
    pub(super) async fn start(&self, controller: impl Runnable + 'static) -> Running {
        let name = controller.declaration().name.clone();
        let (stop, stopped) = oneshot::channel();
        let ear = Arc::new(Ear::default());
        let environment = Environment::new(self.server.client_named(&name))
            .observe_with(ear.clone())
            .shutdown_on(async { drop(stopped.await) });
        let probe = self.server.on_settle(name, move || {
            ear.0
                .lock()
                .unwrap()
                .as_ref()
                .is_none_or(|gauge| !gauge.is_settled())
        });
        let done = tokio::spawn(async move {
            let _probe = probe;
            controller.run(environment).await
        });
        self.settle().await;
        Running { stop, done }
    }

    pub(super) async fn settle(&self) {
        self.server.settle().await.unwrap();
    }

    pub(super) async fn advance(&self, by: Duration) {
        self.server.advance(by).await.unwrap();
    }

    pub(super) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>,
    {
        Api::namespaced(self.client.clone(), "docs")
    }

    /// Sets a label and waits until all is quiet.
    pub(super) async fn label<K>(&self, name: &str, key: &str, value: &str)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        self.relabel::<K>(name, key, value).await;
        self.settle().await;
    }

    /// Sets a label, and waits for nothing.
    pub(super) async fn relabel<K>(&self, name: &str, key: &str, value: &str)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let patch = json!({ "metadata": { "labels": { key: value } } });
        let params = PatchParams::default();
        self.api::<K>()
            .patch(name, &params, &Patch::Merge(&patch))
            .await
            .unwrap();
    }

    /// How many writes a controller has asked for, but for Events.
    pub(super) fn writes_of(&self, controller: &str) -> usize {
        let journal = self.server.journal();
        let entries = journal.entries();
        let writes = entries
            .iter()
            .filter(|entry| entry.user_agent == controller && entry.is_write() && entry.resource != "events");
        writes.count()
    }

    /// The Events of this reason.
    pub(super) async fn events(&self, reason: &str) -> Vec<Event> {
        let all = self.api::<Event>().list(&ListParams::default()).await.unwrap();
        all.items
            .into_iter()
            .filter(|event| event.reason.as_deref() == Some(reason))
            .collect()
    }

    pub(super) async fn create<K>(&self, object: &K) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        self.api::<K>()
            .create(&PostParams::default(), object)
            .await
            .unwrap()
    }
}

pub(super) fn config_map(name: &str, data: &[(&str, &str)]) -> ConfigMap {
    ConfigMap {
        metadata: metadata(name),
        data: Some(
            data.iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        ),
        ..ConfigMap::default()
    }
}

pub(super) fn service_account(name: &str) -> ServiceAccount {
    ServiceAccount {
        metadata: metadata(name),
        ..ServiceAccount::default()
    }
}

pub(super) fn labelled<K: ResourceExt>(mut object: K, key: &str, value: &str) -> K {
    object.labels_mut().insert(key.to_owned(), value.to_owned());
    object
}

pub(super) fn secret(name: &str) -> Secret {
    Secret {
        metadata: metadata(name),
        ..Secret::default()
    }
}

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("docs".to_owned()),
        ..ObjectMeta::default()
    }
}
