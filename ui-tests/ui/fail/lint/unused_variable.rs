//! A variable of the body is not used: that is still told.
#![deny(unused_variables)]

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let left = 1;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
