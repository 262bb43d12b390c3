//! `examples/secret-sync` in plain kube-rs.
//!
//! Copies carry a label, too, so that they are found without a look at every Secret there is.

#[path = "../backoff.rs"]
mod backoff;
#[path = "../status.rs"]
mod status;
#[path = "../../../examples/secret-sync/src/types.rs"]
mod types;

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Client, CustomResourceExt, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams},
    core::{PartialObjectMeta, Selector},
    runtime::{
        Controller,
        controller::Action,
        finalizer::{self, Event, finalizer},
        reflector::{ObjectRef, Store},
        watcher,
    },
};

use crate::{
    backoff::Backoff,
    status::{set_condition, write_status},
    types::SecretSync,
};

const FINALIZER: &str = "example.com/secret-sync";
/// On each copy: the namespace and the name of its SecretSync.
const COPY_OF: &str = "example.com/copy-of";
const IS_COPY: &str = "example.com/is-copy";

#[derive(Debug, thiserror::Error)]
enum SyncError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("secret {0:?} is not there")]
    NoSecret(String),
    #[error("secret {0} is there already, and no copy")]
    InTheWay(String),
}

struct App {
    client: Client,
    backoff: Backoff,
}

async fn reconcile(sync: Arc<SecretSync>, app: Arc<App>) -> Result<Action, finalizer::Error<SyncError>> {
    let namespace = sync.namespace().unwrap_or_default();
    let api: Api<SecretSync> = Api::namespaced(app.client.clone(), &namespace);
    let action = finalizer(&api, FINALIZER, Arc::clone(&sync), |event| {
        handle(event, &app.client, &api)
    });
    let action = action.await?;
    app.backoff.succeeded(&*sync);
    Ok(action)
}

async fn handle(
    event: Event<SecretSync>,
    client: &Client,
    api: &Api<SecretSync>,
) -> Result<Action, SyncError> {
    match event {
        Event::Apply(sync) => {
            let result = spread(&sync, client).await;
            tell(&sync, api, &result).await?;
            result?;
        }
        Event::Cleanup(sync) => delete_copies(&sync, client, |_| false).await?,
    }
    Ok(Action::await_change())
}

/// How many copies there are then.
async fn spread(sync: &SecretSync, client: &Client) -> Result<usize, SyncError> {
    let name = &sync.spec.secret_name;
    let namespace = sync.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let source = secrets.get_opt(name).await?;
    let source = source.ok_or_else(|| SyncError::NoSecret(name.clone()))?;
    let selected = selected(sync, client).await?;
    for namespace in &selected {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let there = secrets.get_metadata_opt(name).await?;
        if there.is_some_and(|there| !is_copy(&there, sync)) {
            return Err(SyncError::InTheWay(format!("{namespace}/{name}")));
        }
        let copy = copy_of(&source, sync, namespace);
        let params = PatchParams::apply("secret-sync").force();
        secrets.patch(name, &params, &Patch::Apply(copy)).await?;
    }
    delete_copies(sync, client, |copy| {
        let namespace = copy.namespace().unwrap_or_default();
        selected.contains(&namespace) && copy.name_any() == *name
    })
    .await?;
    Ok(selected.len())
}

/// All namespaces with the labels, less the Secret's own.
async fn selected(sync: &SecretSync, client: &Client) -> kube::Result<Vec<String>> {
    let selector: Selector = sync.spec.match_labels.clone().into_iter().collect();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespaces = namespaces
        .list_metadata(&ListParams::default().labels_from(&selector))
        .await?;
    let names = namespaces
        .iter()
        .filter(|namespace| namespace.metadata.deletion_timestamp.is_none())
        .map(ResourceExt::name_any);
    Ok(names
        .filter(|name| Some(name) != sync.metadata.namespace.as_ref())
        .collect())
}

/// But those to keep.
async fn delete_copies(
    sync: &SecretSync,
    client: &Client,
    keep: impl Fn(&PartialObjectMeta<Secret>) -> bool,
) -> Result<(), SyncError> {
    let all: Api<Secret> = Api::all(client.clone());
    let copies = all.list_metadata(&ListParams::default().labels(IS_COPY)).await?;
    for copy in copies {
        if !is_copy(&copy, sync) || keep(&copy) {
            continue;
        }
        let namespace = copy.namespace().unwrap_or_default();
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
        match secrets.delete(&copy.name_any(), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            result => drop(result?),
        }
    }
    Ok(())
}

async fn tell(
    sync: &SecretSync,
    api: &Api<SecretSync>,
    result: &Result<usize, SyncError>,
) -> kube::Result<()> {
    let generation = sync.metadata.generation;
    let mut status = sync.status.clone().unwrap_or_default();
    let (reason, message) = match result {
        Ok(copies) => {
            status.copies = *copies;
            ("Reconciled", String::new())
        }
        Err(error @ SyncError::Kube(_)) => ("Kube", error.to_string()),
        Err(error @ SyncError::NoSecret(_)) => ("NoSecret", error.to_string()),
        Err(error @ SyncError::InTheWay(_)) => ("InTheWay", error.to_string()),
    };
    let conditions = &mut status.conditions;
    set_condition(conditions, "Ready", result.is_ok(), reason, &message, generation);
    status.observed_generation = generation;
    write_status(api, &sync.name_any(), sync.status.as_ref(), &status).await
}

fn mark(sync: &SecretSync) -> String {
    format!("{}/{}", sync.namespace().unwrap_or_default(), sync.name_any())
}

fn is_copy(secret: &PartialObjectMeta<Secret>, sync: &SecretSync) -> bool {
    secret.annotations().get(COPY_OF) == Some(&mark(sync))
}

fn copy_of(source: &Secret, sync: &SecretSync, namespace: &str) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: source.metadata.name.clone(),
            namespace: Some(namespace.to_owned()),
            labels: Some([(IS_COPY.to_owned(), "true".to_owned())].into()),
            annotations: Some([(COPY_OF.to_owned(), mark(sync))].into()),
            ..ObjectMeta::default()
        },
        type_: source.type_.clone(),
        data: source.data.clone(),
        ..Secret::default()
    }
}

/// Those that name the Secret, and the one whose copy it is.
fn syncs_of(secret: &PartialObjectMeta<Secret>, known: &Store<SecretSync>) -> Vec<ObjectRef<SecretSync>> {
    let known = known.state_filter(|sync| {
        let names = sync.namespace() == secret.namespace() && sync.spec.secret_name == secret.name_any();
        names || is_copy(secret, sync)
    });
    known.iter().map(|sync| ObjectRef::from_obj(&**sync)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
fn error_policy(sync: Arc<SecretSync>, error: &finalizer::Error<SyncError>, app: Arc<App>) -> Action {
    tracing::warn!(%error, sync = sync.name_any(), "a reconcile failed");
    app.backoff.failed(&*sync)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crds") {
        println!("{}", serde_saphyr::to_string(&SecretSync::crd())?);
        return Ok(());
    }
    tracing_subscriber::fmt().init();
    let client = Client::try_default().await?;
    let app = App {
        client: client.clone(),
        backoff: Backoff::default(),
    };
    let syncs = Api::<SecretSync>::all(client.clone());
    let secrets = Api::<PartialObjectMeta<Secret>>::all(client.clone());
    let namespaces = Api::<PartialObjectMeta<Namespace>>::all(client);
    let controller = Controller::new(syncs, watcher::Config::default());
    let (known, all) = (controller.store(), controller.store());
    controller
        .watches(secrets, watcher::Config::default(), move |secret| {
            syncs_of(&secret, &known)
        })
        .watches(namespaces, watcher::Config::default(), move |_| {
            let all = all.state();
            let syncs = all.iter().map(|sync| ObjectRef::from_obj(&**sync));
            syncs.collect::<Vec<_>>()
        })
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(app))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
