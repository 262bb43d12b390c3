//! A half-typed body under an attribute with a mistake: both are told.
// mistakes: 2

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller(own(Secret))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _name = object.;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
