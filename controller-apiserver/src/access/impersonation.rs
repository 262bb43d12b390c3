//! Acting as somebody else by `Impersonate-*` headers.
//!
//! Kubernetes documentation, "User impersonation", and KEP-5284 (constrained impersonation): first
//! the verb `impersonate-on:MODE:VERB` upon the request's own target together with
//! `impersonate:MODE` upon each claimed identity, then the older verb `impersonate`. When all are
//! refused, the first refusal is the answer.

use super::user::{
    ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, service_account_groups, split_service_account,
};
use super::validate::is_subdomain;
use super::{Attributes, Denial, Policy, ResourceTarget, User};
use http::HeaderMap;

const AUTHENTICATION_GROUP: &str = "authentication.k8s.io";
const EXTRA_PREFIX: &str = "impersonate-extra-";
/// From so many groups or extra values on, a permission for all of them is tried first.
const MANY: usize = 4;

/// The user the headers ask for, exactly as they say it; `None` if they ask for none.
///
/// # Errors
/// The text of a 400: an identity without a user name.
pub fn requested(headers: &HeaderMap) -> Result<Option<User>, String> {
    let texts = |name: &str| -> Vec<String> {
        headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    let first = |name: &str| texts(name).into_iter().next().unwrap_or_default();
    let mut user = User {
        name: first("impersonate-user"),
        uid: first("impersonate-uid"),
        groups: texts("impersonate-group"),
        ..User::default()
    };
    for header in headers.keys() {
        if let Some(key) = header.as_str().strip_prefix(EXTRA_PREFIX) {
            user.extra.insert(unescaped(key), texts(header.as_str()));
        }
    }
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user == User::default() {
        return Ok(None);
    }
    Err(format!(
        "requested {} without impersonating a user name",
        GoUser(&user)
    ))
}

/// `%2f` and the like in the header's key; a malformed key stays as it is.
fn unescaped(key: &str) -> String {
    super::attributes::percent_decoded(key).unwrap_or_else(|| key.to_owned())
}

struct GoUser<'a>(&'a User);

impl std::fmt::Display for GoUser<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
            format!("[]string{{{}}}", items.join(", "))
        };
        let groups = if self.0.groups.is_empty() {
            "[]string(nil)".to_owned()
        } else {
            list(&self.0.groups)
        };
        let extra = if self.0.extra.is_empty() {
            "map[string][]string(nil)".to_owned()
        } else {
            let entries: Vec<String> = self
                .0
                .extra
                .iter()
                .map(|(key, values)| format!("{key:?}:{}", list(values)))
                .collect();
            format!("map[string][]string{{{}}}", entries.join(", "))
        };
        write!(
            f,
            "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:{extra}}}",
            self.0.name, self.0.uid
        )
    }
}

/// The user as whom the request goes on, if `requestor` may act as `wanted` for `attributes`.
///
/// # Errors
/// The refusal of the first mode that fits the wanted user.
pub fn impersonate(
    policy: &Policy,
    requestor: &User,
    wanted: &User,
    attributes: &Attributes,
) -> Result<User, Denial> {
    let attempt = Attempt {
        policy,
        requestor,
        wanted,
        attributes,
    };
    let mut refusal = None;
    for mode in Mode::ALL {
        if mode.fits(requestor, wanted) {
            match attempt.in_mode(mode) {
                Ok(()) => return Ok(mode.complete(wanted)),
                Err(denial) => {
                    refusal.get_or_insert(denial);
                }
            }
        }
    }
    Err(refusal.unwrap_or_else(|| attributes.with_verb("impersonate").denial(requestor, "")))
}

/// The ways in which one may act as another, in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A service account acts as the node its token is bound to.
    AssociatedNode,
    /// As any node.
    ArbitraryNode,
    /// As a service account.
    ServiceAccount,
    /// As any other user.
    UserInfo,
    /// The verb `impersonate`, for every user and every request.
    Legacy,
}

impl Mode {
    const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn fits(self, requestor: &User, wanted: &User) -> bool {
        let name_only = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.name);
        let account = split_service_account(&wanted.name);
        match self {
            Self::AssociatedNode => {
                let bound = requestor.extra.get("authentication.kubernetes.io/node-name");
                name_only
                    && split_service_account(&requestor.name).is_some()
                    && node.is_some_and(|node| bound.is_some_and(|names| names.as_slice() == [node]))
            }
            Self::ArbitraryNode => name_only && node.is_some(),
            Self::ServiceAccount => name_only && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    fn verb(self) -> String {
        match self {
            Self::Legacy => "impersonate".to_owned(),
            mode => format!("impersonate:{}", mode.name()),
        }
    }

    /// The wanted user with the groups that go without saying.
    fn complete(self, wanted: &User) -> User {
        let mut user = wanted.clone();
        if self != Self::Legacy && node_name(&user.name).is_some() {
            user.groups = vec!["system:nodes".to_owned()];
        }
        if let Some((namespace, _)) = split_service_account(&wanted.name)
            && wanted.groups.is_empty()
        {
            user.groups = service_account_groups(namespace).into();
        }
        let implied = if user.name == ANONYMOUS {
            UNAUTHENTICATED
        } else {
            AUTHENTICATED
        };
        if !user.is_in(implied) && !user.is_in(UNAUTHENTICATED) {
            user.groups.push(implied.to_owned());
        }
        user
    }
}

fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    is_subdomain(name).then_some(name)
}

struct Attempt<'a> {
    policy: &'a Policy,
    requestor: &'a User,
    wanted: &'a User,
    attributes: &'a Attributes,
}

impl Attempt<'_> {
    fn in_mode(&self, mode: Mode) -> Result<(), Denial> {
        let constrained = mode != Mode::Legacy;
        if constrained {
            let verb = format!("impersonate-on:{}:{}", mode.name(), self.attributes.verb);
            self.policy
                .check(self.requestor, &self.attributes.with_verb(verb))?;
        }
        self.check(&self.identity(mode))?;
        if !self.wanted.uid.is_empty() {
            self.check(&claim(mode, AUTHENTICATION_GROUP, "uids", &self.wanted.uid))?;
        }
        self.check_groups(mode)?;
        self.check_extra(mode)
    }

    fn check(&self, claim: &Attributes) -> Result<(), Denial> {
        self.policy.check(self.requestor, claim)
    }

    fn refuse(&self, claim: &Attributes, reason: &str) -> Denial {
        claim.denial(self.requestor, reason)
    }

    fn identity(&self, mode: Mode) -> Attributes {
        let group = identity_group(mode);
        if let Some((namespace, name)) = split_service_account(&self.wanted.name) {
            let target = ResourceTarget {
                namespace: namespace.to_owned(),
                ..claim_target(group, "serviceaccounts", name)
            };
            return Attributes::resource(&mode.verb(), target);
        }
        match node_name(&self.wanted.name) {
            Some(_) if mode == Mode::AssociatedNode => claim(mode, group, "nodes", "*"),
            Some(node) if mode != Mode::Legacy => claim(mode, group, "nodes", node),
            _ => claim(mode, group, "users", &self.wanted.name),
        }
    }

    fn check_groups(&self, mode: Mode) -> Result<(), Denial> {
        let groups = &self.wanted.groups;
        let one = |name: &str| claim(mode, identity_group(mode), "groups", name);
        if mode != Mode::Legacy {
            if groups.iter().any(String::is_empty) {
                return Err(self.refuse(&one(""), "impersonating the empty string group is not allowed"));
            }
            if groups.iter().any(|group| group == MASTERS) {
                return Err(self.refuse(
                    &one(MASTERS),
                    "impersonating the system:masters group is not allowed",
                ));
            }
            if groups.len() >= MANY && self.check(&one("*")).is_ok() {
                return Ok(());
            }
        }
        groups.iter().try_for_each(|group| self.check(&one(group)))
    }

    fn check_extra(&self, mode: Mode) -> Result<(), Denial> {
        let one = |key: &str, value: &str| {
            let target = ResourceTarget {
                subresource: key.to_owned(),
                ..claim_target(AUTHENTICATION_GROUP, "userextras", value)
            };
            Attributes::resource(&mode.verb(), target)
        };
        let extra = &self.wanted.extra;
        if mode != Mode::Legacy {
            if let Some(reason) = unfit_extra(self.wanted) {
                return Err(self.refuse(&one("", ""), reason));
            }
            let count: usize = extra.values().map(Vec::len).sum();
            if count.max(extra.len()) >= MANY && self.check(&one("*", "*")).is_ok() {
                return Ok(());
            }
        }
        extra
            .iter()
            .flat_map(|(key, values)| values.iter().map(move |value| (key, value)))
            .try_for_each(|(key, value)| self.check(&one(key, value)))
    }
}

fn unfit_extra(user: &User) -> Option<&'static str> {
    user.extra.iter().find_map(|(key, values)| {
        if key.is_empty() {
            Some("impersonating the empty string key in extra is not allowed")
        } else if !key.contains('/') {
            Some("impersonating an invalid key in extra is not allowed: must be a domain-prefixed path (such as \"acme.io/foo\")")
        } else if values.is_empty() {
            Some("impersonating empty values in extra is not allowed")
        } else if values.iter().any(String::is_empty) {
            Some("impersonating the empty string value in extra is not allowed")
        } else {
            None
        }
    })
}

fn identity_group(mode: Mode) -> &'static str {
    if mode == Mode::Legacy {
        ""
    } else {
        AUTHENTICATION_GROUP
    }
}

fn claim_target(group: &str, resource: &str, name: &str) -> ResourceTarget {
    ResourceTarget {
        group: group.to_owned(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..ResourceTarget::default()
    }
}

fn claim(mode: Mode, group: &str, resource: &str, name: &str) -> Attributes {
    Attributes::resource(&mode.verb(), claim_target(group, resource, name))
}
