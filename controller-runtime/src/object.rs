//! What the pipeline asks of a Kubernetes type.

use std::{fmt::Debug, hash::Hash};

use kube::Resource;
pub use kube::runtime::reflector::ObjectRef;
use serde::de::DeserializeOwned;

/// A type that can be watched, kept in a store and reconciled.
///
/// Every decodable `kube::Resource` is one: typed kinds, `DynamicObject` and `PartialObjectMeta<K>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Kubernetes kind",
    label = "not a kind that can be watched",
    note = "a kind is a type of k8s-openapi, the type that `#[derive(CustomResource)]` makes, `PartialObjectMeta` of one, or `DynamicObject`"
)]
pub trait Object:
    Resource<DynamicType: Clone + Eq + Hash + Debug + Send + Sync + Unpin + 'static>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

#[diagnostic::do_not_recommend]
impl<T> Object for T where
    T: Resource<DynamicType: Clone + Eq + Hash + Debug + Send + Sync + Unpin + 'static>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}
