//! A predicate that wants more than the metadata.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

#[controller(references(Secret, |_| None::<String>, referenced_only, predicates(resized)))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn resized(old: &Secret, new: &Secret) -> bool {
    old.data.is_some() != new.data.is_some()
}

fn main() {
    let _ = reconcile::controller();
}
