//! A consumer that denies every lint there is (rust-lang/rust#78490, dtolnay/async-trait#276): what is generated passes, and
//! what is the user's is still looked at.
//!
//! The lints stand in `Cargo.toml`; clippy over the workspace is the test.

use std::sync::Arc;

use controller_runtime::{
    Action, controller,
    object::ObjectRef,
    reconcile::{Attempt, Children, Reconciled, Recorder, Status},
    store::Store,
};
use futures::{Stream, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use kube::{
    Client, Resource,
    core::{DynamicObject, PartialObjectMeta},
};

/// What all reconciles share.
#[derive(Clone, Debug)]
pub struct App {
    /// Who is greeted.
    pub whom: String,
}

/// Reconciles with everything that there is.
///
/// # Errors
///
/// Those of the API.
#[controller(
    name = "everything",
    owns(Secret, labels = "app=web", predicates(resource_version)),
    watches(Node, map(of_node), metadata_only),
    watches(ConfigMap, try_map(|_| Err::<Vec<_>, _>("not today"))),
    references(Pod, |account| account.metadata.name.clone(), referenced_only),
    on(never),
    predicates(generation, all(labels, not(annotations))),
    selector(labels = "app=web"),
    config(debounce = "1s", concurrency = 2, timeout = "1m", resync = "1h"),
    backoff(initial = "1s", max = "5m", factor = 2, jitter = 0.1),
    cleanup(release),
    rbac("apps/deployments": get list),
    error =
        /// What can go wrong.
        pub enum Failure {
            /// The API.
            #[error("kubernetes: {0}")]
            Kube(#[from] kube::Error),
            /// The user.
            #[error("invalid {field}")]
            #[permanent]
            Invalid {
                /// Which field.
                field: String,
            },
            /// The printer.
            #[error("busy")]
            #[retry_after = "30s"]
            Busy,
        },
)]
pub async fn everything(
    account: Arc<k8s_openapi::api::core::v1::ServiceAccount>,
    app: Arc<App>,
    pods: Store<Pod>,
    children: Children,
    recorder: Recorder,
    status: Status,
    attempt: Attempt,
) -> Result<Action, Failure> {
    if attempt.is_retry() {
        return Err(Failure::Busy);
    }
    let Some(name) = &account.metadata.name else {
        return Err(Failure::Invalid {
            field: app.whom.clone(),
        });
    };
    children.apply(Vec::<Secret>::new()).await?;
    recorder.normal("Greeted", name).await;
    status.set(pods.len());
    Ok(Action::await_change())
}

fn of_node(node: &PartialObjectMeta<Node>) -> Option<ObjectRef<k8s_openapi::api::core::v1::ServiceAccount>> {
    node.metadata.name.as_deref().map(ObjectRef::new)
}

fn never(_app: Arc<App>) -> impl Stream<Item = ObjectRef<k8s_openapi::api::core::v1::ServiceAccount>> {
    stream::pending()
}

async fn release(
    account: Arc<k8s_openapi::api::core::v1::ServiceAccount>,
    client: Client,
) -> Result<(), kube::Error> {
    let version = client.apiserver_version().await?;
    drop((account, version));
    Ok(())
}

/// Reconciles a kind that the caller chooses.
///
/// # Errors
///
/// Those of the API.
#[controller]
pub async fn of_any_kind<K, const LIMIT: usize>(object: Arc<K>, client: Client) -> Result<Action, kube::Error>
where
    K: Reconciled + Resource<DynamicType = ()>,
{
    if object.meta().managed_fields.iter().len() > LIMIT {
        client.apiserver_version().await?;
    }
    Ok(Action::await_change())
}

/// Reconciles a kind that is known at run time.
///
/// # Errors
///
/// Those of the API.
#[controller(as = Dynamic, cluster, selector(fields = "metadata.name=x"))]
pub async fn dynamic(object: Arc<DynamicObject>, client: Client) -> Result<Action, kube::Error> {
    if object.data.is_object() {
        client.apiserver_version().await?;
    }
    Ok(Action::await_change())
}

/// A module of its own.
pub mod inner {
    use super::{Action, App, Arc, Client, ConfigMap, controller};

    #[controller(name = "inner")]
    pub(crate) async fn reconcile(
        config: Arc<ConfigMap>,
        app: Arc<App>,
        client: Client,
    ) -> Result<Action, kube::Error> {
        if config
            .data
            .as_ref()
            .is_some_and(|data| data.contains_key(&app.whom))
        {
            client.apiserver_version().await?;
        }
        Ok(Action::await_change())
    }
}

/// Everything as one list.
#[must_use]
pub fn all(app: &App) -> Vec<controller_runtime::reconcile::Declared> {
    vec![
        everything::controller(app.clone()),
        of_any_kind::<ConfigMap, 3>::controller(),
        inner::reconcile::controller(app.clone()),
    ]
}
