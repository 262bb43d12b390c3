//! The `Now` extractor: the time on the wall.

use jiff::Timestamp;

use super::{FromReconcile, Reconciler, Run};

/// The time on the wall when the reconcile began; in a test on virtual time, that of the cluster.
///
/// For times that people read. How long something takes or waits is measured by tokio's clock.
///
/// ```
/// use controller_runtime::prelude::*;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// #[controller]
/// async fn reconcile(map: Arc<ConfigMap>, Now(now): Now) -> Result<Action, kube::Error> {
///     let expired = map.annotations().get("expires").and_then(|at| at.parse().ok()).is_some_and(|at| now > at);
///     assert!(!expired);
///     Ok(Action::requeue(Duration::from_secs(60)))
/// }
/// # fn main() { let _ = reconcile::controller(); }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now(pub Timestamp);

impl<R: Reconciler> FromReconcile<R> for Now {
    fn from_reconcile(run: &Run<R>) -> Self {
        Self(run.shared.origin.wall())
    }
}
