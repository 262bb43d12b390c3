//! A field that does not exist, by number.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller(
    error = pub enum Failure {
        #[error("failed: {1}")]
        Failed(String),
    },
)]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, Failure> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
