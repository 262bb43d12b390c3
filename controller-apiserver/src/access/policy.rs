//! The RBAC authorizer: roles and bindings, and what they allow a user.
//!
//! A [`Policy`] is a pure function of the Role, `ClusterRole`, `RoleBinding` and `ClusterRoleBinding`
//! objects put into it; nothing is allowed unless some rule allows it, except to `system:masters`.
//! Cluster role bindings apply everywhere, role bindings in their namespace only.

use super::rule::nullable;
use super::user::split_service_account;
use super::{Attributes, Denial, Rule, User};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// What a binding points at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleRef {
    /// `rbac.authorization.k8s.io`.
    #[serde(deserialize_with = "nullable")]
    pub api_group: String,
    /// `Role` or `ClusterRole`.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// The role's name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// Whom a binding grants its role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// The subject's name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// The namespace of a service account.
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Binding {
    #[serde(deserialize_with = "nullable")]
    pub(super) role_ref: RoleRef,
    #[serde(deserialize_with = "nullable")]
    pub(super) subjects: Vec<Subject>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Rules {
    #[serde(deserialize_with = "nullable")]
    rules: Vec<Rule>,
}

/// The rules of a Role or `ClusterRole`; what cannot be read grants nothing.
pub(super) fn rules_of(role: &Value) -> Vec<Rule> {
    Rules::deserialize(role).unwrap_or_default().rules
}

/// All roles and bindings of a server. The namespace of cluster-scoped ones is "".
#[derive(Clone, Debug, Default)]
pub struct Policy {
    roles: BTreeMap<(String, String), Vec<Rule>>,
    bindings: BTreeMap<String, BTreeMap<String, Binding>>,
}

/// The plural name of an RBAC object's kind.
pub(crate) fn resource_of(object: &Value) -> Option<&'static str> {
    match object.get("kind").and_then(Value::as_str)? {
        "Role" => Some("roles"),
        "ClusterRole" => Some("clusterroles"),
        "RoleBinding" => Some("rolebindings"),
        "ClusterRoleBinding" => Some("clusterrolebindings"),
        _ => None,
    }
}

impl Policy {
    /// The policy that these objects make; others than the four RBAC kinds are passed over.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut policy = Self::default();
        for object in objects {
            if let Some(resource) = resource_of(object) {
                policy.put(resource, object);
            }
        }
        policy
    }

    /// Adds or replaces an object, by the plural name of its kind.
    pub fn put(&mut self, resource: &str, object: &Value) {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (namespace, name) = (
            text("/metadata/namespace").to_owned(),
            text("/metadata/name").to_owned(),
        );
        match resource {
            "roles" | "clusterroles" => {
                self.roles.insert((namespace, name), rules_of(object));
            }
            "rolebindings" | "clusterrolebindings" => {
                let binding = Binding::deserialize(object).unwrap_or_default();
                self.bindings.entry(namespace).or_default().insert(name, binding);
            }
            _ => {}
        }
    }

    /// Takes an object out, by the plural name of its kind.
    pub fn remove(&mut self, resource: &str, namespace: &str, name: &str) {
        match resource {
            "roles" | "clusterroles" => {
                self.roles.remove(&(namespace.to_owned(), name.to_owned()));
            }
            "rolebindings" | "clusterrolebindings" => {
                if let Some(bindings) = self.bindings.get_mut(namespace) {
                    bindings.remove(name);
                    if bindings.is_empty() {
                        self.bindings.remove(namespace);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether `user` may do what `attributes` say.
    pub fn authorize(&self, user: &User, attributes: &Attributes) -> Decision<'_> {
        if user.is_master() {
            return Decision::Privileged;
        }
        let mut unresolved = Vec::new();
        for grant in self.grants(user, attributes.namespace()) {
            match self.rules_behind(grant.role, grant.namespace) {
                Some(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    return Decision::Granted(grant);
                }
                Some(_) => {}
                None => unresolved.push(grant.role),
            }
        }
        Decision::Denied { unresolved }
    }

    /// `Ok` if allowed, else the refusal to send.
    pub fn check(&self, user: &User, attributes: &Attributes) -> Result<(), Denial> {
        let decision = self.authorize(user, attributes);
        if decision.is_allowed() {
            return Ok(());
        }
        Err(attributes.denial(user, &decision.reason()))
    }

    /// Every rule that applies to `user` in `namespace` ("" for the cluster scope).
    pub fn rules_for(&self, user: &User, namespace: &str) -> Vec<&Rule> {
        self.grants(user, namespace)
            .filter_map(|grant| self.rules_behind(grant.role, grant.namespace))
            .flatten()
            .collect()
    }

    /// The rules of the role a binding in `namespace` points at.
    pub fn rules_behind(&self, role: &RoleRef, namespace: &str) -> Option<&[Rule]> {
        let namespace = match role.kind.as_str() {
            "Role" if !namespace.is_empty() => namespace,
            "ClusterRole" => "",
            _ => return None,
        };
        self.roles
            .get(&(namespace.to_owned(), role.name.clone()))
            .map(Vec::as_slice)
    }

    fn grants<'p, 'u>(
        &'p self,
        user: &'u User,
        namespace: &'u str,
    ) -> impl Iterator<Item = Grant<'p>> + use<'p, 'u> {
        let scopes = [Some(""), (!namespace.is_empty()).then_some(namespace)];
        let applicable = scopes
            .into_iter()
            .flatten()
            .filter_map(|scope| self.bindings.get_key_value(scope));
        applicable.flat_map(move |(scope, bindings)| {
            bindings.iter().filter_map(move |(name, binding)| {
                let subject = binding.subjects.iter().find(|subject| subject.is(user, scope))?;
                Some(Grant {
                    binding: name,
                    namespace: scope,
                    role: &binding.role_ref,
                    subject,
                })
            })
        })
    }
}

impl Subject {
    fn is(&self, user: &User, namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name,
            "Group" => user.is_in(&self.name),
            "ServiceAccount" => {
                split_service_account(&user.name) == Some((self.namespace_or(namespace), &self.name))
            }
            _ => false,
        }
    }

    fn namespace_or<'a>(&'a self, binding: &'a str) -> &'a str {
        if self.namespace.is_empty() {
            binding
        } else {
            &self.namespace
        }
    }
}

/// The binding through which a user has a role.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    binding: &'a str,
    namespace: &'a str,
    role: &'a RoleRef,
    subject: &'a Subject,
}

/// As in `RoleBinding "b/ns" of Role "r" to User "dev"`.
impl fmt::Display for Grant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (role, subject) = (self.role, self.subject);
        if self.namespace.is_empty() {
            write!(f, "ClusterRoleBinding {:?}", self.binding)?;
        } else {
            write!(
                f,
                "RoleBinding {:?}",
                format!("{}/{}", self.binding, self.namespace)
            )?;
        }
        write!(f, " of {} {:?} to {} ", role.kind, role.name, subject.kind)?;
        if subject.kind == "ServiceAccount" {
            write!(
                f,
                "{:?}",
                format!("{}/{}", subject.name, subject.namespace_or(self.namespace))
            )
        } else {
            write!(f, "{:?}", subject.name)
        }
    }
}

/// What the authorizer says, and why.
#[derive(Clone, Debug)]
pub enum Decision<'a> {
    /// A member of `system:masters`: allowed without a rule.
    Privileged,
    /// Allowed by a rule of this binding's role.
    Granted(Grant<'a>),
    /// No rule allows it.
    Denied {
        /// Roles that bindings of the user name and that do not exist.
        unresolved: Vec<&'a RoleRef>,
    },
}

impl Decision<'_> {
    /// Whether the request may go on.
    pub fn is_allowed(&self) -> bool {
        !matches!(self, Self::Denied { .. })
    }

    /// The `reason` of an access review; often empty.
    pub fn reason(&self) -> String {
        match self {
            Self::Privileged => String::new(),
            Self::Granted(grant) => format!("RBAC: allowed by {grant}"),
            Self::Denied { unresolved } => {
                let missing: Vec<String> = unresolved
                    .iter()
                    .map(|role| {
                        let kind = role.kind.to_ascii_lowercase();
                        format!("{kind}.rbac.authorization.k8s.io {:?} not found", role.name)
                    })
                    .collect();
                match missing.as_slice() {
                    [] => String::new(),
                    [one] => format!("RBAC: {one}"),
                    many => format!("RBAC: [{}]", many.join(", ")),
                }
            }
        }
    }
}
