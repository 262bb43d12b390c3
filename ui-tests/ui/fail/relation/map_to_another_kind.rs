//! A mapper to another kind than the reconciled one.

use std::sync::Arc;

use controller_runtime::{Action, controller, object::ObjectRef};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};

fn mapper(_: &Secret) -> Option<ObjectRef<Pod>> {
    None
}

#[controller(watches(Secret, map(mapper)))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
