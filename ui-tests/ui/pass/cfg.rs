//! Everything may be there, or not.
#![allow(unexpected_cfgs)]

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller(error = enum Failure {
    #[error("here")]
    Here,
    #[cfg(never)]
    #[error("not here: {0}")]
    NotHere(#[from] does::not::Exist),
})]
#[cfg(not(never))]
async fn reconcile(_: Arc<ConfigMap>) -> Result<Action, Failure> {
    Err(Failure::Here)
}

#[controller]
#[cfg(never)]
async fn reconcile(_: Arc<DoesNotExist>) -> Result<Action, Nothing> {
    nothing()
}

#[cfg(never)]
#[controller(owns(DoesNotExist))]
async fn other(_: Arc<DoesNotExist>) -> Result<Action, Nothing> {
    nothing()
}

fn main() {
    let _ = reconcile::controller();
}
