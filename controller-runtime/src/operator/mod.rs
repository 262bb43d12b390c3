//! A whole operator: controllers, their CRDs, and the command line around them.
//!
//! ```no_run
//! # use controller_runtime::{Operator, declare::Runnable};
//! # fn controller() -> Box<dyn Runnable> { unreachable!() }
//! #[tokio::main]
//! async fn main() -> controller_runtime::Result<()> {
//!     Operator::new("documents").controller(controller()).main().await
//! }
//! ```
//!
//! gives a program with the commands `run` (the default), `crds`, `rbac`, `manifests` and `graph`. What `run` promises:
//!
//! - The status endpoint is bound before anything else, and tells the truth from then on.
//! - The first SIGTERM or Ctrl-C turns readiness red, starts nothing new and lets running reconciles finish; the second drops
//!   them and names them.
//! - A controller that ends though nobody asked it to ends the process with an error, or is started again: the deployer's choice.
//!
//! Not promised: that a kind the API server does not know ends the process. It is said, and waited for.

mod candidate;
#[cfg(feature = "cli")]
mod cli;
mod client;
mod crds;
#[cfg(test)]
mod crds_tests;
mod default_value;
mod definition;
mod error;
#[cfg(test)]
mod field_tests;
mod manifests;
#[cfg(test)]
mod manifests_tests;
mod options;
mod people;
mod pod;
mod rate;
#[cfg(test)]
mod rights_tests;
mod run;
mod running;
mod schema;
#[cfg(test)]
mod schema_tests;
#[cfg(feature = "cli")]
mod signals;
mod stop;
mod structural;
#[cfg(feature = "cli")]
mod telemetry;
#[cfg(test)]
#[cfg(feature = "otel")]
mod telemetry_tests;
#[cfg(test)]
mod tests;
mod workload;

use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use candidate::ElectionOptions;
pub use error::OperatorError;
pub use manifests::ManifestOptions;
pub use options::{RunOptions, WhenEnded};
pub use pod::OwnPod;
pub use rate::{NoRate, RateLimit};
pub use stop::Stop;

use crate::declare::{Declaration, Runnable};

/// Controllers, the CRDs they need, and a command line.
#[must_use = "an operator does nothing until `main` or `run`"]
pub struct Operator {
    name: String,
    version: String,
    crds: Vec<CustomResourceDefinition>,
    crd_warnings: Vec<String>,
    /// Why a kind has no definition. Told when it is first needed, because a builder cannot fail.
    undefined: Option<definition::Undefined>,
    controllers: Vec<Box<dyn Runnable>>,
    concurrency: Option<u16>,
}

impl Operator {
    /// An operator without controllers. The name is that of the program for people: in logs, on the status endpoint.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: "unknown".to_owned(),
            crds: Vec::new(),
            crd_warnings: Vec::new(),
            undefined: None,
            controllers: Vec::new(),
            concurrency: None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of the program, for metrics; usually `env!("CARGO_PKG_VERSION")`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// The operator brings this kind: `crds` prints it.
    ///
    /// A type that makes no schema which an API server would take (an enum with `#[serde(tag = "…")]`, say) is an error of every
    /// command, [`run`](Self::run) among them. Where the schema says less than the type (of a flattened map, say),
    /// [`crd_warnings`](Self::crd_warnings) tells. `deny_unknown_fields` is not told: an API server drops what the schema does not know.
    pub fn crd<K: CustomResourceExt>(mut self) -> Self {
        match definition::of::<K>() {
            Ok((crd, warnings)) => {
                self.crds.push(crd);
                self.crd_warnings.extend(warnings);
            }
            Err(undefined) => self.undefined = self.undefined.or(Some(undefined)),
        }
        self
    }

    /// The operator runs this controller.
    pub fn controller(mut self, controller: impl Runnable + 'static) -> Self {
        self.controllers.push(Box::new(controller));
        self
    }

    /// All controllers together run at most so many reconciles at once; each keeps its own limit besides.
    pub fn concurrency(mut self, reconciles: u16) -> Self {
        self.concurrency = Some(reconciles);
        self
    }

    /// What its controllers are, in the order they were given.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.controllers.iter().map(Runnable::declaration)
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator")
            .field("name", &self.name)
            .field(
                "controllers",
                &self.declarations().map(|d| &d.name).collect::<Vec<_>>(),
            )
            .finish_non_exhaustive()
    }
}
