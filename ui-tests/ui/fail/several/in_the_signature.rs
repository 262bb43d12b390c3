//! Three mistakes in the signature.
// mistakes: 3

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

pub struct App;

#[controller]
fn reconcile(_object: &ConfigMap, _ctx: &App) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
