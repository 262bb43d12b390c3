//! A call is half typed.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _name = object.;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
