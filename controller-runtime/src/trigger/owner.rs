//! A change of an owned object wakes its owners.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{Request, related};
use crate::{
    object::{Object, ObjectRef},
    store::{Cache, Delta, key_of},
};

/// The requests for the owners of an object before and after the change, each owner once.
///
/// - Group and kind must be those of the primary; the version may be yesterday's.
/// - The owner is found by its uid among the primaries, and the key's scope is the owner's own: the owner of a
///   namespaced object may be cluster-scoped.
/// - All owners are woken, whether or not they are marked as the controller.
/// - An owner that is not (any more, or yet) among the primaries needs no waking: its own coming or going does that.
pub fn owner<T: Object, K: Object>(
    delta: &Delta<T>,
    primaries: &(impl Cache<K> + ?Sized),
    dyntype: &K::DynamicType,
) -> Vec<Request<K>> {
    let mut requests: Vec<Request<K>> = Vec::new();
    for object in delta.old.iter().chain(&delta.new) {
        let meta = object.meta();
        for reference in meta.owner_references.iter().flatten() {
            if requests
                .iter()
                .any(|known| known.uid.as_ref() == Some(&reference.uid))
            {
                continue;
            }
            if let Some(key) = find(reference, meta.namespace.as_deref(), primaries, dyntype) {
                let mut request = related(delta, key);
                request.uid = Some(reference.uid.clone());
                requests.push(request);
            }
        }
    }
    requests
}

/// The owners of one object.
pub(crate) fn owners<K: Object>(
    meta: &ObjectMeta,
    primaries: &(impl Cache<K> + ?Sized),
    dyntype: &K::DynamicType,
) -> impl Iterator<Item = ObjectRef<K>> {
    let references = meta.owner_references.iter().flatten();
    references.filter_map(|reference| find(reference, meta.namespace.as_deref(), primaries, dyntype))
}

fn find<K: Object>(
    reference: &OwnerReference,
    namespace: Option<&str>,
    primaries: &(impl Cache<K> + ?Sized),
    dyntype: &K::DynamicType,
) -> Option<ObjectRef<K>> {
    let group = reference
        .api_version
        .split_once('/')
        .map_or("", |(group, _version)| group);
    if reference.kind != K::kind(dyntype) || group != K::group(dyntype) {
        return None;
    }
    let owner = primaries.find_owner(&reference.uid, namespace, &reference.name, dyntype)?;
    let key = key_of(&*owner, dyntype);
    if key.namespace.is_some() && key.namespace.as_deref() != namespace {
        tracing::warn!(
            owner = %key,
            owned.namespace = namespace,
            "an owner reference points into another namespace, which Kubernetes forbids; it wakes nobody"
        );
        return None;
    }
    Some(key)
}
