//! From objects to a server: created, changed or left as they are, each refusal with the server's own words.

use std::collections::HashMap;

use kube::{
    Client,
    api::{Api, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
    discovery::{Scope, pinned_kind},
};

use super::{Manifest, Problem};

/// Whom the server shows as the writer of what we apply.
pub(crate) const FIELD_MANAGER: &str = "cargo-controller";

/// What applying one object did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Created,
    Changed,
    Unchanged,
}

/// Applies objects to one server, and remembers how it names their kinds.
pub(crate) struct Applier {
    client: Client,
    kinds: HashMap<GroupVersionKind, (ApiResource, Scope)>,
}

impl Applier {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            kinds: HashMap::new(),
        }
    }

    /// Server-side apply, by force: the files are the truth of a development session.
    pub(crate) async fn apply(&mut self, manifest: &Manifest) -> Result<Outcome, Problem> {
        let api = self.api(manifest).await?;
        let problem = |error: &kube::Error| refusal(manifest, error);
        let before = api.get_opt(&manifest.name).await.map_err(|e| problem(&e))?;
        let object = object(manifest)?;
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let after = match api.patch(&manifest.name, &params, &Patch::Apply(&object)).await {
            Err(error) if is_unsupported(&error) => {
                self.create_or_merge(&api, manifest, &object, before.is_some())
                    .await
            }
            answer => answer,
        }
        .map_err(|e| problem(&e))?;
        Ok(match before {
            None => Outcome::Created,
            Some(before) if before.metadata.resource_version == after.metadata.resource_version => {
                Outcome::Unchanged
            }
            Some(_) => Outcome::Changed,
        })
    }

    /// Deletes an object that is no longer in the files. One that is gone already is no problem.
    pub(crate) async fn delete(&mut self, manifest: &Manifest) -> Result<(), Problem> {
        let api = self.api(manifest).await?;
        match api
            .delete(&manifest.name, &kube::api::DeleteParams::default())
            .await
        {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(refusal(manifest, &error)),
        }
    }

    /// The way of a server without server-side apply.
    async fn create_or_merge(
        &self,
        api: &Api<DynamicObject>,
        manifest: &Manifest,
        object: &DynamicObject,
        exists: bool,
    ) -> Result<DynamicObject, kube::Error> {
        if exists {
            let params = PatchParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PatchParams::default()
            };
            return api.patch(&manifest.name, &params, &Patch::Merge(object)).await;
        }
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        api.create(&params, object).await
    }

    async fn api(&mut self, manifest: &Manifest) -> Result<Api<DynamicObject>, Problem> {
        let (resource, scope) = self.kind(manifest).await?;
        Ok(match (scope, &manifest.namespace) {
            (Scope::Cluster, _) => Api::all_with(self.client.clone(), &resource),
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            (Scope::Namespaced, None) => Api::namespaced_with(self.client.clone(), "default", &resource),
        })
    }

    async fn kind(&mut self, manifest: &Manifest) -> Result<(ApiResource, Scope), Problem> {
        let (group, version) = manifest
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &manifest.api_version));
        let gvk = GroupVersionKind::gvk(group, version, &manifest.kind);
        if let Some(known) = self.kinds.get(&gvk) {
            return Ok(known.clone());
        }
        let (resource, capabilities) =
            pinned_kind(&self.client, &gvk)
                .await
                .map_err(|error| match error {
                    kube::Error::Discovery(_) => unknown_kind(manifest),
                    kube::Error::Api(status) if status.code == 404 => unknown_kind(manifest),
                    error => refusal(manifest, &error),
                })?;
        let known = (resource, capabilities.scope);
        self.kinds.insert(gvk, known.clone());
        Ok(known)
    }
}

fn is_unsupported(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 415)
}

fn unknown_kind(manifest: &Manifest) -> Problem {
    Problem {
        place: manifest.place.clone(),
        object: Some(manifest.title()),
        text: format!(
            "the server knows no kind {} in {}: is its CRD among those the operator's `crds` command prints, or in an earlier file?",
            manifest.kind, manifest.api_version
        ),
    }
}

/// The server's message, once; kube's own text would repeat the whole Status.
fn refusal(manifest: &Manifest, error: &kube::Error) -> Problem {
    let text = match error {
        kube::Error::Api(status) if !status.message.is_empty() => {
            format!("refused by the server: {} ({})", status.message, status.reason)
        }
        kube::Error::Api(status) => format!("refused by the server with code {}", status.code),
        error => error.to_string(),
    };
    Problem {
        place: manifest.place.clone(),
        object: Some(manifest.title()),
        text,
    }
}

fn object(manifest: &Manifest) -> Result<DynamicObject, Problem> {
    serde_json::from_value(manifest.object.clone()).map_err(|error| Problem {
        place: manifest.place.clone(),
        object: Some(manifest.title()),
        text: format!("metadata is not as Kubernetes wants it: {error}"),
    })
}
