//! An enum without variants.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller(
    error = pub enum Failure {},
)]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, Failure> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
