//! An error that does not say how it is tried again.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[derive(Debug, thiserror::Error)]
#[error("out of paper")]
pub struct OutOfPaper;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, OutOfPaper> {
    Err(OutOfPaper)
}

fn main() {
    let _ = reconcile::controller();
}
