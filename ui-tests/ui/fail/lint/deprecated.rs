//! The body calls what is deprecated.
#![deny(deprecated)]

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[deprecated = "call `new`"]
fn old() {}

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    old();
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
