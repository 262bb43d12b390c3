//! A context of another type.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

pub struct App;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>, _ctx: Arc<App>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller("app");
}
