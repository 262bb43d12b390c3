//! Two scopes.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use kube::core::DynamicObject;

#[controller(cluster, namespaced)]
async fn reconcile(_object: Arc<DynamicObject>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {}
