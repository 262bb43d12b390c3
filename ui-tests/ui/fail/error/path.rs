//! A type that exists already.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[derive(Debug, thiserror::Error)]
#[error("failed")]
pub struct Failure;

impl controller_runtime::reconcile::ReconcileError for Failure {}

#[controller(
    error = Failure,
)]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, Failure> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
