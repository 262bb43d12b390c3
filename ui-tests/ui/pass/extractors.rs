//! Every extractor, one of the user's own, and errors of every kind.

use std::sync::Arc;

use controller_runtime::{
    Action, controller,
    reconcile::{
        Attempt, Children, Failure, FromReconcile, OrFail, ReconcileError, Reconciler, Recorder, Retry, Run,
        Status,
    },
    store::Store,
};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::Client;

struct App {
    pool: Arc<u8>,
}

struct Pool(Arc<u8>);

impl<R: Reconciler<Context = App>> FromReconcile<R> for Pool {
    fn from_reconcile(run: &Run<R>) -> Self {
        Self(Arc::clone(&run.context().pool))
    }
}

#[controller(
    context = App,
    owns(Secret),
    references(Pod, |config| config.data.clone().unwrap_or_default().into_values().collect::<Vec<_>>(), metadata_only),
    references(Node, |config| config.metadata.name.clone(), referenced_only, predicates(labels)),
    cleanup(release),
    status(conditions),
)]
#[allow(clippy::too_many_arguments)]
async fn reconcile(
    config: Arc<ConfigMap>,
    Pool(pool): Pool,
    client: Client,
    secrets: Store<Secret>,
    pods: Store<kube::core::PartialObjectMeta<Pod>>,
    nodes: Store<Node>,
    children: Children,
    recorder: Recorder,
    status: Status,
    attempt: Attempt,
) -> Result<Action, Failure> {
    let _ = (
        pool, client, secrets, pods, nodes, children, recorder, status, attempt,
    );
    let text = config
        .data
        .as_ref()
        .and_then(|data| data.get("n"))
        .map_or("1", String::as_str);
    let _: u8 = text.parse().permanent("NotANumber")?;
    Ok(Action::await_change())
}

async fn release(_: Arc<ConfigMap>, _: Pool, _: Client) -> Result<(), Own> {
    Err(Own::Later)
}

#[derive(Debug, thiserror::Error, ReconcileErrorDerive)]
enum Own {
    #[error("later")]
    #[retry_after = "5s"]
    Later,
    #[error("never")]
    #[permanent]
    Never,
}

use controller_runtime::ReconcileError as ReconcileErrorDerive;

fn main() {
    let _ = reconcile::controller(App { pool: Arc::new(1) });
    assert_eq!(Own::Never.retry(), Retry::Never);
    assert_eq!(Own::Later.reason(), "Later");
}
