//! A mapper that can fail stands in `map`: its failure would look like nothing.

use std::sync::Arc;

use controller_runtime::{Action, controller, object::ObjectRef};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

fn owner(secret: &Secret) -> Result<ObjectRef<ConfigMap>, &'static str> {
    let name = secret.metadata.name.as_deref().ok_or("no name")?;
    Ok(ObjectRef::new(name))
}

#[controller(watches(Secret, map(owner)))]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
