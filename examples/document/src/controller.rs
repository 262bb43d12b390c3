//! The controller: what happens for each Document.

use std::{collections::BTreeMap, sync::Arc};

use controller_runtime::prelude::*;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::types::Document;

/// What every reconcile may use: connections, settings, caches of your own.
pub(crate) struct App {
    footer: String,
}

impl App {
    /// Called once, before the first reconcile.
    pub(crate) async fn connect(client: &Client) -> Result<Self, kube::Error> {
        let version = client.apiserver_version().await?;
        let footer = format!("Published on Kubernetes {}.", version.git_version);
        Ok(Self { footer })
    }
}

#[controller(
    name = "document",
    owns(ConfigMap),
    watches(Secret, map(documents_of)),
    predicates(generation),
    config(concurrency = 16, timeout = "30s"),
    backoff(initial = "1s", max = "5m"),
    error = pub(crate) enum DocumentError {
        #[error("kubernetes: {0}")] Kube(#[from] kube::Error),
        #[error("secret {0:?} is not there")] NoSecret(String),
        #[error("invalid spec: {0}")] #[permanent] InvalidSpec(&'static str),
    },
)]
pub(crate) async fn reconcile(
    document: Arc<Document>,
    app: Arc<App>,
    secrets: Store<Secret>,
    children: Children,
) -> Result<Action, DocumentError> {
    if document.spec.title.trim().is_empty() {
        return Err(DocumentError::InvalidSpec("title is blank"));
    }
    let name = &document.spec.secret_name;
    let secret = secrets
        .get(name)
        .ok_or_else(|| DocumentError::NoSecret(name.clone()))?;
    children.apply([render(&document, &secret, &app.footer)]).await?;
    Ok(Action::await_change())
}

/// The ConfigMap of a Document. It tells the Secret's version, never its content, so that readers reload when it changes.
fn render(document: &Document, secret: &Secret, footer: &str) -> ConfigMap {
    let spec = &document.spec;
    let text = format!("# {}\n\n{}\n\n{footer}\n", spec.title, spec.content.trim_end());
    let version = secret.resource_version().unwrap_or_default();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(document.name_any()),
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
