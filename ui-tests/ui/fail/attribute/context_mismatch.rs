//! A context that is not the one the function takes.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

pub struct App;
pub struct Database;

#[controller(context = App)]
async fn reconcile(_object: Arc<ConfigMap>, _database: Arc<Database>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller(App);
    let _ = Database;
}
