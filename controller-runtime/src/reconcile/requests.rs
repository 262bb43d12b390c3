//! Requests about the reconciled object, of any kind and scope.

use kube::{
    Client,
    api::{ListParams, ObjectMeta},
    core::{ObjectList, Request},
};
use serde_json::Value;

use crate::object::Object;

/// Reads and patches one kind as one field manager.
#[derive(Clone)]
pub(super) struct Requests<K: Object> {
    client: Client,
    kind: K::DynamicType,
    manager: String,
}

impl<K: Object> Requests<K> {
    pub(super) fn new(client: Client, kind: K::DynamicType, manager: String) -> Self {
        Self {
            client,
            kind,
            manager,
        }
    }

    /// The object as the server has it now, after a write that has `lost` a race.
    ///
    /// # Errors
    /// `lost`, when the object is not found, or another one has its name: a read may be old, so that is no proof. If it is
    /// gone, the next run finds that.
    pub(super) async fn reread(&self, meta: &ObjectMeta, lost: kube::Error) -> Result<K, kube::Error> {
        let name = meta.name.as_deref().unwrap_or_default();
        let request = Request::new(K::url_path(&self.kind, meta.namespace.as_deref())).list(&by_name(name));
        let request = request.map_err(kube::Error::BuildRequest)?;
        let found: ObjectList<K> = self.client.request(request).await?;
        let mut found = found.items.into_iter();
        found.find(|object| object.meta().uid == meta.uid).ok_or(lost)
    }

    /// A JSON patch of the object: nothing is changed unless all its tests hold.
    pub(super) async fn json_patch(&self, meta: &ObjectMeta, patch: &Value) -> Result<K, kube::Error> {
        self.patch(meta, "", "application/json-patch+json", patch).await
    }

    /// A merge patch of the object's status.
    pub(super) async fn merge_status(&self, meta: &ObjectMeta, patch: &Value) -> Result<K, kube::Error> {
        self.patch(meta, "/status", "application/merge-patch+json", patch)
            .await
    }

    async fn patch(
        &self,
        meta: &ObjectMeta,
        below: &str,
        media: &str,
        patch: &Value,
    ) -> Result<K, kube::Error> {
        let collection = K::url_path(&self.kind, meta.namespace.as_deref());
        let name = meta.name.as_deref().unwrap_or_default();
        let uri = format!("{collection}/{name}{below}?fieldManager={}", self.manager);
        let request = http::Request::patch(uri)
            .header(http::header::ACCEPT, "application/json")
            .header(http::header::CONTENT_TYPE, media)
            .body(patch.to_string().into_bytes())
            .map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }
}

/// A list of the object of this name, rather than a get, which would be one more right to ask for.
pub(super) fn by_name(name: &str) -> ListParams {
    ListParams::default().fields(&format!("metadata.name={name}"))
}

/// The object changed, or is gone, since it was read.
pub(super) fn is_lost_race(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 409 | 422))
}

/// The object is gone.
pub(super) fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
