//! The field is read by a function that can fail.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

#[controller(references(Secret, |map| map.metadata.name.clone().ok_or("no name")))]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
