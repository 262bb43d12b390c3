//! A predicate of the primary on a related kind.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

fn changed(_: &ConfigMap, _: &ConfigMap) -> bool {
    true
}

#[controller(owns(Secret, predicates(changed)))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
