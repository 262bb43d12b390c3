//! Keys of another kind.

use std::sync::Arc;

use controller_runtime::{Action, controller, object::ObjectRef};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

fn clock() -> futures::stream::Pending<ObjectRef<Pod>> {
    futures::stream::pending()
}

#[controller(on(clock))]
async fn reconcile(object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = object;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
