//! Who sent a request: by client certificate, by bearer token, or nobody in particular.
//!
//! A certificate that the TLS layer verified comes first, then the `Authorization` header. A wrong
//! token is never the anonymous user: it is 401, on every path.

use super::certificate::subject;
use super::{Claims, ISSUER, Signer, Tokens, User};
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The credentials were wrong, or there were none and anonymous requests are off: 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unauthorized")]
pub struct Unauthorized;

/// What a server accepts as credentials.
#[derive(Clone, Debug)]
pub struct Authenticator {
    /// Static tokens. While there are none, requests without a certificate are the
    /// administrator's, so that a server for tests needs no set-up.
    pub tokens: Tokens,
    /// Verifies tokens of service accounts.
    pub signer: Signer,
    /// Whether requests without credentials are those of `system:anonymous`.
    pub anonymous: bool,
}

/// How an `Authorization` header, or its absence, is read.
enum Credential<'a> {
    None,
    Bearer(&'a str),
    Unusable,
}

impl Authenticator {
    /// Every request is the administrator's, unless it carries a service account's token.
    pub fn open(signer: Signer) -> Self {
        Self {
            tokens: Tokens::default(),
            signer,
            anonymous: true,
        }
    }

    /// Only these tokens (and service accounts', and certificates) are known; others are anonymous.
    pub fn with_tokens(signer: Signer, tokens: Tokens) -> Self {
        Self {
            tokens,
            signer,
            anonymous: true,
        }
    }

    /// Whether everybody is the administrator.
    pub fn is_open(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The user of a request.
    ///
    /// `certificate` is the DER of a client certificate that chains to the server's authority.
    /// `exists` tells whether the objects an account's token is bound to are still there; `now` is
    /// in seconds since the epoch.
    ///
    /// # Errors
    /// [`Unauthorized`].
    pub fn user(
        &self,
        headers: &HeaderMap,
        certificate: Option<&[u8]>,
        now: i64,
        exists: impl FnOnce(&Claims) -> bool,
    ) -> Result<User, Unauthorized> {
        if let Some(user) = certificate.and_then(subject) {
            return Ok(user);
        }
        match credential(headers) {
            Credential::Bearer(token) if self.is_open() && self.signer.verify(token).is_none() => {
                Ok(User::admin())
            }
            Credential::Bearer(token) => {
                let known = self.token(token, &[], now, exists);
                known.map(|(user, _)| user).ok_or(Unauthorized)
            }
            _ if self.is_open() => Ok(User::admin()),
            Credential::None if self.anonymous => Ok(User::anonymous()),
            Credential::None | Credential::Unusable => Err(Unauthorized),
        }
    }

    /// The user of a bearer token, and those of `audiences` for which it is meant; no audience asks
    /// for the server itself. Static tokens are meant for the server.
    pub fn token(
        &self,
        token: &str,
        audiences: &[String],
        now: i64,
        exists: impl FnOnce(&Claims) -> bool,
    ) -> Option<(User, Vec<String>)> {
        let server = [ISSUER.to_owned()];
        let asked = if audiences.is_empty() { &server } else { audiences };
        let (user, meant) = if let Some(user) = self.tokens.user(token) {
            (user.clone(), server.to_vec())
        } else {
            let claims = self.signer.verify(token)?;
            let good = claims.is_current(now) && exists(&claims);
            good.then(|| (claims.user(), claims.aud))?
        };
        let shared: Vec<String> = asked
            .iter()
            .filter(|audience| meant.contains(audience))
            .cloned()
            .collect();
        (!shared.is_empty()).then_some((user, shared))
    }
}

fn credential(headers: &HeaderMap) -> Credential<'_> {
    let Some(header) = headers.get(AUTHORIZATION) else {
        return Credential::None;
    };
    let token = header.to_str().ok().and_then(|text| {
        let (scheme, token) = text.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    match token {
        Some("") | None => Credential::Unusable,
        Some(token) => Credential::Bearer(token),
    }
}
