//! A closure that can fail stands in `map`.

use std::sync::Arc;

use controller_runtime::{Action, controller, object::ObjectRef};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

#[controller(watches(Secret, map(|secret| secret.metadata.name.as_deref().ok_or("no name").map(ObjectRef::new))))]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
