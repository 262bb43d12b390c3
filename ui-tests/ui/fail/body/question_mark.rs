//! An error that does not fit.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _: u8 = "1".parse()?;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
