//! A store of a type that is no kind.

use std::sync::Arc;

use controller_runtime::{Action, controller, store::Store};
use k8s_openapi::api::core::v1::ConfigMap;

struct Page;

#[controller]
async fn reconcile(_object: Arc<ConfigMap>, _pages: Store<Page>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller();
}
