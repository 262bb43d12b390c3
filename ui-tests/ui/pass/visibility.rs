//! Public functions with private contexts, several controllers in a module, modules of the function's own name.

use std::sync::Arc;

use controller_runtime::{Action, Operator, controller};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

struct App;

mod first {
    use super::*;

    #[controller(name = "one")]
    pub async fn reconcile(_: Arc<ConfigMap>, _: Arc<App>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }

    #[controller(name = "two")]
    pub(crate) async fn another(_: Arc<Secret>, _: Arc<App>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
}

mod reconcile {
    use super::*;

    #[controller(as = Reconcile, name = "three")]
    pub(crate) async fn reconcile(_: Arc<ConfigMap>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
}

use reconcile::{Reconcile, reconcile};

fn main() {
    #[controller(name = "four")]
    async fn local(_: Arc<ConfigMap>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
    let _ = Operator::new("all")
        .controller(first::reconcile::controller(App))
        .controller(first::another::controller(App))
        .controller(Reconcile::controller())
        .controller(local::controller());
    let _ = reconcile;
}
