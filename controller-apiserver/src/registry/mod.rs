//! Which resources are served, and the rules each follows.
//!
//! Built-in kinds come from one table (`data/resources.txt`), custom ones from the
//! `CustomResourceDefinition`s that are stored. A [`Resource`] is one version of one resource.

mod builtin;
pub(crate) mod convert;
pub(crate) mod custom;
pub(crate) mod names;
mod version;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use custom::{Custom, ScalePaths};
pub(crate) use names::NameRule;
pub(crate) use version::by_priority;

use crate::status::Named;
use crate::table::Columns;

/// One resource in one version, as it is served.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) rules: Rules,
    /// Where its objects are stored; several versions, and sometimes groups, share one place.
    pub(crate) collection: Arc<str>,
    /// What a definition says of it; `None` for built-in kinds.
    pub(crate) custom: Option<Arc<Custom>>,
}

/// A path under an object.
#[derive(Clone, Debug)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    pub(crate) verbs: Vec<String>,
    /// Group, version and kind of its body, where it is not the resource's own.
    pub(crate) kind: Option<(String, String, String)>,
}

/// How the registry of a kind behaves; the API server calls this its *strategy*.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent answers, each read by name"
)]
pub(crate) struct Rules {
    /// PUT to a name that is not there creates the object.
    pub(crate) put_creates: bool,
    /// PUT must carry a resourceVersion.
    pub(crate) needs_version: bool,
    /// Objects have a generation.
    pub(crate) generation: bool,
    /// DELETE answers with the object, not with a `Status`.
    pub(crate) returns_deleted: bool,
    /// What names may look like.
    pub(crate) names: NameRule,
}

impl Resource {
    /// `v1`, `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The resource as errors name it: `deployments.apps`.
    pub(crate) fn named(&self) -> Named {
        Named::new(&*self.group, &*self.plural)
    }

    /// The kind as errors name it: `Deployment.apps`.
    ///
    /// Events are core objects to their validation, whichever group asks.
    pub(crate) fn named_kind(&self) -> Named {
        let group = if self.is("events.k8s.io", "events") {
            ""
        } else {
            &*self.group
        };
        Named::new(group, &*self.kind)
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    /// Status has its own path, and is not written through the object's.
    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Objects are answered and never stored, as those of access reviews.
    pub(crate) fn is_virtual(&self) -> bool {
        !self.verbs.iter().any(|verb| verb == "get")
    }

    /// How its objects are printed.
    pub(crate) fn columns(&self) -> Columns {
        match &self.custom {
            Some(custom) => custom.columns.clone(),
            None => Columns::builtin(&self.group, &self.kind),
        }
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// The definitions of custom resources.
    pub(crate) fn is_definition(&self) -> bool {
        self.is("apiextensions.k8s.io", "customresourcedefinitions")
    }

    /// What a definition says of this version, if it is not the one that is stored.
    pub(crate) fn other_version(&self) -> Option<&Custom> {
        self.custom
            .as_deref()
            .filter(|custom| custom.storage_version != self.version)
    }

    /// A built-in resource of this group and name.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.custom.is_none() && self.group == group && self.plural == plural
    }

    /// The key of an object: `namespace/name`, or `name`.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> String {
        if self.namespaced {
            format!("{namespace}/{name}")
        } else {
            name.to_owned()
        }
    }

    /// What all keys in a namespace start with; an empty namespace stands for all.
    pub(crate) fn prefix(&self, namespace: &str) -> String {
        if self.namespaced && !namespace.is_empty() {
            format!("{namespace}/")
        } else {
            String::new()
        }
    }
}

/// `group/version`, or `version` in the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

type Key = (String, String, String);

/// All resources that are served.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// By group, version and plural.
    resources: BTreeMap<Key, Arc<Resource>>,
    /// What each definition serves, by the definition's name.
    definitions: BTreeMap<String, Vec<Key>>,
    /// Counts the changes of what is served.
    generation: u64,
}

impl Registry {
    /// The built-in kinds.
    pub(crate) fn new() -> Self {
        let resources = builtin::all()
            .map(|resource| (key(&resource), Arc::new(resource)))
            .collect();
        Self {
            resources,
            definitions: BTreeMap::new(),
            generation: 0,
        }
    }

    /// Another one after every change: what was derived from the registry under another is stale.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources
            .get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// All resources, by group, version and plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// The resource with this kind, of any version, for owner references and such.
    pub(crate) fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let of_kind = |resource: &&Arc<Resource>| resource.group == group && resource.kind == kind;
        self.all()
            .filter(of_kind)
            .find(|resource| resource.version == version)
            .or_else(|| self.all().find(of_kind))
    }

    /// The versions of a group, most preferred first; `None` if nothing is served there.
    pub(crate) fn versions(&self, group: &str) -> Option<Vec<&str>> {
        let mut versions: Vec<&str> = self
            .all()
            .filter(|resource| resource.group == group)
            .map(|resource| resource.version.as_str())
            .collect();
        versions.sort_by(|a, b| by_priority(a, b));
        versions.dedup();
        (!versions.is_empty()).then_some(versions)
    }

    /// The group is one of the built-in ones.
    pub(crate) fn is_builtin_group(&self, group: &str) -> bool {
        self.all()
            .any(|resource| resource.group == group && !resource.is_custom())
    }

    /// Replaces what a definition serves.
    pub(crate) fn define(&mut self, definition: &str, resources: Vec<Resource>) {
        self.undefine(definition);
        let keys = resources
            .into_iter()
            .map(|resource| {
                let key = key(&resource);
                self.resources.insert(key.clone(), Arc::new(resource));
                key
            })
            .collect();
        self.definitions.insert(definition.to_owned(), keys);
    }

    /// Stops serving what a definition served.
    pub(crate) fn undefine(&mut self, definition: &str) {
        self.generation += 1;
        for key in self.definitions.remove(definition).unwrap_or_default() {
            self.resources.remove(&key);
        }
    }
}

fn key(resource: &Resource) -> Key {
    (
        resource.group.clone(),
        resource.version.clone(),
        resource.plural.clone(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_built_in_kinds_is_whole() {
        let registry = Registry::new();
        let pods = registry.get("", "v1", "pods").unwrap();
        assert_eq!(pods.kind, "Pod");
        assert_eq!(pods.short_names, ["po"]);
        assert!(pods.has_status() && pods.rules.generation && pods.rules.returns_deleted);
        let leases = registry.get("coordination.k8s.io", "v1", "leases").unwrap();
        assert!(leases.rules.put_creates && leases.rules.needs_version && !leases.rules.generation);
        let roles = registry.get("rbac.authorization.k8s.io", "v1", "roles").unwrap();
        assert!(matches!(roles.rules.names, NameRule::Path));
        let events = registry.get("events.k8s.io", "v1", "events").unwrap();
        assert_eq!(
            events.collection,
            registry.get("", "v1", "events").unwrap().collection
        );
        assert_eq!(registry.versions("autoscaling").unwrap(), ["v2", "v1"]);
        assert!(registry.all().count() > 50);
    }
}
