//! One kind, and which of its objects are watched.

use std::any::TypeId;

use kube::{
    Resource,
    core::{ClusterResourceScope, NamespaceResourceScope},
    discovery::ApiResource,
};
use serde::Serialize;

/// One kind, and which of its objects are watched.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Watched {
    /// Group, version, kind and plural; known at run time for dynamic kinds.
    pub resource: ApiResource,
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// A label selector, as the API server takes it.
    pub labels: Option<String>,
    /// A field selector, as the API server takes it.
    pub fields: Option<String>,
    /// Only metadata is watched; spec and status are not decoded.
    pub metadata_only: bool,
}

impl Watched {
    /// Every object of a kind whose scope is known by its type.
    ///
    /// A dynamic kind is taken to live in namespaces until `scope` is set.
    pub fn new<K>(dyntype: &K::DynamicType) -> Self
    where
        K: Resource<Scope: 'static>,
    {
        let scope = TypeId::of::<K::Scope>();
        Self {
            resource: ApiResource::erase::<K>(dyntype),
            scope: if scope == TypeId::of::<ClusterResourceScope>() {
                Scope::Cluster
            } else {
                debug_assert!(
                    scope == TypeId::of::<NamespaceResourceScope>()
                        || scope == TypeId::of::<kube::core::DynamicResourceScope>(),
                    "a subresource cannot be watched"
                );
                Scope::Namespaced
            },
            labels: None,
            fields: None,
            metadata_only: false,
        }
    }

    /// Which objects, for people: `labels team, fields metadata.name=a`; `None` is all.
    ///
    /// ```
    /// use controller_runtime::declare::Watched;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// let mut watched = Watched::new::<ConfigMap>(&());
    /// assert_eq!(watched.selector(), None);
    /// watched.labels = Some("team".to_owned());
    /// assert_eq!(watched.selector().as_deref(), Some("labels team"));
    /// ```
    pub fn selector(&self) -> Option<String> {
        let labels = self.labels.as_ref().map(|labels| format!("labels {labels}"));
        let fields = self.fields.as_ref().map(|fields| format!("fields {fields}"));
        match (labels, fields) {
            (Some(labels), Some(fields)) => Some(format!("{labels}, {fields}")),
            (labels, fields) => labels.or(fields),
        }
    }
}

/// Whether the objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One object per name and namespace.
    Namespaced,
    /// One object per name.
    Cluster,
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Node};
    use kube::core::PartialObjectMeta;

    use super::*;

    #[test]
    fn the_scope_of_a_static_kind_is_known_by_its_type() {
        assert_eq!(Watched::new::<ConfigMap>(&()).scope, Scope::Namespaced);
        assert_eq!(Watched::new::<Node>(&()).scope, Scope::Cluster);
        assert_eq!(Watched::new::<PartialObjectMeta<Node>>(&()).scope, Scope::Cluster);
    }
}
