//! Constants and statics of every name that generated code could want.
#![allow(non_upper_case_globals, dead_code)]

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

const run: u8 = 0;
static context: u8 = 0;
const kind: u8 = 0;
static object: u8 = 0;
const f: u8 = 0;
static source: u8 = 0;

struct App {
    name: String,
}

#[controller(error = enum Failure {
    #[error("{a}")]
    Named { #[from]
        a: std::num::ParseIntError },
})]
async fn reconcile(mut config: Arc<ConfigMap>, app: Arc<App>) -> Result<Action, Failure> {
    Arc::make_mut(&mut config).data = None;
    let _: u8 = app.name.parse()?;
    Ok(Action::await_change())
}

fn main() {
    let _ = reconcile::controller(App { name: "1".to_owned() });
}
