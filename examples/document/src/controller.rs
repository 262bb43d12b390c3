//! The controller: what happens for each Document.

use controller_runtime::prelude::*;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::types::Document;

/// Publishes a Document once the Secret that its readers need is there. The ConfigMap tells the Secret's version, never its
/// content, so that readers reload when it changes.
#[controller(
    name = "document",
    owns(ConfigMap),
    references(Secret, |document| document.spec.secret_name.clone()),
    predicates(generation),
    error = pub(crate) enum DocumentError {
        #[error("kubernetes: {0}")] Kube(#[from] kube::Error),
        #[error("secret {0:?} is not there")] NoSecret(String),
        #[error("invalid spec: {0}")] #[permanent] InvalidSpec(&'static str),
    },
)]
pub(crate) async fn reconcile(
    document: Arc<Document>,
    secrets: Store<Secret>,
    children: Children,
) -> Result<Action, DocumentError> {
    let spec = &document.spec;
    if spec.title.trim().is_empty() {
        return Err(DocumentError::InvalidSpec("title is blank"));
    }
    let secret = secrets.get(&spec.secret_name);
    let secret = secret.ok_or_else(|| DocumentError::NoSecret(spec.secret_name.clone()))?;
    let version = secret.resource_version().unwrap_or_default();
    let text = format!("# {}\n\n{}\n", spec.title, spec.content.trim_end());
    let mut map = ConfigMap::default();
    map.metadata.name = Some(document.name_any());
    map.metadata.annotations = Some([("example.com/secret-version".to_owned(), version)].into());
    map.data = Some([("document.md".to_owned(), text)].into());
    children.apply([map]).await?;
    Ok(Action::await_change())
}
