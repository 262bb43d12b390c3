//! The operator for Databases.
//!
//! `cargo run` runs it against the cluster of your kubeconfig, `cargo run -- crds` prints its CRD, and
//! `cargo controller dev` runs it with no cluster at all.

mod controller;
mod server;
#[cfg(test)]
mod tests;
mod types;

use controller_runtime::prelude::*;

use crate::{
    controller::reconcile,
    server::{DatabaseServer, FakeServer},
    types::Database,
};

#[tokio::main]
async fn main() -> controller_runtime::Result<()> {
    // In memory. A real one goes here.
    operator(FakeServer::default()).main().await
}

/// What `main` and the tests run, each with a server of its own.
fn operator<S: DatabaseServer>(server: S) -> Operator {
    Operator::new("databases")
        .crd::<Database>()
        .controller(reconcile::<S>::controller(server))
}
