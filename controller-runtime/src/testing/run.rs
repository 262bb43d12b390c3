//! What `#[controller_test]` calls: a runtime on virtual time, a cluster in it, the test, and the timeline if it failed.

use std::{fmt::Debug, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;

use super::Cluster;
use crate::{operator::Operator, reconcile::Declared};

/// How the cluster of a test is.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Settings {
    pub(super) seed: u64,
    pub(super) workloads: Option<Duration>,
}

impl Settings {
    /// Seed 0, and workloads stay as written.
    pub fn new() -> Self {
        Self::default()
    }

    /// What everything random follows from: `seed = 7`.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Deployments and their like get Pods, ready after so many milliseconds: `workloads = "1s"`.
    pub fn workloads(mut self, ready_after: u64) -> Self {
        self.workloads = Some(Duration::from_millis(ready_after));
        self
    }
}

/// What a test can start.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be started",
    label = "neither an operator nor a controller",
    note = "start an `Operator`, or what `controller()` of an annotated function gives"
)]
pub trait Startable {
    /// The operator to start.
    fn operator(self) -> Operator;
}

impl Startable for Operator {
    fn operator(self) -> Operator {
        self
    }
}

/// An operator of one controller, named like it.
impl Startable for Declared {
    fn operator(self) -> Operator {
        use crate::declare::Runnable;
        Operator::new(self.declaration().name.clone()).controller(self)
    }
}

/// What a test function can take.
#[diagnostic::on_unimplemented(
    message = "a controller test cannot take `{Self}`",
    label = "expected `Cluster`",
    note = "the parameter of a controller test is its cluster: `cluster: controller_runtime::testing::Cluster`"
)]
pub trait FromCluster {
    /// Takes it.
    fn from_cluster(cluster: Cluster) -> Self;
}

impl FromCluster for Cluster {
    fn from_cluster(cluster: Cluster) -> Self {
        cluster
    }
}

/// What a test function can return.
#[diagnostic::on_unimplemented(
    message = "a controller test cannot return `{Self}`",
    label = "expected nothing, or a `Result<(), Error>`",
    note = "a test fails by a panic or by an `Err`"
)]
pub trait Verdict {
    /// Why it failed, if it did.
    ///
    /// # Errors
    ///
    /// When the test failed.
    fn verdict(self) -> Result<(), String>;
}

impl Verdict for () {
    fn verdict(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Debug> Verdict for Result<(), E> {
    fn verdict(self) -> Result<(), String> {
        self.map_err(|error| format!("the test returned an error: {error:?}"))
    }
}

/// Starts what the attribute names.
pub async fn start(cluster: &Cluster, operator: impl Startable) {
    cluster.start(operator).await;
}

/// Runs a test on a cluster of its own; if it fails, what happened is printed.
///
/// ```
/// use controller_runtime::testing::{Settings, run};
/// use k8s_openapi::api::core::v1::Namespace;
///
/// run(Settings::new(), async |cluster| {
///     cluster.get::<Namespace>("default").await;
///     Ok(())
/// });
/// ```
///
/// # Panics
///
/// When the test does, or returns an error.
pub fn run(settings: Settings, test: impl AsyncFnOnce(Cluster) -> Result<(), String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime for this test: {error}"));
    runtime.block_on(async {
        let cluster = Cluster::new(settings);
        let test = async {
            let result = test(cluster.clone()).await;
            cluster.check_operators(std::panic::Location::caller()).await;
            result
        };
        let ended = AssertUnwindSafe(test).catch_unwind().await;
        if matches!(ended, Ok(Ok(()))) {
            return;
        }
        eprint!("{}", cluster.timeline().await);
        match ended {
            Ok(Err(failure)) => panic!("{failure}"),
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(Ok(())) => {}
        }
    });
}
