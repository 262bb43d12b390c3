//! A `let` has no value yet.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let name =
}

fn main() {
    let _ = reconcile::controller();
}
