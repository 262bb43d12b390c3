//! A lifetime in the type of a parameter.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

use std::borrow::Cow;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>, _name: Cow<'_, str>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
