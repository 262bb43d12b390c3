//! A context that threads cannot share.

use std::{cell::Cell, sync::Arc};

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

struct App {
    runs: Cell<u32>,
}

#[controller]
async fn reconcile(object: Arc<ConfigMap>, app: Arc<App>) -> Result<Action, kube::Error> {
    let _ = (object, app);
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller(App { runs: Cell::new(0) });
}
