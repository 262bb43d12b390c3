//! A consumer that knows its dependencies by other names (kube-rs/kube#1215): none of ours may be named in what is
//! generated.

use std::{error::Error, fmt, sync::Arc};

use cluster::{Client, CustomResource, ResourceExt};
use engine::{
    Action, ReconcileError, controller,
    reconcile::{Children, Recorder, Status},
    store::Store,
};
use forms::{Deserialize, Serialize};
use kinds::api::core::v1::{ConfigMap, Node, Secret};
use shapes::JsonSchema;

/// What a page says.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Page",
    namespaced,
    status = "PageStatus"
)]
#[kube(crates(
    kube = "cluster",
    kube_core = "cluster::core",
    k8s_openapi = "kinds",
    schemars = "shapes",
    serde = "forms",
    serde_json = "text"
))]
#[serde(crate = "forms")]
#[schemars(crate = "shapes")]
pub struct PageSpec {
    /// Name of a Secret.
    pub secret: String,
}

/// What became of it.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(crate = "forms")]
#[schemars(crate = "shapes")]
pub struct PageStatus {
    /// Whether it is there.
    pub done: bool,
}

/// Publishes pages.
#[controller(
    crate = engine,
    name = "pages",
    owns(ConfigMap, predicates(resource_version)),
    references(Secret, |page| page.spec.secret.clone(), referenced_only),
    watches(Node, map(|_| None), metadata_only),
    predicates(generation, not(labels)),
    config(debounce = "100ms", concurrency = 4, timeout = "10s", resync = "1h"),
    backoff(initial = "1s", max = "1m", factor = 1.5, jitter = 0.2),
    cleanup(release),
    rbac("apps/deployments": get),
    error =
        /// What can go wrong.
        pub enum PageError {
            /// The API.
            #[error("kubernetes: {0}")]
            Kube(#[from] cluster::Error),
            /// The user.
            #[error("{what} is wrong")]
            #[permanent]
            Wrong {
                /// What is.
                what: String,
            },
            /// The weather.
            #[error(transparent)]
            #[retry_after = "5s"]
            Io(std::io::Error),
        },
)]
pub async fn publish(
    page: Arc<Page>,
    secrets: Store<Secret>,
    children: Children,
    recorder: Recorder,
    status: Status,
) -> Result<Action, PageError> {
    if secrets.get(&page.spec.secret).is_none() {
        return Err(PageError::Wrong {
            what: page.name_any(),
        });
    }
    children.apply(Vec::<ConfigMap>::new()).await?;
    recorder.normal("Published", "it is there").await;
    status.set(PageStatus { done: true });
    Ok(Action::await_change())
}

async fn release(_page: Arc<Page>, _client: Client) -> Result<(), Busy> {
    Err(Busy)
}

/// Somebody reads it.
#[derive(Debug, ReconcileError)]
#[retry_after = "1m"]
#[reconcile_error(crate = engine)]
pub struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("busy")
    }
}

impl Error for Busy {}

#[cfg(test)]
mod tests {
    use engine::declare::Runnable;

    #[test]
    fn the_declaration_is_all_there() {
        let declared = super::publish::controller();
        let declaration = declared.declaration();
        assert_eq!(
            (declaration.name.as_str(), declaration.relations.len()),
            ("pages", 3)
        );
        assert!(declaration.finalizer.is_some());
    }
}
