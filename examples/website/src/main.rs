//! The operator for Websites.
//!
//! `cargo run` runs it against the cluster of your kubeconfig, `cargo run -- crds` prints its CRD, and
//! `cargo controller dev` runs it with no cluster at all.

mod controller;
mod parts;
#[cfg(test)]
mod tests;
mod types;

use controller_runtime::prelude::*;

use crate::{controller::reconcile, types::Website};

#[tokio::main]
async fn main() -> controller_runtime::Result<()> {
    operator().main().await
}

/// What `main` and the tests run.
fn operator() -> Operator {
    Operator::new("websites")
        .crd::<Website>()
        .controller(reconcile::controller())
}
