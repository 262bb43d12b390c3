//! All objects, and those that a function names.

use std::sync::Arc;

use controller_runtime::{Action, controller, object::ObjectRef};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

fn of_secret(_secret: &Secret) -> Option<ObjectRef<ConfigMap>> {
    None
}

#[controller(watches(Secret, map(of_secret), all))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
    let _ = of_secret;
}
