//! The function holds what cannot be sent to another thread.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let name = std::rc::Rc::new(object.metadata.name.clone());
    tokio::task::yield_now().await;
    drop(name);
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
