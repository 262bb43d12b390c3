//! The name of the controller.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller(
    as = Failure,
    error = pub enum Failure {
        #[error("failed")]
        Failed,
    },
)]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, Failure> {
    Err(Failure::Failed)
}

fn main() {
    let _ = Failure::controller();
}
