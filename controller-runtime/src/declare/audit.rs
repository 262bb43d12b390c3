//! Roles against the rights that were used: the proof that an operator's RBAC is exact.

use std::{collections::BTreeSet, fmt};

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::rbac::Roles;

/// What a comparison of roles with the rights that a scenario used found.
///
/// A right is written `verb resource.group in namespace`: `patch documents/status.example.com in default`; without a group in the
/// core group, without a namespace for the whole cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Audit {
    scenario: String,
    missing: BTreeSet<String>,
    unused: BTreeSet<String>,
}

impl Roles {
    /// Compares what these roles grant with what a scenario used, each right as [`Audit`] writes it.
    ///
    /// With `controller-apiserver` the rights are `server.journal().user("…").rights()`. Let the scenario create, update, prune, clean up,
    /// write status, publish events and renew the lease: what it leaves out is told as unused.
    ///
    /// ```
    /// use controller_runtime::declare::{Declaration, Namespaces, Watched, rbac::roles};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// let declaration = Declaration::new("janitor", Watched::new::<ConfigMap>(&()));
    /// let roles = roles("janitor", "operators", &Namespaces::All, [&declaration]);
    /// let audit = roles.audit("a list", ["list configmaps"]).unused_ok("watch configmaps", "the example only lists");
    /// audit.lease_unused_ok().assert_rbac_exact();
    /// ```
    pub fn audit(&self, scenario: &str, used: impl IntoIterator<Item = impl ToString>) -> Audit {
        let grants = self.grants();
        let mut audit = Audit {
            scenario: scenario.to_owned(),
            missing: BTreeSet::new(),
            unused: grants.clone(),
        };
        for used in used {
            let used = used.to_string();
            // A right in the whole cluster is one in each namespace.
            let in_cluster = used.split_once(" in ").map_or(&*used, |(right, _)| right);
            let granted: Vec<_> = [&*used, in_cluster]
                .into_iter()
                .filter(|right| grants.contains(*right))
                .collect();
            for right in &granted {
                audit.unused.remove(*right);
            }
            if granted.is_empty() {
                audit.missing.insert(used);
            }
        }
        audit
    }

    fn grants(&self) -> BTreeSet<String> {
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

/// The rights of rules, each by itself.
fn expand(rules: Option<&[PolicyRule]>, namespace: &str) -> Vec<String> {
    let mut rights = Vec::new();
    for rule in rules.unwrap_or_default() {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                rights.extend(rule.verbs.iter().map(|verb| {
                    let dot = if group.is_empty() { "" } else { "." };
                    let place = if namespace.is_empty() { "" } else { " in " };
                    format!("{verb} {resource}{dot}{group}{place}{namespace}")
                }));
            }
        }
    }
    rights
}

impl Audit {
    /// Nothing is missing and nothing is unused.
    pub fn is_exact(&self) -> bool {
        self.missing.is_empty() && self.unused.is_empty()
    }

    /// What was used and is not granted.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
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
    pub fn assert_rbac_exact(&self) {
        assert!(
            self.is_exact(),
            "the roles are not exact for the scenario {:?}\n{self}",
            self.scenario
        );
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.missing()
            .try_for_each(|right| writeln!(f, "missing: {right}"))?;
        self.unused().try_for_each(|right| writeln!(f, "unused: {right}"))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};

    use crate::declare::{Declaration, Namespaces, RelationDeclaration, RelationKind, Watched, rbac::roles};

    fn declaration() -> Declaration {
        let mut declaration = Declaration::new("janitor", Watched::new::<ConfigMap>(&()));
        let namespaces = Watched::new::<Namespace>(&());
        declaration.relations = vec![RelationDeclaration::new(RelationKind::Watches, namespaces)];
        declaration
    }

    #[test]
    fn missing_and_unused_are_both_found() {
        let roles = roles("janitor", "operators", &Namespaces::All, [&declaration()]);
        let used = ["list configmaps", "list namespaces", "delete configmaps in a"];
        let audit = roles.audit("lists", used).lease_unused_ok();
        assert!(!audit.is_exact());
        assert_eq!(
            audit.to_string(),
            "missing: delete configmaps in a\nunused: watch configmaps\nunused: watch namespaces\n"
        );
    }

    #[test]
    #[should_panic(expected = "not exact for the scenario \"lists\"\nunused: watch configmaps\n")]
    fn the_scenario_is_named_and_what_it_left_out_is_told() {
        let roles = roles("janitor", "operators", &Namespaces::All, [&declaration()]);
        let used = ["list configmaps", "list namespaces", "watch namespaces"];
        roles.audit("lists", used).lease_unused_ok().assert_rbac_exact();
    }

    #[test]
    fn a_right_in_one_namespace_is_none_in_another() {
        let only = Namespaces::Only(vec!["a".to_owned()]);
        let roles = roles("janitor", "operators", &only, [&declaration()]);
        let audit = roles.audit("elsewhere", ["list configmaps in b", "list configmaps"]);
        let missing: Vec<_> = audit.missing().collect();
        assert_eq!(missing, ["list configmaps", "list configmaps in b"]);
        assert!(audit.unused().any(|right| right == "list configmaps in a"));
    }

    #[test]
    #[should_panic(expected = "is out of date")]
    fn an_exception_that_is_not_needed_is_told() {
        let roles = roles("janitor", "operators", &Namespaces::All, [&declaration()]);
        let _ = roles
            .audit("lists", ["list configmaps"])
            .unused_ok("list configmaps", "never listed");
    }
}
