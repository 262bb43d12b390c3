//! Other attribute macros, above and below: one rewrites the function before ours sees it, one after.

use std::sync::Arc;

use controller_runtime::{Action, controller, declare::Runnable, reconcile::Attempt};
use k8s_openapi::api::core::v1::ConfigMap;
use tracing::instrument;

#[instrument(skip_all)]
#[controller(name = "above")]
async fn above(config: Arc<ConfigMap>, attempt: Attempt) -> Result<Action, kube::Error> {
    let _ = (config, attempt);
    Ok(Action::await_change())
}

#[controller(name = "below")]
#[instrument(skip_all, err, fields(attempt = attempt.number()))]
async fn below(config: Arc<ConfigMap>, attempt: Attempt) -> Result<Action, kube::Error> {
    let _ = (config, attempt);
    Ok(Action::await_change())
}

#[instrument(skip_all, name = "outer")]
#[controller(name = "both", as = Both)]
#[instrument(skip_all, name = "inner")]
async fn both<const N: usize>(config: Arc<ConfigMap>) -> Result<Action, kube::Error> {
    let _ = (config, N);
    Ok(Action::await_change())
}

fn main() {
    let all = [above::controller(), below::controller(), Both::<1>::controller()];
    let names = all.each_ref().map(|declared| declared.declaration().name.clone());
    assert_eq!(names, ["above", "below", "both"]);
}
