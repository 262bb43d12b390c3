//! Why an operator ended, with the text its user reads.

use std::{io, net::SocketAddr, path::PathBuf};

use super::NoRate;
use crate::{declare::BoxError, leader::Loss};

/// Why an operator ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// The status endpoint's address cannot be bound.
    #[error(
        "cannot listen on {address}: {source}\nchoose another address with --address, port 0 for a free one"
    )]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The bound address could not be written to the file that was asked for.
    #[error("cannot write the bound address to {}: {source}", path.display())]
    AddressFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Neither a kubeconfig nor a service account was found, or one of them cannot be used.
    #[error("no way to the Kubernetes API: {0}\nset KUBECONFIG, or run in a Pod with a service account")]
    Client(#[source] BoxError),
    /// The variables of OpenTelemetry ask for what cannot be done.
    #[error("no way to the OpenTelemetry collector: {0}")]
    Telemetry(String),
    /// There is nothing to run.
    #[error("the operator has no controllers: add one with `Operator::controller`")]
    NoControllers,
    /// Two controllers have one name.
    #[error("two controllers are named {0:?}: give one of them another with `name = \"…\"`")]
    SameName(String),
    /// A kind whose controller writes conditions has no place for them.
    #[error(
        "controller {controller} has `status(conditions)`, but the schema of {kind} has no `status.{field}`: the API server \
         would drop it\nadd `conditions: Vec<Condition>` and `observed_generation: Option<i64>` (in camelCase) to its status type"
    )]
    NoConditions {
        /// Which controller.
        controller: String,
        /// Of which kind.
        kind: String,
        /// What the schema lacks.
        field: &'static str,
    },
    /// The type of a kind has no schema that an API server would take.
    #[error(
        "{kind} makes no CRD: {reason}\nan API server takes one schema for each field: leave `#[serde(tag = …)]` or \
         `#[serde(untagged)]` away, or write the field's schema by hand with `#[schemars(schema_with = \"…\")]`"
    )]
    NoSchema {
        /// The Rust type.
        kind: &'static str,
        /// Each fault with the path of its field, or what the derive macro said, which knows no paths.
        reason: String,
    },
    /// The limit on the rate of requests lets nothing pass.
    #[error("{0}; see --kube-api-qps and --kube-api-burst")]
    NoRate(#[from] NoRate),
    /// A controller ended though nobody asked it to.
    #[error("controller {name} ended: {message}")]
    ControllerEnded {
        /// Which.
        name: String,
        /// Why.
        message: String,
    },
    /// Another process leads now, or this one could not show that it does.
    #[error("leadership lost: {0}")]
    LeadershipLost(#[source] Loss),
    /// Reconciles had not finished when their time for it was over, or at a second signal.
    #[error("stopped before all reconciles had finished; dropped while running: {}", list(.running))]
    Dropped {
        /// The objects whose reconciles did not finish.
        running: Vec<String>,
    },
    /// Signals cannot be waited for.
    #[error("cannot wait for signals: {0}")]
    Signals(#[source] io::Error),
    /// What a command prints could not be written.
    #[error("cannot print: {0}")]
    Print(#[source] io::Error),
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    }
}
