//! `examples/document` in plain kube-rs. It lacks what the example has without a line: metrics, probes, roles, leader election, Events.

#[allow(dead_code, reason = "shared with the example")]
#[path = "../../../examples/document/src/types.rs"]
mod types;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams},
    runtime::{Config, Controller, controller::Action, reflector::ObjectRef, watcher},
};
use types::Document;

const MANAGER: &str = "document";

#[derive(Debug, thiserror::Error)]
enum DocumentError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("secret {0:?} is not there")]
    NoSecret(String),
    #[error("invalid spec: {0}")]
    InvalidSpec(&'static str),
    #[error("not finished within 30 s")]
    TimedOut,
}

struct App {
    client: Client,
    footer: String,
    failures: Mutex<HashMap<ObjectRef<Document>, u32>>,
}

impl App {
    fn failures(&self) -> std::sync::MutexGuard<'_, HashMap<ObjectRef<Document>, u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn reconcile(document: Arc<Document>, app: Arc<App>) -> Result<Action, DocumentError> {
    let limit = Duration::from_secs(30);
    let run = tokio::time::timeout(limit, publish(&document, &app));
    let action = run.await.unwrap_or(Err(DocumentError::TimedOut))?;
    app.failures().remove(&ObjectRef::from_obj(&*document));
    Ok(action)
}

async fn publish(document: &Document, app: &App) -> Result<Action, DocumentError> {
    if document.spec.title.trim().is_empty() {
        return Err(DocumentError::InvalidSpec("title is blank"));
    }
    let name = &document.spec.secret_name;
    let namespace = document.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(app.client.clone(), &namespace);
    let secret = secrets
        .get_opt(name)
        .await?
        .ok_or_else(|| DocumentError::NoSecret(name.clone()))?;
    let maps: Api<ConfigMap> = Api::namespaced(app.client.clone(), &namespace);
    let map = render(document, &secret, &app.footer);
    if let Some(there) = maps.get_opt(&map.name_any()).await? {
        let owned = there
            .owner_references()
            .iter()
            .any(|owner| Some(&owner.uid) == document.meta().uid.as_ref());
        if !owned {
            return Err(DocumentError::InvalidSpec(
                "a map of this name is somebody else's",
            ));
        }
        let same = there.data == map.data
            && map
                .annotations()
                .iter()
                .all(|(key, value)| there.annotations().get(key) == Some(value));
        if same {
            return Ok(Action::await_change());
        }
    }
    let params = PatchParams::apply(MANAGER).force();
    maps.patch(&map.name_any(), &params, &Patch::Apply(&map)).await?;
    for old in maps.list(&ListParams::default()).await? {
        let owned = old
            .owner_references()
            .iter()
            .any(|owner| Some(&owner.uid) == document.meta().uid.as_ref());
        if owned && old.name_any() != map.name_any() {
            maps.delete(&old.name_any(), &DeleteParams::default()).await?;
        }
    }
    Ok(Action::await_change())
}

fn render(document: &Document, secret: &Secret, footer: &str) -> ConfigMap {
    let spec = &document.spec;
    let text = format!("# {}\n\n{}\n\n{footer}\n", spec.title, spec.content.trim_end());
    let version = secret.resource_version().unwrap_or_default();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(document.name_any()),
            namespace: document.namespace(),
            owner_references: document.controller_owner_ref(&()).map(|owner| vec![owner]),
            annotations: Some(BTreeMap::from([(
                "example.com/secret-version".to_owned(),
                version,
            )])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("document.md".to_owned(), text)])),
        ..ConfigMap::default()
    }
}

fn documents_of(secret: &Secret) -> Vec<ObjectRef<Document>> {
    let names = secret
        .labels()
        .get("example.com/documents")
        .cloned()
        .unwrap_or_default();
    let namespace = secret.namespace().unwrap_or_default();
    names
        .split('.')
        .map(|name| ObjectRef::new(name).within(&namespace))
        .collect()
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
fn error_policy(document: Arc<Document>, error: &DocumentError, app: Arc<App>) -> Action {
    tracing::warn!(%error, document = document.name_any(), "a reconcile failed");
    if matches!(error, DocumentError::InvalidSpec(_)) {
        return Action::await_change();
    }
    let mut failures = app.failures();
    let failures = failures.entry(ObjectRef::from_obj(&*document)).or_default();
    *failures += 1;
    let wait = Duration::from_secs(1) * 2u32.saturating_pow((*failures - 1).min(16));
    Action::requeue(wait.min(Duration::from_secs(300)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crds") {
        println!("{}", serde_saphyr::to_string(&Document::crd())?);
        return Ok(());
    }
    tracing_subscriber::fmt().init();
    let client = Client::try_default().await?;
    let version = client.apiserver_version().await?;
    let app = Arc::new(App {
        client: client.clone(),
        footer: format!("Published on Kubernetes {}.", version.git_version),
        failures: Mutex::default(),
    });
    Controller::new(Api::<Document>::all(client.clone()), watcher::Config::default())
        .owns(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .watches(Api::<Secret>::all(client), watcher::Config::default(), |secret| {
            documents_of(&secret)
        })
        .with_config(Config::default().concurrency(16))
        .shutdown_on_signal()
        .run(reconcile, error_policy, app)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
