//! A function that makes another context.

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

pub struct App;
pub struct Database;

async fn connect(_: &kube::Client) -> Result<Database, kube::Error> {
    Ok(Database)
}

#[controller]
async fn reconcile(_object: Arc<ConfigMap>, _ctx: Arc<App>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller(connect);
    let _ = App;
}
