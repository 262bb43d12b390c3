//! The controller: what happens for each SecretSync.
//!
//! Owner references do not reach other namespaces. So copies carry an annotation that says whose they are, and a cleanup deletes them.

use controller_runtime::prelude::*;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    api::{DeleteParams, Patch, PatchParams},
    core::PartialObjectMeta,
};

use crate::types::{SecretSync, SecretSyncStatus};

/// On each copy: the namespace and the name of its SecretSync.
const COPY_OF: &str = "example.com/copy-of";

#[controller(
    name = "secret-sync",
    references(Secret, |sync| sync.spec.secret_name.clone()),
    watches(Secret, map(sync_of)),
    watches(Namespace, all, metadata_only, predicates(labels)),
    predicates(generation),
    cleanup(delete_copies),
    status(conditions),
    rbac("core/secrets": create patch delete),
    error = pub(crate) enum SyncError {
        #[error("kubernetes: {0}")] Kube(#[from] kube::Error),
        #[error("secret {0:?} is not there")] NoSecret(String),
        #[error("secret {0} is there already, and no copy")] InTheWay(String),
    },
)]
pub(crate) async fn reconcile(
    sync: Arc<SecretSync>,
    secrets: Store<Secret>,
    namespaces: Store<PartialObjectMeta<Namespace>>,
    client: Client,
    status: Status,
) -> Result<Action, SyncError> {
    let name = &sync.spec.secret_name;
    let source = secrets
        .get(name)
        .ok_or_else(|| SyncError::NoSecret(name.clone()))?;
    let selected = selected(&sync, &namespaces);
    for namespace in &selected {
        let copy = copy_of(&source, &sync, namespace);
        let there = secrets.within(namespace).get(name);
        if there
            .as_ref()
            .is_some_and(|there| is_copy(there, &sync) && there.data == copy.data)
        {
            continue;
        }
        if there.is_some_and(|there| !is_copy(&there, &sync)) {
            return Err(SyncError::InTheWay(format!("{namespace}/{name}")));
        }
        let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let params = PatchParams::apply("secret-sync").force();
        api.patch(name, &params, &Patch::Apply(copy)).await?;
    }
    for copy in copies(&secrets, &sync) {
        let here = copy.namespace().unwrap_or_default();
        if !selected.contains(&here) || copy.name_any() != *name {
            delete(&client, &copy).await?;
        }
    }
    status.set(SecretSyncStatus {
        copies: selected.len(),
        ..SecretSyncStatus::default()
    });
    Ok(Action::await_change())
}

/// Called before a SecretSync goes.
async fn delete_copies(
    sync: Arc<SecretSync>,
    secrets: Store<Secret>,
    client: Client,
) -> Result<(), SyncError> {
    for copy in copies(&secrets, &sync) {
        delete(&client, &copy).await?;
    }
    Ok(())
}

async fn delete(client: &Client, copy: &Secret) -> Result<(), kube::Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), &copy.namespace().unwrap_or_default());
    match api.delete(&copy.name_any(), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        result => result.map(drop),
    }
}

/// All namespaces with the labels, less the Secret's own.
fn selected(sync: &SecretSync, namespaces: &Store<PartialObjectMeta<Namespace>>) -> Vec<String> {
    let fits = |namespace: &PartialObjectMeta<Namespace>| {
        let (labels, mut wanted) = (namespace.labels(), sync.spec.match_labels.iter());
        namespace.metadata.deletion_timestamp.is_none()
            && wanted.all(|(key, value)| labels.get(key) == Some(value))
    };
    let all = namespaces.snapshot();
    let names = all
        .iter()
        .filter(|namespace| fits(namespace))
        .map(|namespace| namespace.name_any());
    names
        .filter(|name| Some(name) != sync.metadata.namespace.as_ref())
        .collect()
}

fn mark(sync: &SecretSync) -> String {
    format!("{}/{}", sync.namespace().unwrap_or_default(), sync.name_any())
}

fn is_copy(secret: &Secret, sync: &SecretSync) -> bool {
    secret.annotations().get(COPY_OF) == Some(&mark(sync))
}

/// Its copies, in all namespaces.
fn copies(secrets: &Store<Secret>, sync: &SecretSync) -> Vec<Arc<Secret>> {
    let all = secrets.everywhere().snapshot();
    all.into_iter().filter(|secret| is_copy(secret, sync)).collect()
}

fn copy_of(source: &Secret, sync: &SecretSync, namespace: &str) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: source.metadata.name.clone(),
            namespace: Some(namespace.to_owned()),
            annotations: Some([(COPY_OF.to_owned(), mark(sync))].into()),
            ..ObjectMeta::default()
        },
        type_: source.type_.clone(),
        data: source.data.clone(),
        ..Secret::default()
    }
}

/// A copy that someone edits or deletes wakes its SecretSync.
fn sync_of(secret: &Secret) -> Option<ObjectRef<SecretSync>> {
    let (namespace, name) = secret.annotations().get(COPY_OF)?.split_once('/')?;
    Some(ObjectRef::new(name).within(namespace))
}
