//! A server, the objects on it, and a record of what ran.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::Server;
use futures::{Stream, StreamExt};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace, Secret},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio::{task::JoinHandle, time::Instant};

use crate::{Action, backoff, controller::Controller, object::Object};

#[derive(Debug, thiserror::Error)]
#[error("no")]
pub(super) struct No;

/// The names of what ran, in order.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub(super) fn note(&self, name: String) {
        self.0.lock().unwrap().push(name);
    }

    /// What ran since the last look, sorted.
    pub(super) fn take(&self) -> Vec<String> {
        let mut all = std::mem::take(&mut *self.0.lock().unwrap());
        all.sort();
        all
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A task that ends with its test.
pub(super) struct Task(pub(super) JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Polls a stream to its end.
pub(super) fn drive(stream: impl Stream<Item: Send> + Send + 'static) -> Task {
    Task(tokio::spawn(stream.for_each(|_| std::future::ready(()))))
}

/// What a controller does that only notes what it is run for.
pub(super) fn noting<K: Object>(
    controller: Controller<K>,
    seen: &Seen,
) -> impl Stream<Item: Send> + Send + 'static + use<K> {
    let seen = seen.clone();
    let reconcile = move |object: Arc<K>, _| {
        seen.note(object.name_any());
        async { Ok::<_, No>(Action::await_change()) }
    };
    controller.run(reconcile, backoff(), Arc::new(()))
}

pub(super) struct World {
    pub(super) server: Server,
    pub(super) client: Client,
}

impl World {
    pub(super) fn new() -> Self {
        let server = Server::builder().service_accounts(false).build();
        let client = server.client_named("test");
        Self { server, client }
    }

    /// What a controller uses; its requests are told apart from the test's by their agent.
    pub(super) fn controllers_client(&self) -> Client {
        self.server.client_named("controller")
    }

    /// How many requests controllers made for this resource.
    pub(super) fn requests_for(&self, resource: &str) -> usize {
        let journal = self.server.journal();
        let entries = journal.entries().iter();
        entries
            .filter(|entry| entry.user_agent == "controller" && entry.resource == resource)
            .count()
    }

    pub(super) async fn create<K>(&self, namespace: &str, name: &str, owners: Vec<OwnerReference>) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + Default
            + Serialize
            + DeserializeOwned,
    {
        let mut object = K::default();
        *object.meta_mut() = ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: Some(owners),
            ..ObjectMeta::default()
        };
        Api::namespaced(self.client.clone(), namespace)
            .create(&PostParams::default(), &object)
            .await
            .unwrap()
    }

    pub(super) async fn map(&self, name: &str) -> ConfigMap {
        self.create("default", name, Vec::new()).await
    }

    pub(super) async fn namespace(&self, name: &str) -> Namespace {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        Api::all(self.client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap()
    }

    pub(super) fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub(super) async fn label<K>(&self, namespace: &str, name: &str, value: &str)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "app": value } } }));
        Api::<K>::namespaced(self.client.clone(), namespace)
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

/// Lets time pass until `holds`; fails with what ran since.
pub(super) async fn until(seen: &Seen, what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(600);
    while !holds() {
        assert!(
            Instant::now() < end,
            "never: {what}; since then ran {:?}",
            seen.take()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Long enough for every change to be told and acted upon, on a paused clock.
pub(super) async fn a_while() {
    tokio::time::sleep(Duration::from_secs(30)).await;
}
