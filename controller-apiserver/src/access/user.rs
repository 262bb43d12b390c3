//! Who makes a request: a name, a uid, groups, and extra attributes.
//!
//! Names and groups that begin with `system:` are those the Kubernetes documentation on
//! authentication reserves.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The group that may do everything, whatever roles exist.
pub const MASTERS: &str = "system:masters";
/// The group of every user who presented valid credentials.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of requests without credentials.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user of requests without credentials.
pub const ANONYMOUS: &str = "system:anonymous";

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// An authenticated (or anonymous) identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name that role bindings know.
    pub name: String,
    /// Tells two users of one name apart; often empty.
    pub uid: String,
    /// The groups, in the order in which the server lists them.
    pub groups: Vec<String>,
    /// What an authenticator adds, such as the pod a token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user of these groups, and of `system:authenticated`.
    ///
    /// ```
    /// # use controller_apiserver::access::User;
    /// let dev = User::new("dev", ["developers"]);
    /// assert_eq!(dev.groups, ["developers", "system:authenticated"]);
    /// ```
    pub fn new<G: Into<String>>(name: impl Into<String>, groups: impl IntoIterator<Item = G>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self {
            name: name.into(),
            groups,
            ..Self::default()
        }
    }

    /// The administrator: every request is allowed.
    pub fn admin() -> Self {
        Self::new("kubernetes-admin", [MASTERS])
    }

    /// A request without credentials.
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// The identity of the pods that run under a service account.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self::new(
            format!("{SERVICE_ACCOUNT}{namespace}:{name}"),
            service_account_groups(namespace),
        )
    }

    /// Whether the user is a member of `group`.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|known| known == group)
    }

    /// Whether no rule can refuse this user anything.
    pub fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    /// The `UserInfo` of authentication.k8s.io, without empty members.
    pub fn to_user_info(&self) -> Value {
        let mut info = Map::new();
        if !self.name.is_empty() {
            info.insert("username".to_owned(), json!(self.name));
        }
        if !self.uid.is_empty() {
            info.insert("uid".to_owned(), json!(self.uid));
        }
        if !self.groups.is_empty() {
            info.insert("groups".to_owned(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".to_owned(), json!(self.extra));
        }
        Value::Object(info)
    }
}

/// The groups every token of a service account in `namespace` carries.
pub(crate) fn service_account_groups(namespace: &str) -> [String; 2] {
    [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

/// Namespace and name in the user name of a service account.
pub(crate) fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    let label = |part: &str, dots: bool| {
        !part.is_empty()
            && part.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || (dots && byte == b'.')
            })
    };
    (label(namespace, false) && label(name, true)).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_name_splits_and_joins() {
        let user = User::service_account("ns", "builder.v1");
        assert_eq!(user.name, "system:serviceaccount:ns:builder.v1");
        assert_eq!(split_service_account(&user.name), Some(("ns", "builder.v1")));
        assert_eq!(
            user.groups,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:ns",
                AUTHENTICATED
            ]
        );
    }

    #[test]
    fn what_is_no_service_account_does_not_split() {
        for name in [
            "",
            "dev",
            "system:serviceaccount:",
            "system:serviceaccount:a",
            "system:serviceaccount::a",
            "system:serviceaccount:a:",
            "system:serviceaccount:a:b:c",
            "system:serviceaccount:A:b",
        ] {
            assert_eq!(split_service_account(name), None, "{name}");
        }
    }

    #[test]
    fn user_info_leaves_out_what_is_empty() {
        assert_eq!(User::default().to_user_info(), json!({}));
        assert_eq!(
            User::new("dev", ["g"]).to_user_info(),
            json!({"username": "dev", "groups": ["g", AUTHENTICATED]})
        );
    }
}
