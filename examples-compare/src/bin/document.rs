//! `examples/document` in plain kube-rs.

#[path = "../backoff.rs"]
mod backoff;
#[path = "../children.rs"]
mod children;
#[path = "../../../examples/document/src/types.rs"]
mod types;

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, CustomResourceExt, ResourceExt,
    api::ObjectMeta,
    core::PartialObjectMeta,
    runtime::{Controller, controller::Action, reflector::ObjectRef, watcher},
};

use crate::{backoff::Backoff, types::Document};

#[derive(Debug, thiserror::Error)]
enum DocumentError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("secret {0:?} is not there")]
    NoSecret(String),
    #[error("invalid spec: {0}")]
    InvalidSpec(&'static str),
}

struct App {
    client: Client,
    backoff: Backoff,
}

async fn reconcile(document: Arc<Document>, app: Arc<App>) -> Result<Action, DocumentError> {
    let spec = &document.spec;
    if spec.title.trim().is_empty() {
        return Err(DocumentError::InvalidSpec("title is blank"));
    }
    let namespace = document.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(app.client.clone(), &namespace);
    let secret = secrets.get_metadata_opt(&spec.secret_name).await?;
    let secret = secret.ok_or_else(|| DocumentError::NoSecret(spec.secret_name.clone()))?;
    let version = secret.resource_version().unwrap_or_default();
    let text = format!("# {}\n\n{}\n", spec.title, spec.content.trim_end());
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(document.name_any()),
            annotations: Some([("example.com/secret-version".to_owned(), version)].into()),
            ..ObjectMeta::default()
        },
        data: Some([("document.md".to_owned(), text)].into()),
        ..ConfigMap::default()
    };
    children::apply(&app.client, "document", &*document, map).await?;
    app.backoff.succeeded(&*document);
    Ok(Action::await_change())
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
fn error_policy(document: Arc<Document>, error: &DocumentError, app: Arc<App>) -> Action {
    tracing::warn!(%error, document = document.name_any(), "a reconcile failed");
    match error {
        DocumentError::InvalidSpec(_) => Action::await_change(),
        _ => app.backoff.failed(&*document),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crds") {
        println!("{}", serde_saphyr::to_string(&Document::crd())?);
        return Ok(());
    }
    tracing_subscriber::fmt().init();
    let client = Client::try_default().await?;
    let app = App {
        client: client.clone(),
        backoff: Backoff::default(),
    };
    let documents = Api::<Document>::all(client.clone());
    let maps = Api::<ConfigMap>::all(client.clone());
    let secrets = Api::<PartialObjectMeta<Secret>>::all(client);
    let controller = Controller::new(documents, watcher::Config::default());
    let known = controller.store();
    let documents_of = move |secret: PartialObjectMeta<Secret>| {
        let known = known.state_filter(|document| {
            document.namespace() == secret.namespace() && document.spec.secret_name == secret.name_any()
        });
        let documents = known.iter().map(|document| ObjectRef::from_obj(&**document));
        documents.collect::<Vec<_>>()
    };
    controller
        .owns(maps, watcher::Config::default())
        .watches(secrets, watcher::Config::default(), documents_of)
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(app))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
