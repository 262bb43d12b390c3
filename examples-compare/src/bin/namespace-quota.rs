//! `examples/namespace-quota` in plain kube-rs. It lacks what the example has without a line: metrics, probes, roles, leader election,
//! Events, growing waits.

#[path = "../../../examples/namespace-quota/src/types.rs"]
mod types;

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{
    api::core::v1::{Namespace, ResourceQuota},
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams},
    core::PartialObjectMeta,
    runtime::{Controller, controller::Action, reflector::ObjectRef, watcher},
};
use serde_json::json;
use types::NamespaceQuota;

const MANAGER: &str = "namespace-quota";

#[derive(Debug, thiserror::Error)]
enum NamespaceQuotaError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("matchLabels is empty: it would limit every namespace, kube-system too")]
    NoLabels,
}

async fn reconcile(quota: Arc<NamespaceQuota>, client: Arc<Client>) -> Result<Action, NamespaceQuotaError> {
    let client = Client::clone(&client);
    let result = spread(&quota, &client).await;
    let ready = match &result {
        Ok(_) => ("True", "Reconciled", String::new()),
        Err(error @ NamespaceQuotaError::NoLabels) => ("False", "NoLabels", error.to_string()),
        Err(error) => ("False", "Kube", format!("{error} (it is tried again)")),
    };
    write_status(&quota, &client, result.as_ref().ok().copied(), ready).await?;
    result.map(|_| Action::await_change())
}

async fn spread(quota: &NamespaceQuota, client: &Client) -> Result<usize, NamespaceQuotaError> {
    let wanted = &quota.spec.match_labels;
    if wanted.is_empty() {
        return Err(NamespaceQuotaError::NoLabels);
    }
    let selector: Vec<_> = wanted
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let selected = namespaces
        .list_metadata(&ListParams::default().labels(&selector.join(",")))
        .await?;
    let selected: Vec<_> = selected
        .items
        .into_iter()
        .filter(|namespace| namespace.metadata.deletion_timestamp.is_none())
        .map(|namespace| namespace.name_any())
        .collect();
    let all: Api<ResourceQuota> = Api::all(client.clone());
    let there: Vec<_> = all
        .list(&ListParams::default())
        .await?
        .items
        .into_iter()
        .filter(|there| {
            let mut owners = there.owner_references().iter();
            owners.any(|owner| Some(&owner.uid) == quota.meta().uid.as_ref())
        })
        .collect();
    for namespace in &selected {
        let own = ResourceQuota {
            metadata: ObjectMeta {
                name: quota.metadata.name.clone(),
                namespace: Some(namespace.clone()),
                owner_references: quota.controller_owner_ref(&()).map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            spec: Some(quota.spec.quota()),
            ..ResourceQuota::default()
        };
        let same =
            |there: &&ResourceQuota| there.namespace().as_ref() == Some(namespace) && there.spec == own.spec;
        if there.iter().any(|there| same(&there)) {
            continue;
        }
        let api: Api<ResourceQuota> = Api::namespaced(client.clone(), namespace);
        let params = PatchParams::apply(MANAGER).force();
        api.patch(&quota.name_any(), &params, &Patch::Apply(&own)).await?;
    }
    for old in there {
        let namespace = old.namespace().unwrap_or_default();
        if !selected.contains(&namespace) {
            let api: Api<ResourceQuota> = Api::namespaced(client.clone(), &namespace);
            api.delete(&old.name_any(), &DeleteParams::default()).await?;
        }
    }
    Ok(selected.len())
}

#[expect(clippy::disallowed_methods, reason = "kube has no other clock for it")]
async fn write_status(
    quota: &NamespaceQuota,
    client: &Client,
    namespaces: Option<usize>,
    (status, reason, message): (&str, &str, String),
) -> Result<(), kube::Error> {
    let stored = quota.status.clone().unwrap_or_default();
    let before = stored
        .conditions
        .iter()
        .find(|condition| condition.type_ == "Ready" && condition.status == status);
    let ready = Condition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation: quota.metadata.generation,
        last_transition_time: before.map_or_else(
            || Time(Timestamp::now()),
            |before| before.last_transition_time.clone(),
        ),
    };
    let namespaces = namespaces.unwrap_or(stored.namespaces);
    let mut conditions: Vec<_> = stored
        .conditions
        .iter()
        .filter(|condition| condition.type_ != "Ready")
        .cloned()
        .collect();
    conditions.push(ready);
    if stored.namespaces == namespaces
        && stored.observed_generation == quota.metadata.generation
        && stored.conditions == conditions
    {
        return Ok(());
    }
    let status = json!({"status": {
        "namespaces": namespaces,
        "observedGeneration": quota.metadata.generation,
        "conditions": conditions,
    }});
    let api: Api<NamespaceQuota> = Api::all(client.clone());
    api.patch_status(&quota.name_any(), &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
fn error_policy(quota: Arc<NamespaceQuota>, error: &NamespaceQuotaError, _: Arc<Client>) -> Action {
    tracing::warn!(%error, quota = quota.name_any(), "a reconcile failed");
    match error {
        NamespaceQuotaError::NoLabels => Action::await_change(),
        NamespaceQuotaError::Kube(_) => Action::requeue(Duration::from_secs(5)),
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
    let controller = Controller::new(
        Api::<NamespaceQuota>::all(client.clone()),
        watcher::Config::default(),
    );
    let known = controller.store();
    controller
        .owns(
            Api::<ResourceQuota>::all(client.clone()),
            watcher::Config::default(),
        )
        .watches(
            Api::<PartialObjectMeta<Namespace>>::all(client.clone()),
            watcher::Config::default(),
            move |_| {
                let known = known.state();
                known
                    .iter()
                    .map(|quota| ObjectRef::from_obj(&**quota))
                    .collect::<Vec<_>>()
            },
        )
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(client))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
