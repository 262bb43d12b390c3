//! A field that cannot be shown.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[derive(Debug)]
pub struct Unshown;

#[controller(
    error = pub enum Failure {
        #[error("failed: {0}")]
        Failed(Unshown),
    },
)]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, Failure> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
