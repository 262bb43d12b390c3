//! Who may do what: authentication ([`Authenticator`]), impersonation and authorization.
//!
//! Everything here is pure: identities, roles and requests go in, decisions and the server's own
//! sentences come out. The order of a request is authentication ([`Authenticator`]), impersonation
//! ([`impersonate`]), authorization ([`Policy::check`]), all before routing: what a user may not ask
//! for is 403 even where nothing is.
//!
//! Not modelled: authorization webhooks, the Node authorizer, conditional (selector-based) rules.

mod aggregate;
mod attributes;
mod authenticate;
mod certificate;
mod defaults;
mod escalation;
mod guard;
mod impersonation;
mod owner_references;
mod policy;
mod review;
mod rule;
mod service_account;
mod tokens;
mod user;
mod validate;

pub use aggregate::aggregated;
pub use attributes::{Attributes, Denial, ResourceTarget, Target};
pub use authenticate::{Authenticator, Unauthorized};
pub use certificate::subject;
pub(crate) use certificate::{COMMON_NAME, ORGANIZATION};
pub use defaults::{default_objects, rule_value};
pub use escalation::{Escalation, PolicyWrite};
pub use guard::{Guard, Peer, Refusal};
pub use impersonation::{impersonate, requested};
pub use owner_references::{Mapping, OwnedWrite};
pub(crate) use policy::resource_of;
pub use policy::{Decision, Grant, Policy, RoleRef, Subject};
pub use review::{
    ReviewError, local_subject_access_review, self_subject_access_review, self_subject_review,
    self_subject_rules_review, subject_access_review, token_review,
};
pub use rule::{Rule, missing};
pub use service_account::{BoundTo, Claims, ISSUER, Identity, Signer, TokenRequest};
pub use tokens::{TokenFileError, Tokens};
pub use user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User};
pub use validate::{set_policy_defaults, validate_policy};

/// The API group of roles and bindings.
pub const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

#[cfg(test)]
mod tests;
