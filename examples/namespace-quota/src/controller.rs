//! The controller: what happens for each NamespaceQuota.

use controller_runtime::prelude::*;
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota};
use kube::core::PartialObjectMeta;

use crate::types::{NamespaceQuota, NamespaceQuotaStatus};

#[controller(
    name = "namespace-quota",
    owns(ResourceQuota, predicates(generation, labels, resource_version)),
    watches(Namespace, all, metadata_only, predicates(labels)),
    predicates(generation),
    status(conditions),
    error = pub(crate) enum NamespaceQuotaError {
        #[error("kubernetes: {0}")] Kube(#[from] kube::Error),
        #[error("matchLabels is empty: it would limit every namespace, kube-system too")] #[permanent] NoLabels,
    },
)]
pub(crate) async fn reconcile(
    quota: Arc<NamespaceQuota>,
    namespaces: Store<PartialObjectMeta<Namespace>>,
    children: Children,
    status: Status,
) -> Result<Action, NamespaceQuotaError> {
    let wanted = &quota.spec.match_labels;
    if wanted.is_empty() {
        return Err(NamespaceQuotaError::NoLabels);
    }
    let is_selected = |namespace: &Arc<PartialObjectMeta<Namespace>>| {
        let labels = namespace.labels();
        namespace.metadata.deletion_timestamp.is_none()
            && wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
    };
    let selected: Vec<_> = namespaces.snapshot().into_iter().filter(is_selected).collect();
    // All of them: where the labels do not fit any more, the quota goes.
    let quotas = selected.iter().map(|namespace| ResourceQuota {
        metadata: ObjectMeta {
            name: quota.metadata.name.clone(),
            namespace: namespace.metadata.name.clone(),
            ..ObjectMeta::default()
        },
        spec: Some(quota.spec.quota()),
        ..ResourceQuota::default()
    });
    children.apply(quotas).await?;
    status.set(NamespaceQuotaStatus {
        namespaces: selected.len(),
        ..NamespaceQuotaStatus::default()
    });
    Ok(Action::await_change())
}
