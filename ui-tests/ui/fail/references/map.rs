//! A mapper where a field is expected.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

fn names(_: &ConfigMap) -> Option<String> {
    None
}

#[controller(references(Secret, names, map(names)))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
