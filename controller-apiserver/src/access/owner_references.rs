//! The admission check `OwnerReferencesPermissionEnforcement`, off on most clusters and on in some.
//!
//! Kubernetes documentation, "Admission Control": whoever sets owner references must be allowed to
//! delete the object, and whoever sets `blockOwnerDeletion` must be allowed to update the
//! `finalizers` subresource of the owner. Operators whose roles lack the latter work everywhere but
//! there (kubernetes-sigs/kubebuilder#1654).

use super::{Attributes, ResourceTarget, User};
use serde::Deserialize;
use serde_json::Value;

/// A create, update or patch of an object, not of one of its subresources.
#[derive(Clone, Copy, Debug)]
pub struct OwnedWrite<'a> {
    /// Who writes.
    pub user: &'a User,
    /// What is written.
    pub target: &'a ResourceTarget,
    /// What is stored; `None` for a creation.
    pub old: Option<&'a Value>,
    /// What would be stored.
    pub new: &'a Value,
}

/// The resource of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// API group.
    pub group: String,
    /// Plural name.
    pub resource: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OwnerReference {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
    block_owner_deletion: Option<bool>,
}

impl OwnedWrite<'_> {
    /// `Ok`, or why the write is forbidden (403 of the written object). `allowed` asks the authorizer,
    /// `mapping` finds the resource of an apiVersion and kind.
    ///
    /// # Errors
    /// The sentence of the real admission plugin.
    pub fn check(
        &self,
        mut allowed: impl FnMut(&Attributes) -> bool,
        mapping: impl Fn(&str, &str) -> Option<Mapping>,
    ) -> Result<(), String> {
        if self.user.is_master() {
            return Ok(());
        }
        let (old, new) = (self.old.map(references).unwrap_or_default(), references(self.new));
        if old == new {
            return Ok(());
        }
        let delete = Attributes::resource("delete", self.target.clone());
        if !allowed(&delete) {
            return Err("cannot set an ownerRef on a resource you can't delete: , <nil>".to_owned());
        }
        let blocking = |reference: &&OwnerReference| reference.block_owner_deletion == Some(true);
        let newly = new.iter().filter(blocking).filter(|reference| {
            !old.iter()
                .filter(blocking)
                .any(|known| known.uid == reference.uid)
        });
        for reference in newly {
            let Some(owner) = mapping(&reference.api_version, &reference.kind) else {
                return Err(format!(
                    "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {} \
                     Kind {}: no matches for kind {:?} in version {:?}",
                    reference.api_version, reference.kind, reference.kind, reference.api_version,
                ));
            };
            if !allowed(&self.finalizers(owner, &reference.name)) {
                return Err(
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't \
                            set finalizers on: , <nil>"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    fn finalizers(&self, owner: Mapping, name: &str) -> Attributes {
        let namespace = if owner.namespaced {
            self.target.namespace.clone()
        } else {
            String::new()
        };
        let target = ResourceTarget {
            group: owner.group,
            resource: owner.resource,
            subresource: "finalizers".to_owned(),
            namespace,
            name: name.to_owned(),
            ..ResourceTarget::default()
        };
        Attributes::resource("update", target)
    }
}

fn references(object: &Value) -> Vec<OwnerReference> {
    let list = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|item| OwnerReference::deserialize(item).unwrap_or_default())
        .collect()
}
