//! A function for another kind.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

async fn release(_: Arc<Pod>) -> Result<(), kube::Error> {
    Ok(())
}

#[controller(cleanup(release))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
