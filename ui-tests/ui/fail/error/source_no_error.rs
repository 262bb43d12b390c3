//! A source that is no error.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller(
    error = pub enum Failure {
        #[error("failed")]
        Failed(#[source] String),
    },
)]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, Failure> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
