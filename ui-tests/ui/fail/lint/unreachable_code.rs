//! The body goes on after its end.
#![deny(unreachable_code)]

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    return Ok(Action::await_change());
    drop(_object);
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
