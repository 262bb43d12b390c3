//! The body lets a future go that nobody waits for.
#![deny(unused_must_use)]

use std::sync::Arc;

use controller_runtime::{Action, controller, reconcile::Children};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

#[controller(owns(Secret))]
async fn reconcile(_object: Arc<ConfigMap>, children: Children) -> Result<Action, kube::Error> {
    children.upsert(Secret::default());
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
