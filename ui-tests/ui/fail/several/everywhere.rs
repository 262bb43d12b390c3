//! Mistakes in attribute, signature and error.
// mistakes: 7

use std::sync::Arc;

use controller_runtime::{Action, controller};
use k8s_openapi::api::core::v1::ConfigMap;

#[controller(
    predicates(not(), all(labels, generation())),
    backoff(initial = "5m", max = "1m", factor = 0),
    error = pub enum Failure {
        #[error("a {0}")]
        A,
        B,
    },
)]
async fn reconcile<'a>(_object: Arc<ConfigMap>) -> Result<Action, Failure> {
    Err(Failure::A)
}

fn main() {
    let _ = reconcile::controller();
}
