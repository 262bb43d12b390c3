//! Everything may be there, or not.
#![allow(unexpected_cfgs)]

use std::sync::Arc;

use controller_runtime::{Action, controller, declare::Runnable};
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

/// The attribute itself is of one form or of another.
#[cfg_attr(never, controller(name = "never", owns(DoesNotExist)))]
#[cfg_attr(not(never), controller(name = "always"))]
async fn either(_: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

/// Below the attribute, by way of another one.
#[controller(owns(DoesNotExist))]
#[cfg_attr(all(), cfg(never))]
async fn indirect(_: Arc<DoesNotExist>) -> Result<Action, Nothing> {
    nothing()
}

fn main() {
    let _ = reconcile::controller();
    assert_eq!(either::controller().declaration().name, "always");
}
