//! A field of another kind than the reconciled one.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};

fn names(_: &Pod) -> Option<String> {
    None
}

#[controller(references(Secret, names))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
