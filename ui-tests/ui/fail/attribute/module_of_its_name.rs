//! The module of the function has its name, and both are wanted: `as = Name` was needed.

mod reconcile {
    use std::sync::Arc;

    use controller_runtime::{Action, controller};
    use k8s_openapi::api::core::v1::ConfigMap;

    #[controller]
    pub async fn reconcile(_object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
}

use reconcile::reconcile;

fn main() {
    let _ = reconcile;
}
