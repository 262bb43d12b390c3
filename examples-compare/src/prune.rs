//! Children that an owner is not to have any more.

use std::fmt::Debug;

use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams},
    core::{NamespaceResourceScope, PartialObjectMeta},
};
use serde::de::DeserializeOwned;

use crate::children::is_child;

/// Deletes the children of a kind in these namespaces but those to keep.
pub(crate) async fn prune<K>(
    client: &Client,
    all: &Api<K>,
    owner: &impl Resource,
    keep: impl Fn(&PartialObjectMeta<K>) -> bool,
) -> kube::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned,
{
    for child in all.list_metadata(&ListParams::default()).await? {
        if !is_child(&child, owner) || keep(&child) {
            continue;
        }
        let namespace = child.namespace().unwrap_or_default();
        let api: Api<K> = Api::namespaced(client.clone(), &namespace);
        match api.delete(&child.name_any(), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            result => drop(result?),
        }
    }
    Ok(())
}
