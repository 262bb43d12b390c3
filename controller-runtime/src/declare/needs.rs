//! The rights a controller needs, one by one: the table from which RBAC rules and the access check at start are derived.
//!
//! It holds what the runtime itself asks of the API server. What a reconciler does with a client of its own is stated by the user with
//! `rbac(…)` and stands here too.

use serde::Serialize;

use super::{Declaration, RelationKind, Scope, Watched};

/// An Event lives in the namespace of its object; those of objects without one live here.
const EVENTS_OF_CLUSTER_SCOPED: &str = "default";

/// One right, and what it is needed for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Need {
    /// What stops working without it, in the words of the declaration: `owns ConfigMap`, `status`.
    pub reason: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural.
    pub resource: String,
    /// The subresource, if the right is for one.
    pub subresource: Option<String>,
    /// The verb.
    pub verb: String,
    /// Whether the objects live in namespaces, if that is known.
    pub scope: Scope,
    /// The one namespace in which it is needed, whatever is watched; `None` for wherever objects are watched.
    pub namespace: Option<String>,
}

impl Need {
    /// The resource as RBAC writes it: `pods`, `pods/status`.
    pub fn path(&self) -> String {
        match &self.subresource {
            Some(subresource) => format!("{}/{subresource}", self.resource),
            None => self.resource.clone(),
        }
    }

    /// Whoever has this right, in the same place, has the other one.
    pub(super) fn grants(&self, other: &Self) -> bool {
        let right = |need: &Self| (need.group.clone(), need.path(), need.verb.clone());
        right(self) == right(other)
    }
}

impl Declaration {
    /// Every right that this controller needs, in the order in which it will be missed.
    ///
    /// ```
    /// use controller_runtime::declare::{Declaration, Watched};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// let declaration = Declaration::new("janitor", Watched::new::<ConfigMap>(&()));
    /// let verbs: Vec<_> = declaration.needs().into_iter().map(|need| need.verb).collect();
    /// assert_eq!(verbs, ["list", "watch"]);
    /// ```
    pub fn needs(&self) -> Vec<Need> {
        let mut needs = Needs(Vec::new());
        let primary = &self.primary;
        needs.add(primary, None, &["list", "watch"], || {
            format!("reconciles {}", primary.resource.kind)
        });
        for relation in &self.relations {
            let word = match relation.kind {
                RelationKind::Owns => "owns",
                RelationKind::Watches => "watches",
                RelationKind::References => "references",
            };
            let reason = || format!("{word} {}", relation.target.resource.kind);
            needs.add(&relation.target, None, &["list", "watch"], reason);
            if relation.referenced_only {
                needs.add(&relation.target, None, &["get"], reason);
            }
            if relation.kind == RelationKind::Owns && self.uses.children {
                // An apply that makes the object is asked about twice: as a patch and as a creation.
                needs.add(&relation.target, None, &["create", "patch", "delete"], reason);
            }
        }
        if self.uses.children {
            // Owner references with blockOwnerDeletion are refused without it where OwnerReferencesPermissionEnforcement is on.
            needs.add(primary, Some("finalizers"), &["update"], || {
                "owner references of children".to_owned()
            });
        }
        if self.finalizer.is_some() {
            needs.add(primary, None, &["patch"], || {
                "the finalizer of its cleanup".to_owned()
            });
        }
        if self.conditions || self.uses.status {
            needs.add(primary, Some("status"), &["patch"], || "status".to_owned());
        }
        if self.uses.events {
            for verb in ["create", "patch"] {
                needs.0.push(Need {
                    reason: "events".to_owned(),
                    group: "events.k8s.io".to_owned(),
                    resource: "events".to_owned(),
                    subresource: None,
                    verb: verb.to_owned(),
                    scope: Scope::Namespaced,
                    namespace: match primary.scope {
                        Scope::Namespaced => None,
                        Scope::Cluster => Some(EVENTS_OF_CLUSTER_SCOPED.to_owned()),
                    },
                });
            }
        }
        needs.stated(self);
        needs.0
    }
}

struct Needs(Vec<Need>);

impl Needs {
    fn add(&mut self, of: &Watched, subresource: Option<&str>, verbs: &[&str], reason: impl Fn() -> String) {
        self.0.extend(verbs.iter().map(|verb| Need {
            reason: reason(),
            group: of.resource.group.clone(),
            resource: of.resource.plural.clone(),
            subresource: subresource.map(str::to_owned),
            verb: (*verb).to_owned(),
            scope: of.scope,
            namespace: None,
        }));
    }

    /// What the user states. A kind of the wiring has the scope it has there; another is taken to live in namespaces.
    fn stated(&mut self, declaration: &Declaration) {
        let kinds: Vec<_> = declaration.watched().collect();
        for rule in &declaration.rules {
            let (resource, subresource) = match rule.resource.split_once('/') {
                Some((resource, subresource)) => (resource, Some(subresource)),
                None => (rule.resource.as_str(), None),
            };
            let known = kinds
                .iter()
                .find(|kind| kind.resource.group == rule.group && kind.resource.plural == resource);
            let scope = known.map_or(Scope::Namespaced, |kind| kind.scope);
            self.0.extend(rule.verbs.iter().map(|verb| Need {
                reason: "stated by rbac(…)".to_owned(),
                group: rule.group.clone(),
                resource: resource.to_owned(),
                subresource: subresource.map(str::to_owned),
                verb: verb.clone(),
                scope,
                namespace: None,
            }));
        }
    }
}
