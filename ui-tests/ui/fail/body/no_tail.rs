//! The last expression is missing (tokio-rs/tokio#7784).

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
}

fn main() {
    let _ = reconcile::controller();
}
