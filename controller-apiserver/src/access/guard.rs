//! The way in: who asks, as whom, and whether he may ask at all.
//!
//! Decides by what is stored at that moment: the server tells the guard of every write of a role or
//! binding.

use super::{Attributes, Authenticator, Claims, Denial, Policy, Unauthorized, User, impersonate, requested};
use http::HeaderMap;
use http::request::Parts;

/// What the connection already tells of who asks. Carried as an extension of the request.
#[derive(Clone, Debug, Default)]
pub enum Peer {
    /// Nothing: the headers tell.
    #[default]
    Unknown,
    /// The DER of a client certificate that the TLS layer verified.
    Certificate(Vec<u8>),
    /// A client in this process that acts as this user.
    User(User),
}

/// Why a request goes no further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// 401.
    #[error(transparent)]
    Unauthorized(#[from] Unauthorized),
    /// 400: claims an identity without a name.
    #[error("{0}")]
    BadRequest(String),
    /// 403.
    #[error(transparent)]
    Forbidden(#[from] Denial),
}

/// Credentials, rules, and the switches of access.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Who is known.
    pub authenticator: Authenticator,
    /// Who may do what.
    pub policy: Policy,
    /// Whether the admission `OwnerReferencesPermissionEnforcement` is on.
    pub owner_references: bool,
}

impl Guard {
    /// A guard without roles and bindings.
    pub fn new(authenticator: Authenticator) -> Self {
        Self {
            authenticator,
            policy: Policy::default(),
            owner_references: false,
        }
    }

    /// Who sent a request.
    ///
    /// `now` is in seconds since the epoch; `exists` tells whether the objects a token is bound to
    /// are still there.
    ///
    /// # Errors
    /// Wrong credentials.
    pub fn identify(
        &self,
        request: &Parts,
        now: i64,
        exists: impl FnOnce(&Claims) -> bool,
    ) -> Result<User, Unauthorized> {
        let certificate = match request.extensions.get::<Peer>() {
            Some(Peer::User(user)) => return Ok(user.clone()),
            Some(Peer::Certificate(certificate)) => Some(certificate.as_slice()),
            Some(Peer::Unknown) | None => None,
        };
        self.authenticator
            .user(&request.headers, certificate, now, exists)
    }

    /// The user as whom a request of `user` goes on: perhaps impersonated, and allowed.
    ///
    /// # Errors
    /// [`Refusal`], but for wrong credentials.
    pub fn admit(&self, user: User, headers: &HeaderMap, attributes: &Attributes) -> Result<User, Refusal> {
        let user = match requested(headers).map_err(Refusal::BadRequest)? {
            Some(wanted) => impersonate(&self.policy, &user, &wanted, attributes)?,
            None => user,
        };
        self.policy.check(&user, attributes)?;
        Ok(user)
    }
}
