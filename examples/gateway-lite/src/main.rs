//! The attachment status of the Gateway API: which Gateways take an `HTTPRoute`, and how many routes a listener has.
//!
//! `cargo run` runs it against the cluster of your kubeconfig, and `cargo controller dev` with no cluster at all.

mod attach;
mod controller;
#[cfg(test)]
mod tests;
mod types;

use controller_runtime::prelude::*;

use crate::controller::{gateways, routes};

#[tokio::main]
async fn main() -> controller_runtime::Result<()> {
    operator().main().await
}

/// What `main` and the tests run. It brings no definitions: those of the Gateway API are the cluster's.
fn operator() -> Operator {
    Operator::new("gateway-lite")
        .controller(gateways::controller())
        .controller(routes::controller())
}
