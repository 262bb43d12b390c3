//! A parameter need not be mutable.
#![deny(unused_mut)]

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(mut object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    drop(object);
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
