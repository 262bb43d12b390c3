//! No object.

use controller_runtime::{Action, controller};

#[controller]
async fn reconcile() -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
