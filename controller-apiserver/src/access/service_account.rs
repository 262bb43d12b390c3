//! Tokens of service accounts: issued by `TokenRequest`, read back at authentication.
//!
//! A token is a JSON Web Token (RFC 7519) with the claims Kubernetes gives it, signed by HMAC-SHA256
//! with a key that only this process knows. Nothing is stored: a token is good while its signature
//! holds, its time has not passed, and the account (and the object it is bound to) still exists
//! with the same uid.

use super::review::ReviewError;
use super::{AUTHENTICATED, User};
use crate::status::Cause;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;

/// Issuer of all tokens, and the audience of those that name none.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

const DEFAULT_SECONDS: i64 = 3600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;

/// Name and uid of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
}

/// For whom a token speaks. Times are seconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Audiences.
    pub aud: Vec<String>,
    /// Not to be used from then on.
    pub exp: i64,
    /// Issued at.
    pub iat: i64,
    /// Issuer.
    pub iss: String,
    /// Unique id of the token.
    pub jti: String,
    /// The account and what the token is bound to.
    #[serde(rename = "kubernetes.io")]
    pub kubernetes: BoundTo,
    /// The user name.
    pub sub: String,
}

/// The objects that must exist for a token to be good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundTo {
    /// Of account, pod and secret.
    pub namespace: String,
    /// The account.
    pub serviceaccount: Identity,
    /// The pod it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<Identity>,
    /// The secret it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Identity>,
    /// The node of that pod, or the node it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Identity>,
}

impl Claims {
    /// The user a token authenticates.
    pub fn user(&self) -> User {
        let bound = &self.kubernetes;
        let mut user = User::service_account(&bound.namespace, &bound.serviceaccount.name);
        user.uid.clone_from(&bound.serviceaccount.uid);
        let mut add = |key: &str, value: &str| {
            user.extra.insert(
                format!("authentication.kubernetes.io/{key}"),
                vec![value.to_owned()],
            );
        };
        add("credential-id", &format!("JTI={}", self.jti));
        for (kind, object) in [("pod", &bound.pod), ("node", &bound.node)] {
            if let Some(object) = object {
                add(&format!("{kind}-name"), &object.name);
                add(&format!("{kind}-uid"), &object.uid);
            }
        }
        debug_assert!(user.is_in(AUTHENTICATED));
        user
    }

    /// Whether the token may be used at `now`, a time in seconds since the epoch.
    pub fn is_current(&self, now: i64) -> bool {
        now < self.exp
    }
}

/// Signs and verifies tokens with one key.
#[derive(Clone)]
pub struct Signer(hmac::Key);

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// A signer whose tokens another signer of the same key accepts.
    pub fn new(key: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The token of these claims: the same claims give the same token.
    pub fn sign(&self, claims: &Claims) -> String {
        let header = BASE64.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
        let body = BASE64.encode(json!(claims).to_string());
        let signed = format!("{header}.{body}");
        let signature = BASE64.encode(hmac::sign(&self.0, signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// The claims of a token that was signed with this key, be it current or not.
    pub fn verify(&self, token: &str) -> Option<Claims> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = BASE64.decode(signature).ok()?;
        hmac::verify(&self.0, signed.as_bytes(), &signature).ok()?;
        let (_, body) = signed.split_once('.')?;
        serde_json::from_slice(&BASE64.decode(body).ok()?).ok()
    }
}

/// A `TokenRequest` that passed validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    /// Never empty.
    pub audiences: Vec<String>,
    /// Between ten minutes and 2^32.
    pub seconds: i64,
    /// The `boundObjectRef`, if any.
    pub bound: Option<Value>,
}

impl TokenRequest {
    /// Reads and checks a body.
    ///
    /// # Errors
    /// A lifetime out of bounds.
    pub fn of(body: &Value) -> Result<Self, ReviewError> {
        let spec = body.get("spec").unwrap_or(&Value::Null);
        let seconds = spec
            .get("expirationSeconds")
            .and_then(Value::as_i64)
            .unwrap_or(DEFAULT_SECONDS);
        let problem = match seconds {
            ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
            MIN_SECONDS..=MAX_SECONDS => "",
            _ => "may not specify a duration larger than 2^32 seconds",
        };
        if !problem.is_empty() {
            let cause = Cause::invalid("spec.expirationSeconds", &json!(seconds), problem);
            return Err(ReviewError::Invalid(vec![cause]));
        }
        let audiences = spec
            .get("audiences")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let mut audiences: Vec<String> = audiences.filter_map(Value::as_str).map(str::to_owned).collect();
        if audiences.is_empty() {
            audiences.push(ISSUER.to_owned());
        }
        let bound = spec
            .get("boundObjectRef")
            .filter(|bound| bound.is_object())
            .cloned();
        Ok(Self {
            audiences,
            seconds,
            bound,
        })
    }

    /// The claims of a token issued at `now` under the id `jti`.
    pub fn claims(&self, to: BoundTo, jti: String, now: i64) -> Claims {
        Claims {
            aud: self.audiences.clone(),
            exp: now.saturating_add(self.seconds),
            iat: now,
            iss: ISSUER.to_owned(),
            jti,
            sub: format!(
                "system:serviceaccount:{}:{}",
                to.namespace, to.serviceaccount.name
            ),
            kubernetes: to,
        }
    }

    /// The answer to the request. `created` and `expires` are RFC 3339 texts.
    pub fn answer(&self, claims: &Claims, token: &str, created: &str, expires: &str) -> Value {
        let bound = &claims.kubernetes;
        json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {
                "name": bound.serviceaccount.name,
                "namespace": bound.namespace,
                "uid": bound.serviceaccount.uid,
                "creationTimestamp": created,
            },
            "spec": {
                "audiences": self.audiences,
                "expirationSeconds": self.seconds,
                "boundObjectRef": self.bound,
            },
            "status": {"token": token, "expirationTimestamp": expires},
        })
    }
}
