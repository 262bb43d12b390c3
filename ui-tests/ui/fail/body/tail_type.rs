//! The last expression is of another type (tokio-rs/tracing#2270).

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Action::await_change()
}

fn main() {
    let _ = reconcile::controller();
}
