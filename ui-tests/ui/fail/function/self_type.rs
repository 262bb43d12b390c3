//! The function stands in an `impl` and names `Self`.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

pub struct App;

impl App {
    #[controller]
    pub async fn reconcile(_object: Arc<ConfigMap>, _ctx: Arc<Self>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
}

fn main() {}
