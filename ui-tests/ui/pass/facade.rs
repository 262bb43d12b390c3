//! The runtime is reached only through another crate's re-export.

use std::sync::Arc;

mod facade {
    pub use controller_runtime as runtime;
}

use facade::runtime::{Action, controller};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

mod controller_runtime {}

#[controller(
    crate = crate::facade::runtime,
    owns(Secret),
    error = enum Failure {
        #[error("failed")]
        #[retry_after = "1m"]
        Failed,
    },
)]
async fn reconcile(_: Arc<ConfigMap>, _: Arc<u8>) -> Result<Action, Failure> {
    Err(Failure::Failed)
}

#[derive(Debug, thiserror::Error, facade::runtime::ReconcileError)]
#[error("failed")]
#[reconcile_error(crate = facade::runtime)]
struct Derived;

fn main() {
    let _ = reconcile::controller(5_u8);
    let _ = Derived;
}
