//! Least-privilege roles, derived from declarations.
//!
//! A rule is there because some [`Need`] asks for it, and for no other reason. Namespaced kinds go into a Role for each watched
//! namespace, or into one ClusterRole if all are watched; the lease and nothing else goes into a Role of the operator's own namespace.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::rbac::v1::{ClusterRole, PolicyRule, Role},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{Declaration, Namespaces, Need, Scope};

/// The roles of one operator.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Roles {
    /// For the whole cluster: at most one.
    pub cluster: Option<ClusterRole>,
    /// One for each watched namespace, when they are named; and for a namespace that is needed whatever is watched.
    pub watched: Vec<Role>,
    /// In the operator's own namespace: its lease.
    pub lease: Role,
}

impl Roles {
    /// Also the right to ask who someone is and what they may do, for metrics that not everybody may read. `name` is the operator's.
    pub(crate) fn with_reviews(mut self, name: &str) -> Self {
        let rule = |group: &str, resource: &str| PolicyRule {
            api_groups: Some(vec![group.to_owned()]),
            resources: Some(vec![resource.to_owned()]),
            verbs: vec!["create".to_owned()],
            ..PolicyRule::default()
        };
        let cluster = self.cluster.get_or_insert_with(|| ClusterRole {
            metadata: metadata(name, None),
            ..ClusterRole::default()
        });
        cluster.rules.get_or_insert_default().extend([
            rule("authentication.k8s.io", "tokenreviews"),
            rule("authorization.k8s.io", "subjectaccessreviews"),
        ]);
        self
    }
}

/// The roles that the controllers of `declarations` need together.
///
/// `name` is the operator's; its lease has the same. `home` is the namespace it runs in.
pub fn roles<'a>(
    name: &str,
    home: &str,
    namespaces: &Namespaces,
    declarations: impl IntoIterator<Item = &'a Declaration>,
) -> Roles {
    let needs: Vec<_> = declarations.into_iter().flat_map(Declaration::needs).collect();
    let mut cluster: Vec<&Need> = Vec::new();
    let mut placed: BTreeMap<&str, Vec<&Need>> = BTreeMap::new();
    for need in &needs {
        match (&need.namespace, need.scope, namespaces) {
            (Some(namespace), _, _) => placed.entry(namespace).or_default().push(need),
            (None, Scope::Namespaced, Namespaces::Only(watched)) => {
                for namespace in watched {
                    placed.entry(namespace).or_default().push(need);
                }
            }
            (None, _, _) => cluster.push(need),
        }
    }
    // What is granted in the whole cluster is granted in each namespace.
    for needs in placed.values_mut() {
        needs.retain(|need| !cluster.iter().any(|wide| wide.grants(need)));
    }
    let role = |(namespace, needs): (&str, Vec<&Need>)| {
        (!needs.is_empty()).then(|| Role {
            metadata: metadata(name, Some(namespace)),
            rules: Some(rules(needs)),
        })
    };
    Roles {
        cluster: (!cluster.is_empty()).then(|| ClusterRole {
            metadata: metadata(name, None),
            rules: Some(rules(cluster)),
            ..ClusterRole::default()
        }),
        watched: placed.into_iter().filter_map(role).collect(),
        lease: Role {
            metadata: metadata(&lease_role(name), Some(home)),
            rules: Some(lease_rules(name)),
        },
    }
}

/// The name of the Role for the lease: apart from the operator's own, which may stand in the same namespace.
pub(crate) fn lease_role(name: &str) -> String {
    format!("{name}-leader-election")
}

fn metadata(name: &str, namespace: Option<&str>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ObjectMeta::default()
    }
}

/// A creation cannot be bound to a name (RBAC knows none before the object is there); the rest is.
fn lease_rules(name: &str) -> Vec<PolicyRule> {
    let rule = |verbs: &[&str], names: Option<Vec<String>>| PolicyRule {
        api_groups: Some(vec!["coordination.k8s.io".to_owned()]),
        resources: Some(vec!["leases".to_owned()]),
        resource_names: names,
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    vec![
        rule(&["create"], None),
        rule(&["get", "update"], Some(vec![name.to_owned()])),
    ]
}

/// The fewest rules that grant exactly these needs, in the order of groups and resources.
fn rules<'a>(needs: impl IntoIterator<Item = &'a Need>) -> Vec<PolicyRule> {
    let mut verbs: BTreeMap<(&str, String), BTreeSet<(usize, &str)>> = BTreeMap::new();
    for need in needs {
        verbs
            .entry((&need.group, need.path()))
            .or_default()
            .insert((order(&need.verb), &need.verb));
    }
    let mut grouped: BTreeMap<(&str, Vec<&str>), Vec<String>> = BTreeMap::new();
    for ((group, resource), verbs) in verbs {
        let verbs = verbs.into_iter().map(|(_, verb)| verb).collect();
        grouped.entry((group, verbs)).or_default().push(resource);
    }
    let mut rules: Vec<_> = grouped
        .into_iter()
        .map(|((group, verbs), resources)| PolicyRule {
            api_groups: Some(vec![group.to_owned()]),
            resources: Some(resources),
            verbs: verbs.into_iter().map(str::to_owned).collect(),
            ..PolicyRule::default()
        })
        .collect();
    rules.sort_by(|a, b| (&a.api_groups, &a.resources).cmp(&(&b.api_groups, &b.resources)));
    rules
}

/// Verbs in the order in which people write them; others after those.
fn order(verb: &str) -> usize {
    const USUAL: [&str; 8] = [
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
    ];
    USUAL
        .iter()
        .position(|usual| *usual == verb)
        .unwrap_or(USUAL.len())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};

    use super::*;
    use crate::declare::{RelationDeclaration, RelationKind, Rule, Watched};

    fn full() -> Declaration {
        let mut declaration = Declaration::new("documents", Watched::new::<Secret>(&()));
        declaration.relations = vec![
            RelationDeclaration::new(RelationKind::Owns, Watched::new::<ConfigMap>(&())),
            RelationDeclaration::new(RelationKind::Watches, Watched::new::<Namespace>(&())),
        ];
        declaration.uses.children = true;
        declaration.uses.events = true;
        declaration.conditions = true;
        declaration.finalizer = Some("documents/cleanup".to_owned());
        declaration.rules = vec![Rule {
            group: String::new(),
            resource: "pods/log".to_owned(),
            verbs: vec!["get".to_owned()],
        }];
        declaration
    }

    fn shown(rules: Option<&Vec<PolicyRule>>) -> Vec<String> {
        let show = |rule: &PolicyRule| {
            let list = |list: &Option<Vec<String>>| list.clone().unwrap_or_default().join(",");
            format!(
                "{}/{}: {}",
                list(&rule.api_groups),
                list(&rule.resources),
                rule.verbs.join(",")
            )
        };
        rules.into_iter().flatten().map(show).collect()
    }

    /// kubernetes-sigs/kubebuilder#1654: without `finalizers`, children are refused on strict clusters; and nothing broader is granted.
    #[test]
    fn everything_that_is_used_is_granted_and_nothing_else() {
        let roles = roles("operator", "system", &Namespaces::All, [&full()]);
        assert!(roles.watched.is_empty());
        assert_eq!(
            shown(roles.cluster.as_ref().and_then(|role| role.rules.as_ref())),
            [
                "/configmaps: list,watch,create,patch,delete",
                "/namespaces: list,watch",
                "/pods/log: get",
                "/secrets: list,watch,patch",
                "/secrets/finalizers: update",
                "/secrets/status: patch",
                "events.k8s.io/events: create,patch",
            ]
        );
    }

    /// Events of cluster-scoped objects live in the namespace `default`, and need no right elsewhere.
    #[test]
    fn a_cluster_scoped_primary_publishes_in_one_namespace_only() {
        let mut nodes = Declaration::new("nodes", Watched::new::<Namespace>(&()));
        nodes.uses.events = true;
        let only = Namespaces::Only(vec!["a".to_owned()]);
        for namespaces in [&Namespaces::All, &only] {
            let roles = roles("operator", "system", namespaces, [&nodes]);
            let cluster = roles.cluster.expect("namespaces are watched");
            assert_eq!(shown(cluster.rules.as_ref()), ["/namespaces: list,watch"]);
            let [role] = roles.watched.try_into().expect("one role");
            assert_eq!(role.metadata.namespace.as_deref(), Some("default"));
            assert_eq!(shown(role.rules.as_ref()), ["events.k8s.io/events: create,patch"]);
        }
        let wide = roles("operator", "system", &Namespaces::All, [&nodes, &full()]);
        assert!(
            wide.watched.is_empty(),
            "it is granted in the whole cluster already"
        );
    }

    #[test]
    fn named_namespaces_get_a_role_each_and_only_cluster_kinds_a_cluster_role() {
        let namespaces = Namespaces::Only(vec!["a".to_owned(), "b".to_owned()]);
        let roles = roles("operator", "system", &namespaces, [&full()]);
        let cluster = roles.cluster.expect("namespaces are watched");
        assert_eq!(shown(cluster.rules.as_ref()), ["/namespaces: list,watch"]);
        let places: Vec<_> = roles
            .watched
            .iter()
            .filter_map(|role| role.metadata.namespace.as_deref())
            .collect();
        assert_eq!(places, ["a", "b"]);
        assert!(
            !shown(roles.watched[0].rules.as_ref())
                .iter()
                .any(|rule| rule.contains("namespaces"))
        );
    }

    /// operator-framework/operator-sdk#6649: the lease does not need the whole cluster.
    #[test]
    fn the_lease_is_granted_by_name_in_the_operators_namespace() {
        let roles = roles("operator", "system", &Namespaces::All, [&full()]);
        assert_eq!(roles.lease.metadata.namespace.as_deref(), Some("system"));
        let rules = roles.lease.rules.expect("rules");
        assert_eq!(rules[1].resource_names, Some(vec!["operator".to_owned()]));
        assert_eq!(
            (rules[0].verbs.join(","), rules[1].verbs.join(",")),
            ("create".to_owned(), "get,update".to_owned())
        );
    }

    #[test]
    fn kinds_with_the_same_verbs_share_a_rule() {
        let plain = Declaration::new("a", Watched::new::<Secret>(&()));
        let other = Declaration::new("b", Watched::new::<ConfigMap>(&()));
        let roles = roles("operator", "system", &Namespaces::All, [&plain, &other, &plain]);
        assert_eq!(
            shown(roles.cluster.as_ref().and_then(|role| role.rules.as_ref())),
            ["/configmaps,secrets: list,watch"]
        );
    }
}
