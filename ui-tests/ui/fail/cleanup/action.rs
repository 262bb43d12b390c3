//! A function that says when to run next.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

async fn release(_: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

#[controller(cleanup(release))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
