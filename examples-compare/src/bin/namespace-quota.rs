//! `examples/namespace-quota` in plain kube-rs.

#[path = "../backoff.rs"]
mod backoff;
#[path = "../children.rs"]
mod children;
#[path = "../prune.rs"]
mod prune;
#[path = "../status.rs"]
mod status;
#[path = "../../../examples/namespace-quota/src/types.rs"]
mod types;

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota};
use kube::{
    Api, Client, CustomResourceExt, ResourceExt,
    api::{ListParams, ObjectMeta},
    core::{PartialObjectMeta, Selector},
    runtime::{Controller, controller::Action, reflector::ObjectRef, watcher},
};

use crate::{
    backoff::Backoff,
    prune::prune,
    status::{set_condition, write_status},
    types::NamespaceQuota,
};

#[derive(Debug, thiserror::Error)]
enum NamespaceQuotaError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("matchLabels is empty: it would limit every namespace, kube-system too")]
    NoLabels,
}

struct App {
    client: Client,
    backoff: Backoff,
}

async fn reconcile(quota: Arc<NamespaceQuota>, app: Arc<App>) -> Result<Action, NamespaceQuotaError> {
    let result = spread(&quota, &app.client).await;
    tell(&quota, &app.client, &result).await?;
    result?;
    app.backoff.succeeded(&*quota);
    Ok(Action::await_change())
}

/// In how many namespaces it is then.
async fn spread(quota: &NamespaceQuota, client: &Client) -> Result<usize, NamespaceQuotaError> {
    let wanted = &quota.spec.match_labels;
    if wanted.is_empty() {
        return Err(NamespaceQuotaError::NoLabels);
    }
    let selector: Selector = wanted.clone().into_iter().collect();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespaces = namespaces
        .list_metadata(&ListParams::default().labels_from(&selector))
        .await?;
    let selected: Vec<_> = namespaces
        .iter()
        .filter(|namespace| namespace.metadata.deletion_timestamp.is_none())
        .map(|namespace| namespace.metadata.name.clone())
        .collect();
    for namespace in &selected {
        let child = ResourceQuota {
            metadata: ObjectMeta {
                name: quota.metadata.name.clone(),
                namespace: namespace.clone(),
                ..ObjectMeta::default()
            },
            spec: Some(quota.spec.quota()),
            ..ResourceQuota::default()
        };
        children::apply(client, "namespace-quota", quota, child).await?;
    }
    // Where the labels do not fit any more, the quota goes.
    let all: Api<ResourceQuota> = Api::all(client.clone());
    let keep = |child: &PartialObjectMeta<_>| selected.contains(&child.metadata.namespace);
    prune(client, &all, quota, keep).await?;
    Ok(selected.len())
}

async fn tell(
    quota: &NamespaceQuota,
    client: &Client,
    result: &Result<usize, NamespaceQuotaError>,
) -> kube::Result<()> {
    let generation = quota.metadata.generation;
    let mut status = quota.status.clone().unwrap_or_default();
    let (reason, message) = match result {
        Ok(namespaces) => {
            status.namespaces = *namespaces;
            ("Reconciled", String::new())
        }
        Err(error @ NamespaceQuotaError::Kube(_)) => ("Kube", error.to_string()),
        Err(error @ NamespaceQuotaError::NoLabels) => ("NoLabels", error.to_string()),
    };
    status.observed_generation = generation;
    let conditions = &mut status.conditions;
    set_condition(conditions, "Ready", result.is_ok(), reason, &message, generation);
    let api: Api<NamespaceQuota> = Api::all(client.clone());
    write_status(&api, &quota.name_any(), quota.status.as_ref(), &status).await
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
fn error_policy(quota: Arc<NamespaceQuota>, error: &NamespaceQuotaError, app: Arc<App>) -> Action {
    tracing::warn!(%error, quota = quota.name_any(), "a reconcile failed");
    match error {
        NamespaceQuotaError::Kube(_) => app.backoff.failed(&*quota),
        NamespaceQuotaError::NoLabels => Action::await_change(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crds") {
        println!("{}", serde_saphyr::to_string(&NamespaceQuota::crd())?);
        return Ok(());
    }
    tracing_subscriber::fmt().init();
    let client = Client::try_default().await?;
    let app = App {
        client: client.clone(),
        backoff: Backoff::default(),
    };
    let quotas = Api::<NamespaceQuota>::all(client.clone());
    let children = Api::<ResourceQuota>::all(client.clone());
    let namespaces = Api::<PartialObjectMeta<Namespace>>::all(client);
    let controller = Controller::new(quotas, watcher::Config::default());
    let known = controller.store();
    let all = move |_| {
        let known = known.state();
        let quotas = known.iter().map(|quota| ObjectRef::from_obj(&**quota));
        quotas.collect::<Vec<_>>()
    };
    controller
        .owns(children, watcher::Config::default())
        .watches(namespaces, watcher::Config::default(), all)
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(app))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
