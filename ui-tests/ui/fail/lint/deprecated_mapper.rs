//! The attribute names what is deprecated.
#![deny(deprecated)]

use std::sync::Arc;

use controller_runtime::{Action, controller, object::ObjectRef};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

#[deprecated = "map by `new`"]
fn old(_: &Secret) -> Option<ObjectRef<ConfigMap>> {
    None
}

#[controller(watches(Secret, map(old)))]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
