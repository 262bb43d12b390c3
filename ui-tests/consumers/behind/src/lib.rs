//! A consumer that depends on a facade and on nothing else (la10736/rstest#221, rust-lang/futures-rs#2099): neither this
//! project nor kube, serde or schemars are its own dependencies.

use consumer_facade::{
    k8s_openapi::api::core::v1::{ConfigMap, Secret},
    kube,
    runtime::prelude::*,
    schemars, serde, serde_json,
};

/// What a page says.
#[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Page", namespaced)]
#[kube(crates(
    kube = "consumer_facade::kube",
    kube_core = "consumer_facade::kube::core",
    k8s_openapi = "consumer_facade::k8s_openapi",
    schemars = "consumer_facade::schemars",
    serde = "consumer_facade::serde",
    serde_json = "consumer_facade::serde_json"
))]
#[serde(crate = "consumer_facade::serde")]
#[schemars(crate = "consumer_facade::schemars")]
pub struct PageSpec {
    /// Name of a Secret.
    pub secret: String,
}

/// Publishes pages.
#[controller(
    crate = consumer_facade::runtime,
    owns(ConfigMap),
    references(Secret, |page| page.spec.secret.clone()),
    status(conditions),
    error =
        /// What can go wrong.
        pub enum PageError {
            /// The API.
            #[error("kubernetes: {0}")]
            Kube(#[from] kube::Error),
            /// The text.
            #[error("not JSON: {0}")]
            #[permanent]
            Json(#[from] serde_json::Error),
        },
)]
pub async fn publish(
    page: Arc<Page>,
    secrets: Store<Secret>,
    children: Children,
) -> Result<Action, PageError> {
    let _: serde_json::Value = serde_json::from_str(&page.spec.secret)?;
    let _ = secrets.get(&page.spec.secret);
    children.apply(Vec::<ConfigMap>::new()).await?;
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use consumer_facade::runtime::declare::Runnable;

    #[test]
    fn the_declaration_is_all_there() {
        let declared = super::publish::controller();
        assert_eq!(declared.declaration().name, "page-controller");
        assert!(declared.declaration().conditions);
    }
}
