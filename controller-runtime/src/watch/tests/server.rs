//! An informer of config maps on the in-process API server, and what is asked of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{Fault, Server, Verb, When};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::{task::JoinHandle, time::Instant};

use crate::{
    store::{Delta, DeltaCause},
    watch::{Config, Informer, Phase, SourceStatus},
};

/// Name and resourceVersion of each object.
pub(super) type Contents = BTreeMap<(String, String), String>;

pub(super) struct World {
    pub(super) server: Server,
    pub(super) client: Client,
    pub(super) informer: Informer<ConfigMap>,
    folded: Arc<Mutex<Fold>>,
    driver: JoinHandle<()>,
}

/// What the deltas, one after the other, make; and whether they were consistent.
#[derive(Default)]
pub(super) struct Fold {
    pub(super) contents: Contents,
    pub(super) deltas: Vec<(String, DeltaCause, bool)>,
    pub(super) broken: Vec<String>,
}

impl Fold {
    pub(super) fn add(&mut self, delta: &Delta<ConfigMap>) {
        let version = |side: &Option<Arc<ConfigMap>>| side.as_ref().and_then(|it| it.resource_version());
        let key = (delta.key.namespace.clone().unwrap(), delta.key.name.clone());
        let (old, new) = (version(&delta.old), version(&delta.new));
        if self.contents.get(&key) != old.as_ref() {
            self.broken.push(format!(
                "{key:?}: old is {old:?}, was {:?}",
                self.contents.get(&key)
            ));
        }
        if old == new {
            self.broken.push(format!("{key:?}: nothing changed at {new:?}"));
        }
        self.deltas
            .push((delta.key.name.clone(), delta.cause, new.is_some()));
        match new {
            Some(new) => self.contents.insert(key, new),
            None => self.contents.remove(&key),
        };
    }
}

impl World {
    /// Five config maps, and an informer that nothing drives yet.
    pub(super) async fn new(config: Config) -> Self {
        let server = Server::new();
        let client = server.client();
        let config = Config {
            seed: Some(7),
            ..config
        };
        let informer = Informer::new(Api::all(server.client_named("informer")), config);
        Self::over(server, client, informer).await
    }

    pub(super) async fn over(server: Server, client: Client, informer: Informer<ConfigMap>) -> Self {
        let folded = Arc::new(Mutex::new(Fold::default()));
        let fold = Arc::clone(&folded);
        informer
            .subscribe(move |delta| fold.lock().unwrap().add(delta))
            .detach();
        let world = Self {
            server,
            client,
            informer,
            folded,
            driver: tokio::spawn(async {}),
        };
        for n in 0..5 {
            world.create(&format!("first-{n}")).await;
        }
        world
    }

    /// Lets what the informer asks fail.
    pub(super) fn fail(&self, verb: Verb, fault: Fault) {
        self.server.faults().inject(asked(verb), fault);
    }

    pub(super) fn start(&mut self) {
        self.driver = tokio::spawn(self.informer.run());
    }

    /// Drops the future that drives.
    pub(super) async fn stop(&mut self) {
        self.driver.abort();
        let ended = (&mut self.driver).await;
        assert!(ended.is_err_and(|error| error.is_cancelled()));
    }

    fn api(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.client.clone())
    }

    pub(super) async fn create(&self, name: &str) {
        let object = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap();
    }

    pub(super) async fn change(&self, name: &str) {
        let patch = json!({ "data": { "at": self.server.revision().to_string() } });
        self.api()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub(super) async fn delete(&self, name: &str) {
        self.api().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(super) async fn try_create(&self, name: &str) {
        let object = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        let _exists_already = self.api().create(&PostParams::default(), &object).await;
    }

    pub(super) async fn try_change(&self, name: &str) {
        let patch = json!({ "data": { "at": self.server.revision().to_string() } });
        let patch = Patch::Merge(patch);
        let _is_not_there = self.api().patch(name, &PatchParams::default(), &patch).await;
    }

    pub(super) async fn try_delete(&self, name: &str) {
        let _is_not_there = self.api().delete(name, &DeleteParams::default()).await;
    }

    /// What the server holds; faults are for the informer's requests only.
    pub(super) async fn truth(&self) -> Contents {
        let list = Api::<ConfigMap>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .unwrap();
        contents(list.items.iter())
    }

    pub(super) fn stored(&self) -> Contents {
        let snapshot = self.informer.store().snapshot();
        contents(snapshot.iter().map(|object| &**object))
    }

    pub(super) fn status(&self) -> SourceStatus {
        self.informer.status().remove(0)
    }

    /// Store, deltas and server agree, and the status says so.
    pub(super) async fn assert_level(&self) {
        let truth = self.truth().await;
        assert_eq!(self.stored(), truth, "{}", self.status());
        let fold = self.folded.lock().unwrap();
        assert_eq!(fold.broken, [""; 0]);
        assert_eq!(
            fold.contents, truth,
            "the deltas make something else than the store"
        );
        let status = self.status();
        assert_eq!(
            (status.phase, status.problem.as_ref()),
            (Phase::Watching, None),
            "{status}"
        );
        assert!(status.synced && status.undecodable.is_empty());
    }

    /// Waits until the store is what the server holds and the source is well.
    pub(super) async fn until_level(&self, limit: Duration) {
        let truth = self.truth().await;
        until(
            limit,
            || self.status().to_string(),
            || self.stored() == truth && self.status().problem.is_none() && self.status().synced,
        )
        .await;
        self.assert_level().await;
    }

    /// The deltas so far: name, cause, whether the object is there after it.
    pub(super) fn deltas(&self) -> Vec<(String, DeltaCause, bool)> {
        self.folded.lock().unwrap().deltas.clone()
    }

    /// How many requests the informer made.
    pub(super) fn requests(&self) -> usize {
        let journal = self.server.journal();
        let entries = journal.entries().iter();
        entries.filter(|entry| entry.user_agent == "informer").count()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// What the informer asks.
pub(super) fn asked(verb: Verb) -> When {
    When::verb(verb).resource("configmaps").agent("informer")
}

fn contents<'a>(objects: impl Iterator<Item = &'a ConfigMap>) -> Contents {
    objects
        .map(|object| {
            let key = (object.namespace().unwrap(), object.name_any());
            (key, object.resource_version().unwrap())
        })
        .collect()
}

/// Waits for a condition, and fails with the last `state`.
pub(super) async fn until(limit: Duration, state: impl Fn() -> String, holds: impl Fn() -> bool) {
    let end = Instant::now() + limit;
    while !holds() {
        assert!(
            Instant::now() < end,
            "not within {limit:?}; last state: {}",
            state()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Lets virtual time pass.
pub(super) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}
