//! The controller: what happens for each Website.

use controller_runtime::prelude::*;
use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentStatus},
    core::v1::{ConfigMap, Service},
    networking::v1::Ingress,
};

use crate::{
    parts,
    types::{Website, WebsiteStatus},
};

#[controller(
    name = "website",
    owns(ConfigMap),
    owns(Deployment),
    owns(Service),
    owns(Ingress),
    predicates(generation),
    status(conditions)
)]
pub(crate) async fn reconcile(
    website: Arc<Website>,
    children: Children,
    status: Status,
) -> Result<Action, Failure> {
    children.apply([parts::pages(&website)?]).await?;
    children.apply([parts::service(&website)?]).await?;
    // None without a host: then the one that was there goes.
    children.apply(parts::ingress(&website)?).await?;
    // Its status changes while servers start, and each change brings us here again.
    let live = children.upsert(parts::servers(&website)?).await?;
    let live = live.status.clone().unwrap_or_default();
    let (ready, wanted) = (live.ready_replicas.unwrap_or_default(), website.spec.replicas);
    let ready = format!("{ready}/{wanted}");
    status.condition(
        "Available",
        is_available(&live, wanted),
        "Servers",
        format!("{ready} servers are ready"),
    );
    status.set(WebsiteStatus {
        ready,
        replicas: live.replicas.unwrap_or_default(),
        selector: parts::selector(&website),
        ..WebsiteStatus::default()
    });
    Ok(Action::await_change())
}

/// All servers run the pages and the image of today.
fn is_available(live: &DeploymentStatus, wanted: i32) -> bool {
    let enough = |count: Option<i32>| count.unwrap_or_default() >= wanted;
    enough(live.ready_replicas) && enough(live.updated_replicas)
}
