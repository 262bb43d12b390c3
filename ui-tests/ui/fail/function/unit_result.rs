//! A result that does not say when to run next.

use std::sync::Arc;

use controller_runtime::controller;
use k8s_openapi::api::core::v1::ConfigMap;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>) -> Result<(), kube::Error> {
    Ok(())
}

fn main() {
    let _ = reconcile::controller();
}
