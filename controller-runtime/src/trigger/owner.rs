//! A change of an owned object wakes its owners.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

use super::{Request, related};
use crate::{
    object::{Object, ObjectRef},
    store::{Delta, Store},
};

/// Finds a primary that an owner reference means.
///
/// Implemented for [`Store`]; a controller over another cache gives a function of uid, namespace and name.
pub trait Owners<K: Object> {
    /// The primary of that uid; `namespace` (of the owned object) and `name` say where it must be.
    fn owner(&self, uid: &str, namespace: Option<&str>, name: &str) -> Option<ObjectRef<K>>;
    /// The type of the primaries.
    fn dyntype(&self) -> &K::DynamicType;
}

impl<K: Object> Owners<K> for Store<K> {
    fn owner(&self, uid: &str, namespace: Option<&str>, name: &str) -> Option<ObjectRef<K>> {
        let owner = self.peek_uid(uid)?;
        let found = self.key_of(&owner);
        if found.namespace.is_some() && found.namespace.as_deref() != namespace {
            tracing::warn!(
                owner = %found,
                owned.namespace = namespace,
                "an owner reference points into another namespace, which Kubernetes forbids; it wakes nobody"
            );
            return None;
        }
        (found.name == name).then_some(found)
    }

    fn dyntype(&self) -> &K::DynamicType {
        self.dyntype()
    }
}

/// The requests for the owners of an object before and after the change, each owner once.
///
/// - Group and kind must be those of the primary; the version may be yesterday's.
/// - The owner is found by its uid among the primaries, and the key's scope is the owner's own: the owner of a
///   namespaced object may be cluster-scoped.
/// - All owners are woken, whether or not they are marked as the controller.
/// - An owner that is not (any more, or yet) among the primaries needs no waking: its own coming or going does that.
pub fn owner<T: Object, K: Object>(
    delta: &Delta<T>,
    primaries: &(impl Owners<K> + ?Sized),
) -> Vec<Request<K>> {
    let mut requests: Vec<Request<K>> = Vec::new();
    for object in delta.old.iter().chain(&delta.new) {
        let meta = object.meta();
        for reference in meta.owner_references.iter().flatten() {
            if !is_kind::<K>(reference, primaries.dyntype()) {
                continue;
            }
            let Some(key) = primaries.owner(&reference.uid, meta.namespace.as_deref(), &reference.name)
            else {
                continue;
            };
            if requests.iter().all(|request| request.key != key) {
                let mut request = related(delta, key);
                request.uid = Some(reference.uid.clone());
                requests.push(request);
            }
        }
    }
    requests
}

fn is_kind<K: Resource>(reference: &OwnerReference, dyntype: &K::DynamicType) -> bool {
    let group = reference
        .api_version
        .split_once('/')
        .map_or("", |(group, _version)| group);
    reference.kind == K::kind(dyntype) && group == K::group(dyntype)
}
