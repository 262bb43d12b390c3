//! A store of a kind that is not watched.

use std::sync::Arc;

use controller_runtime::{Action, controller, store::Store};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

#[controller]
async fn reconcile(_object: Arc<ConfigMap>, _secrets: Store<Secret>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
