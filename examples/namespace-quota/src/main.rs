//! The operator for NamespaceQuotas.
//!
//! `cargo run` runs it against the cluster of your kubeconfig, `cargo run -- crds` prints its CRD, and
//! `cargo controller dev` runs it with no cluster at all.

mod controller;
#[cfg(test)]
mod tests;
mod types;

use controller_runtime::prelude::*;

use crate::{controller::reconcile, types::NamespaceQuota};

#[tokio::main]
async fn main() -> controller_runtime::Result<()> {
    operator().main().await
}

/// What `main` and the tests run.
fn operator() -> Operator {
    Operator::new("namespace-quotas")
        .crd::<NamespaceQuota>()
        .controller(reconcile::controller())
}
