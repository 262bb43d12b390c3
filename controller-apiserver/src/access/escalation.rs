//! Nobody may grant what he does not have.
//!
//! Writes of roles need the verb `escalate` or every permission written; writes of bindings need
//! the verb `bind` upon the role or every permission of it. Kubernetes documentation, "Privilege
//! escalation prevention and bootstrapping".

use super::policy::{Binding, rules_of};
use super::rule::{missing, quoted};
use super::{Attributes, Policy, RBAC_GROUP, ResourceTarget, Rule, User};
use serde::Deserialize;
use serde_json::Value;

/// Why a role or binding may not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Escalation {
    /// The user lacks permissions that the write would grant: 403 naming the written object.
    #[error("{0}")]
    Forbidden(String),
    /// The binding's role does not exist: 404 of this name, of the resource written.
    #[error("role {0:?} not found")]
    MissingRole(String),
}

/// A write of an object of rbac.authorization.k8s.io.
#[derive(Clone, Copy, Debug)]
pub struct PolicyWrite<'a> {
    /// Who writes.
    pub user: &'a User,
    /// The plural name in the URL.
    pub resource: &'a str,
    /// The namespace in the URL, "" for cluster-scoped kinds.
    pub namespace: &'a str,
    /// What is stored; `None` for a creation.
    pub old: Option<&'a Value>,
    /// What would be stored.
    pub new: &'a Value,
}

impl PolicyWrite<'_> {
    /// Refuses the write if it would give more than `user` has.
    ///
    /// # Errors
    /// [`Escalation`].
    pub fn check(&self, policy: &Policy) -> Result<(), Escalation> {
        if self.user.is_master() {
            return Ok(());
        }
        match self.resource {
            "roles" | "clusterroles" => self.check_role(policy),
            "rolebindings" | "clusterrolebindings" => self.check_binding(policy),
            _ => Ok(()),
        }
    }

    fn may(&self, policy: &Policy, verb: &str, resource: &str, name: &str) -> bool {
        let target = ResourceTarget {
            group: RBAC_GROUP.to_owned(),
            version: "*".to_owned(),
            resource: resource.to_owned(),
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
            ..ResourceTarget::default()
        };
        policy
            .authorize(self.user, &Attributes::resource(verb, target))
            .is_allowed()
    }

    fn check_role(&self, policy: &Policy) -> Result<(), Escalation> {
        let name = self
            .new
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if self.may(policy, "escalate", self.resource, name) {
            return Ok(());
        }
        let unchanged = |member: &str| {
            self.old
                .is_some_and(|old| present(old.get(member)) == present(self.new.get(member)))
        };
        if !unchanged("rules") {
            self.covers(policy, &rules_of(self.new))?;
        }
        if present(self.new.get("aggregationRule")).is_some() && !unchanged("aggregationRule") {
            let everything = everything();
            if !missing(&policy.rules_for(self.user, self.namespace), &everything).is_empty() {
                return Err(Escalation::Forbidden(
                    "must have cluster-admin privileges to use the aggregationRule".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn check_binding(&self, policy: &Policy) -> Result<(), Escalation> {
        if self.old.is_some_and(|old| {
            ["roleRef", "subjects"]
                .iter()
                .all(|member| present(old.get(*member)) == present(self.new.get(*member)))
        }) {
            return Ok(());
        }
        let role = Binding::deserialize(self.new).unwrap_or_default().role_ref;
        let resource = match role.kind.as_str() {
            "ClusterRole" => "clusterroles",
            _ => "roles",
        };
        if self.may(policy, "bind", resource, &role.name) {
            return Ok(());
        }
        match policy.rules_behind(&role, self.namespace) {
            Some(rules) => self.covers(policy, rules),
            None => Err(Escalation::MissingRole(role.name)),
        }
    }

    fn covers(&self, policy: &Policy, wanted: &[Rule]) -> Result<(), Escalation> {
        let missing = missing(&policy.rules_for(self.user, self.namespace), wanted);
        if missing.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = missing.iter().map(ToString::to_string).collect();
        Err(Escalation::Forbidden(format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            self.user.name,
            quoted(&self.user.groups),
            lines.join("\n"),
        )))
    }
}

/// A member that holds something: null, [] and {} are as good as absent.
fn present(member: Option<&Value>) -> Option<&Value> {
    member.filter(|value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    })
}

fn everything() -> Vec<Rule> {
    let all = || vec!["*".to_owned()];
    vec![
        Rule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..Rule::default()
        },
        Rule {
            verbs: all(),
            non_resource_urls: all(),
            ..Rule::default()
        },
    ]
}
