//! A variable of the body need not be mutable.
#![deny(unused_mut)]

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let mut left = String::new();
    drop(left);
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
