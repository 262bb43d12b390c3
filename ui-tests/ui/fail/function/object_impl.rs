//! The kind of the object has no name.

use std::sync::Arc;

use controller_runtime::{Action, controller};

#[controller]
async fn reconcile(_object: Arc<impl kube::Resource>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
