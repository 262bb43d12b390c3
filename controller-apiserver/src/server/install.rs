//! Manifests, put on a server in one call.

use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use serde::Serialize;

use super::Server;

/// Why a manifest is not on the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// It is no object: `apiVersion`, `kind` or a metadata field is missing or of a wrong type.
    #[error("a manifest is no Kubernetes object: {0}")]
    NoObject(#[source] serde_json::Error),
    /// The server has no such kind: the definition of a custom one has to come first.
    #[error(
        "{api_version} {kind} {name:?}: the server does not know this kind; install its definition first"
    )]
    NoKind {
        /// As the manifest has it.
        api_version: String,
        /// As the manifest has it.
        kind: String,
        /// The object's name.
        name: String,
    },
    /// The server refuses it.
    #[error("{kind} {name:?}: {source}")]
    Refused {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// The server's words.
        source: kube::Error,
    },
}

impl Server {
    /// Creates these objects, one after the other, as the administrator: definitions, roles, whatever a test starts from.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// use controller_apiserver::Server;
    /// use serde_json::json;
    ///
    /// let server = Server::new();
    /// let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "operators"}});
    /// server.install([namespace]).await.unwrap();
    /// assert_eq!(server.journal().writes().resource("namespaces").len(), 1);
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InstallError`] tells of the first one that cannot be created; those before it are there.
    pub async fn install(
        &self,
        manifests: impl IntoIterator<Item = impl Serialize>,
    ) -> Result<(), InstallError> {
        for manifest in manifests {
            let manifest = serde_json::to_value(&manifest).map_err(InstallError::NoObject)?;
            let object = serde_json::from_value(manifest).map_err(InstallError::NoObject)?;
            self.install_one(&object).await?;
        }
        Ok(())
    }

    async fn install_one(&self, object: &DynamicObject) -> Result<(), InstallError> {
        let types = object.types.clone().unwrap_or_default();
        let name = object.metadata.name.clone().unwrap_or_default();
        let (group, version) = types
            .api_version
            .split_once('/')
            .unwrap_or(("", &types.api_version));
        let known = {
            let state = self.inner.state();
            let resource = state.registry.by_kind(group, version, &types.kind);
            resource.map(|resource| (resource.plural.clone(), resource.namespaced))
        };
        let Some((plural, namespaced)) = known else {
            return Err(InstallError::NoKind {
                api_version: types.api_version,
                kind: types.kind,
                name,
            });
        };
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: types.api_version.clone(),
            kind: types.kind.clone(),
            plural,
        };
        let api: Api<DynamicObject> = match (&object.metadata.namespace, namespaced) {
            (Some(namespace), true) => Api::namespaced_with(self.client(), namespace, &resource),
            (None, true) => Api::default_namespaced_with(self.client(), &resource),
            (_, false) => Api::all_with(self.client(), &resource),
        };
        match api.create(&PostParams::default(), object).await {
            Ok(_) => Ok(()),
            Err(source) => Err(InstallError::Refused {
                kind: types.kind,
                name,
                source,
            }),
        }
    }
}
