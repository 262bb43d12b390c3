//! Objects that an owner has: put there or put right, and never taken from somebody else.

use std::fmt::Debug;

use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};

/// The child as it is then.
pub(crate) async fn apply<K>(
    client: &Client,
    manager: &str,
    owner: &impl Resource<DynamicType = ()>,
    mut child: K,
) -> kube::Result<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + Serialize + DeserializeOwned,
{
    let name = child.name_any();
    let namespace = child.namespace().or_else(|| owner.meta().namespace.clone());
    let api: Api<K> = Api::namespaced(client.clone(), &namespace.unwrap_or_default());
    let there = api.get_metadata_opt(&name).await?;
    if there.is_some_and(|there| !is_child(&there, owner)) {
        let text = format!("{} {name} belongs to somebody else", K::kind(&()));
        return Err(kube::Error::Service(text.into()));
    }
    child.meta_mut().owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
    let params = PatchParams::apply(manager).force();
    api.patch(&name, &params, &Patch::Apply(child)).await
}

pub(crate) fn is_child(child: &impl Resource, owner: &impl Resource) -> bool {
    let mut owners = child.owner_references().iter();
    owners.any(|reference| Some(&reference.uid) == owner.meta().uid.as_ref())
}
