//! Guides, each a page: from a first operator to one in production.
//!
//! Start with [a first operator](first_operator). Every example compiles.

/// The kind, the function, the program.
#[doc = include_str!("../guide/first-operator.md")]
pub mod first_operator {}

/// What is tried again, when, and what never is.
#[doc = include_str!("../guide/errors-and-backoff.md")]
pub mod errors_and_backoff {}

/// The objects that the reconciled one owns: complete sets, written when they differ.
#[doc = include_str!("../guide/children.md")]
pub mod children {}

/// Objects that are named by others, and who runs when they change.
#[doc = include_str!("../guide/references.md")]
pub mod references {}

/// What is done before an object goes.
#[doc = include_str!("../guide/finalizers.md")]
pub mod finalizers {}

/// What an object says of itself.
#[doc = include_str!("../guide/status.md")]
pub mod status {}

/// The function alone, and the whole on virtual time.
#[doc = include_str!("../guide/testing.md")]
pub mod testing {}

/// Several replicas, one at work.
#[doc = include_str!("../guide/leader-election.md")]
pub mod leader_election {}

/// Why an object ran, or did not; and what runs in circles.
#[doc = include_str!("../guide/explain.md")]
pub mod explain {}

/// What the operator tells of itself.
#[doc = include_str!("../guide/metrics.md")]
pub mod metrics {}

/// What each fault of the API server does to probes and metrics, and how soon it is over.
#[doc = include_str!("../guide/faults.md")]
pub mod faults {}

/// Roles that follow from declarations, and their proof.
#[doc = include_str!("../guide/rbac.md")]
pub mod rbac {}

/// Manifests and settings.
#[doc = include_str!("../guide/deploying.md")]
pub mod deploying {}

/// What stays, what changes, and why.
#[doc = include_str!("../guide/from-kube-rs.md")]
pub mod from_kube_rs {}

/// The same terms, side by side.
#[doc = include_str!("../guide/from-controller-runtime.md")]
pub mod from_controller_runtime {}
