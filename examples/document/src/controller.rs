//! The controller: what happens for each Document.

use std::{collections::BTreeMap, sync::Arc};

use controller_runtime::prelude::*;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, Patch, PatchParams};

use crate::types::Document;

/// What every reconcile may use.
pub struct App {
    client: Client,
}

impl App {
    pub async fn connect(client: &Client) -> Result<Self, kube::Error> {
        Ok(Self {
            client: client.clone(),
        })
    }
}

#[controller(
    name = "document",
    owns(ConfigMap),
    watches(Secret, map(documents_of)),
    predicates(generation),
    config(concurrency = 16, timeout = "30s"),
    backoff(initial = "1s", max = "5m"),
    error = pub enum DocumentError {
        #[error("kubernetes: {0}")] Kube(#[from] kube::Error),
        #[error("secret {0:?} is not there")] NoSecret(String),
        #[error("invalid spec: {0}")] #[permanent] InvalidSpec(&'static str),
    },
)]
pub async fn reconcile(
    document: Arc<Document>,
    app: Arc<App>,
    secrets: Store<Secret>,
) -> Result<Action, DocumentError> {
    if document.spec.title.trim().is_empty() {
        return Err(DocumentError::InvalidSpec("title is blank"));
    }
    let name = &document.spec.secret_name;
    let secret = secrets
        .get(name)
        .ok_or_else(|| DocumentError::NoSecret(name.clone()))?;
    let map = render(&document, &secret);
    let maps: Api<ConfigMap> = Api::namespaced(app.client.clone(), &document.namespace().unwrap_or_default());
    maps.patch(
        &document.name_any(),
        &PatchParams::apply("document").force(),
        &Patch::Apply(map),
    )
    .await?;
    Ok(Action::await_change())
}

/// The ConfigMap of a Document. It tells the Secret's version, never its content, so that readers reload when it changes.
fn render(document: &Document, secret: &Secret) -> ConfigMap {
    let text = format!("# {}\n\n{}\n", document.spec.title, document.spec.content);
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

/// A Secret says by label which Documents need it: `example.com/documents: welcome.imprint`.
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
