//! The signature names what is deprecated.
#![deny(deprecated)]

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[deprecated = "take `ConfigMap`"]
type Old = ConfigMap;

#[controller]
async fn reconcile(_object: Arc<Old>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
