//! The object is of no Kubernetes kind.

use std::sync::Arc;

use controller_runtime::{Action, controller};

#[controller]
async fn reconcile(_object: Arc<String>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
