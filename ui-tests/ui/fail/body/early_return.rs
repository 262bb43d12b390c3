//! An early return of another type (tokio-rs/tokio#3766).

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    if object.data.is_none() {
        return Ok(());
    }
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
