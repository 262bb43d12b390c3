//! A mapper that cannot fail stands in `try_map`.

use std::sync::Arc;

use controller_runtime::{Action, controller, object::ObjectRef};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

fn owner(secret: &Secret) -> Option<ObjectRef<ConfigMap>> {
    secret.metadata.name.as_deref().map(ObjectRef::new)
}

#[controller(watches(Secret, try_map(owner)))]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
