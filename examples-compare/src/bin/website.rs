//! `examples/website` in plain kube-rs.

#[path = "../backoff.rs"]
mod backoff;
#[path = "../children.rs"]
mod children;
#[path = "../../../examples/website/src/parts.rs"]
mod parts;
#[path = "../prune.rs"]
mod prune;
#[path = "../status.rs"]
mod status;
#[path = "../../../examples/website/src/types.rs"]
mod types;

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentStatus},
    core::v1::{ConfigMap, Service},
    networking::v1::Ingress,
};
use kube::{
    Api, Client, CustomResourceExt, ResourceExt,
    runtime::{Controller, controller::Action, watcher},
};

use crate::{
    backoff::Backoff,
    children::apply,
    prune::prune,
    status::{set_condition, write_status},
    types::Website,
};

const MANAGER: &str = "website";

#[derive(Debug, thiserror::Error)]
enum WebsiteError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("a part cannot be made: {0}")]
    Part(#[from] serde_json::Error),
}

struct App {
    client: Client,
    backoff: Backoff,
}

async fn reconcile(website: Arc<Website>, app: Arc<App>) -> Result<Action, WebsiteError> {
    let result = build(&website, &app.client).await;
    tell(&website, &app.client, &result).await?;
    result?;
    app.backoff.succeeded(&*website);
    Ok(Action::await_change())
}

/// How the servers are then.
async fn build(website: &Website, client: &Client) -> Result<DeploymentStatus, WebsiteError> {
    apply(client, MANAGER, website, parts::pages(website)?).await?;
    apply(client, MANAGER, website, parts::service(website)?).await?;
    if let Some(ingress) = parts::ingress(website)? {
        apply(client, MANAGER, website, ingress).await?;
    } else {
        let namespace = website.namespace().unwrap_or_default();
        let ingresses: Api<Ingress> = Api::namespaced(client.clone(), &namespace);
        prune(client, &ingresses, website, |_| false).await?;
    }
    // Its status changes while servers start, and each change brings us here again.
    let live = apply(client, MANAGER, website, parts::servers(website)?).await?;
    Ok(live.status.unwrap_or_default())
}

async fn tell(
    website: &Website,
    client: &Client,
    result: &Result<DeploymentStatus, WebsiteError>,
) -> kube::Result<()> {
    let generation = website.metadata.generation;
    let mut status = website.status.clone().unwrap_or_default();
    let conditions = &mut status.conditions;
    match result {
        Ok(live) => {
            let (ready, wanted) = (live.ready_replicas.unwrap_or_default(), website.spec.replicas);
            status.ready = format!("{ready}/{wanted}");
            status.replicas = live.replicas.unwrap_or_default();
            status.selector = parts::selector(website);
            let message = format!("{} servers are ready", status.ready);
            let holds = is_available(live, wanted);
            set_condition(conditions, "Available", holds, "Servers", &message, generation);
            set_condition(conditions, "Ready", true, "Reconciled", "", generation);
        }
        Err(error) => {
            let reason = match error {
                WebsiteError::Kube(_) => "Kube",
                WebsiteError::Part(_) => "Part",
            };
            set_condition(conditions, "Ready", false, reason, &error.to_string(), generation);
        }
    }
    status.observed_generation = generation;
    let namespace = website.namespace().unwrap_or_default();
    let api: Api<Website> = Api::namespaced(client.clone(), &namespace);
    write_status(&api, &website.name_any(), website.status.as_ref(), &status).await
}

/// All servers run the pages and the image of today.
fn is_available(live: &DeploymentStatus, wanted: i32) -> bool {
    let enough = |count: Option<i32>| count.unwrap_or_default() >= wanted;
    enough(live.ready_replicas) && enough(live.updated_replicas)
}

#[expect(clippy::needless_pass_by_value, reason = "as kube calls it")]
fn error_policy(website: Arc<Website>, error: &WebsiteError, app: Arc<App>) -> Action {
    tracing::warn!(%error, website = website.name_any(), "a reconcile failed");
    app.backoff.failed(&*website)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crds") {
        println!("{}", serde_saphyr::to_string(&Website::crd())?);
        return Ok(());
    }
    tracing_subscriber::fmt().init();
    let client = Client::try_default().await?;
    let app = App {
        client: client.clone(),
        backoff: Backoff::default(),
    };
    let websites = Api::<Website>::all(client.clone());
    let maps = Api::<ConfigMap>::all(client.clone());
    let deployments = Api::<Deployment>::all(client.clone());
    let services = Api::<Service>::all(client.clone());
    let ingresses = Api::<Ingress>::all(client);
    Controller::new(websites, watcher::Config::default())
        .owns(maps, watcher::Config::default())
        .owns(deployments, watcher::Config::default())
        .owns(services, watcher::Config::default())
        .owns(ingresses, watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(app))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
