//! The function is a method.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

pub struct App;

impl App {
    #[controller]
    pub async fn reconcile(&self, _object: Arc<ConfigMap>) -> Result<Action, kube::Error> {
        Ok(Action::await_change())
    }
}

fn main() {}
