//! Roles against the rights that were used: the proof that an operator's RBAC is exact.

use std::{collections::BTreeSet, fmt};

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::rbac::Roles;

/// A right, granted or used: a verb on a resource, in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource with its subresource, as RBAC writes it: `pods/status`.
    pub resource: String,
    /// The verb.
    pub verb: String,
    /// The namespace; empty for cluster-scoped objects and for the whole cluster.
    pub namespace: String,
}

/// What a comparison of roles with used rights found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Audit {
    missing: Vec<String>,
    unused: BTreeSet<String>,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.namespace.is_empty() {
            write!(f, " in {}", self.namespace)?;
        }
        Ok(())
    }
}

impl Roles {
    /// Compares what these roles grant with what was used.
    ///
    /// ```
    /// use controller_runtime::declare::{Declaration, Namespaces, Right, Watched, rbac::roles};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// let declaration = Declaration::new("janitor", Watched::new::<ConfigMap>(&()));
    /// let roles = roles("janitor", "operators", &Namespaces::All, [&declaration]);
    /// let list = Right { group: String::new(), resource: "configmaps".into(), verb: "list".into(), namespace: String::new() };
    /// let audit = roles.audit([list]).unused_ok("watch configmaps", "the example only lists");
    /// assert!(audit.lease_unused_ok().is_exact());
    /// ```
    pub fn audit(&self, used: impl IntoIterator<Item = Right>) -> Audit {
        let grants = self.grants();
        let mut idle: BTreeSet<_> = grants.iter().collect();
        let mut missing = BTreeSet::new();
        for used in used {
            let allows = |grant: &&Right| {
                (grant.namespace.is_empty() || grant.namespace == used.namespace)
                    && (&grant.group, &grant.resource, &grant.verb)
                        == (&used.group, &used.resource, &used.verb)
            };
            match grants.iter().find(allows) {
                Some(grant) => {
                    idle.remove(grant);
                }
                None => {
                    missing.insert(used.to_string());
                }
            }
        }
        Audit {
            missing: missing.into_iter().collect(),
            unused: idle.into_iter().map(ToString::to_string).collect(),
        }
    }

    fn grants(&self) -> BTreeSet<Right> {
        let cluster = self
            .cluster
            .iter()
            .flat_map(|role| expand(role.rules.as_deref(), ""));
        let roles = self.watched.iter().chain([&self.lease]);
        let namespaced = roles.flat_map(|role| {
            let namespace = role.metadata.namespace.as_deref().unwrap_or_default();
            expand(role.rules.as_deref(), namespace)
        });
        cluster.chain(namespaced).collect()
    }
}

fn expand(rules: Option<&[PolicyRule]>, namespace: &str) -> Vec<Right> {
    let mut grants = Vec::new();
    for rule in rules.unwrap_or_default() {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                grants.extend(rule.verbs.iter().map(|verb| Right {
                    group: group.clone(),
                    resource: resource.clone(),
                    verb: verb.clone(),
                    namespace: namespace.to_owned(),
                }));
            }
        }
    }
    grants
}

impl Audit {
    /// Nothing is missing and nothing is unused.
    pub fn is_exact(&self) -> bool {
        self.missing.is_empty() && self.unused.is_empty()
    }

    /// What was used and is not granted, as `verb resource.group in namespace`.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// What is granted and was not used.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        self.unused.iter().map(String::as_str)
    }

    /// Accepts that a right is granted and was not used, for a reason that the reader of the test learns.
    ///
    /// # Panics
    ///
    /// When the right was used, or is not granted: the exception is out of date.
    #[track_caller]
    pub fn unused_ok(mut self, right: &str, reason: &str) -> Self {
        assert!(
            self.unused.remove(right),
            "the exception for {right:?} ({reason}) is out of date: it was used, or is not granted"
        );
        self
    }

    /// Accepts that the lease was not used: the scenario ran without an election.
    pub fn lease_unused_ok(mut self) -> Self {
        self.unused
            .retain(|right| !right.contains(" leases.coordination.k8s.io"));
        self
    }

    /// Fails with a list of what is missing and what is unused.
    ///
    /// # Panics
    ///
    /// When the roles are not exact.
    #[track_caller]
    pub fn assert_exact(&self) {
        assert!(self.is_exact(), "the roles are not exact\n{self}");
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.missing
            .iter()
            .try_for_each(|right| writeln!(f, "missing: {right}"))?;
        self.unused().try_for_each(|right| writeln!(f, "unused: {right}"))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};

    use super::*;
    use crate::declare::{Declaration, Namespaces, RelationDeclaration, RelationKind, Watched, rbac::roles};

    fn used(verb: &str, resource: &str, namespace: &str) -> Right {
        Right {
            group: String::new(),
            resource: resource.to_owned(),
            verb: verb.to_owned(),
            namespace: namespace.to_owned(),
        }
    }

    fn declaration() -> Declaration {
        let mut declaration = Declaration::new("janitor", Watched::new::<ConfigMap>(&()));
        let namespaces = Watched::new::<Namespace>(&());
        declaration.relations = vec![RelationDeclaration::new(RelationKind::Watches, namespaces)];
        declaration
    }

    #[test]
    fn missing_and_unused_are_both_found() {
        let roles = roles("janitor", "operators", &Namespaces::All, [&declaration()]);
        let audit = roles
            .audit([
                used("list", "configmaps", ""),
                used("list", "namespaces", ""),
                used("delete", "configmaps", "a"),
            ])
            .lease_unused_ok();
        assert_eq!(
            audit.to_string(),
            "missing: delete configmaps in a\nunused: watch configmaps\nunused: watch namespaces\n"
        );
    }

    #[test]
    fn a_right_in_one_namespace_is_none_in_another() {
        let only = Namespaces::Only(vec!["a".to_owned()]);
        let roles = roles("janitor", "operators", &only, [&declaration()]);
        let audit = roles.audit([used("list", "configmaps", "b"), used("list", "configmaps", "")]);
        assert_eq!(audit.missing(), ["list configmaps", "list configmaps in b"]);
        assert!(audit.unused().any(|right| right == "list configmaps in a"));
    }

    #[test]
    #[should_panic(expected = "is out of date")]
    fn an_exception_that_is_not_needed_is_told() {
        let roles = roles("janitor", "operators", &Namespaces::All, [&declaration()]);
        let _ = roles
            .audit([used("list", "configmaps", "")])
            .unused_ok("list configmaps", "never listed");
    }
}
