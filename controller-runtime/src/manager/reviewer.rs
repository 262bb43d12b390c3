//! Who may read `/metrics`, by the word of the API server: a TokenReview tells who shows a token, a SubjectAccessReview whether they may
//! `get` the path.
//!
//! An answer is remembered for a while, so that a scrape every few seconds costs no reviews; so is a refusal, for a shorter time. Tokens are
//! never logged. Not promised: that the token is safe on its way, for this endpoint speaks no TLS.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kube::Client;
use serde_json::json;

use super::review::review;
use crate::clock::{self, Instant};

/// So long a right is taken to stand.
const ALLOWED: Duration = Duration::from_secs(60);
/// So long a refusal is, which a new binding should not have to wait for.
const REFUSED: Duration = Duration::from_secs(10);
/// So many tokens are remembered.
const REMEMBERED: usize = 64;

/// What the API server says of someone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    /// No token, or one that the API server does not know.
    Unknown,
    /// Known, and not allowed.
    Forbidden,
}

/// Asks the API server, and remembers.
pub(crate) struct Reviewer {
    client: Client,
    /// Until when each verdict stands. Invariant: at most [`REMEMBERED`].
    verdicts: Mutex<HashMap<String, (Instant, Verdict)>>,
}

impl Reviewer {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            verdicts: Mutex::default(),
        }
    }

    /// Whether who sends this `Authorization` header may read `/metrics`.
    ///
    /// # Errors
    /// When the API server gives no answer.
    pub(crate) async fn judge(&self, authorization: Option<&str>) -> Result<Verdict, kube::Error> {
        let token = authorization.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Ok(Verdict::Unknown);
        };
        if let Some(verdict) = self.remembered(token) {
            return Ok(verdict);
        }
        let verdict = self.ask(token).await?;
        self.remember(token, verdict);
        Ok(verdict)
    }

    async fn ask(&self, token: &str) -> Result<Verdict, kube::Error> {
        let shown = json!({"token": token});
        let known = review(&self.client, "authentication.k8s.io", "TokenReview", shown).await?;
        if known["authenticated"] != true {
            return Ok(Verdict::Unknown);
        }
        let user = &known["user"];
        let asked = json!({
            "user": user["username"],
            "uid": user["uid"],
            "groups": user["groups"],
            "extra": user["extra"],
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        });
        let rights = review(&self.client, "authorization.k8s.io", "SubjectAccessReview", asked).await?;
        Ok(if rights["allowed"] == true {
            Verdict::Allowed
        } else {
            Verdict::Forbidden
        })
    }

    fn remembered(&self, token: &str) -> Option<Verdict> {
        let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, verdict) = verdicts.get(token)?;
        (clock::now() < *until).then_some(*verdict)
    }

    fn remember(&self, token: &str, verdict: Verdict) {
        let now = clock::now();
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        if verdicts.len() >= REMEMBERED {
            verdicts.retain(|_, (until, _)| now < *until);
        }
        if verdicts.len() >= REMEMBERED {
            verdicts.clear();
        }
        let stands = match verdict {
            Verdict::Allowed => ALLOWED,
            Verdict::Unknown | Verdict::Forbidden => REFUSED,
        };
        verdicts.insert(token.to_owned(), (now + stands, verdict));
    }
}

impl fmt::Debug for Reviewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reviewer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use controller_apiserver::{Server, access::User};
    use k8s_openapi::api::{authentication::v1::TokenRequest, core::v1::ServiceAccount};
    use kube::{Api, api::PostParams};
    use serde_json::Value;

    use super::*;

    fn account(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
    }

    fn role() -> [Value; 2] {
        let rule = json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]});
        let group = "rbac.authorization.k8s.io/v1";
        let role = json!({"apiVersion": group, "kind": "ClusterRole", "metadata": {"name": "reader"}, "rules": [rule]});
        let reference =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"});
        let subject = json!({"kind": "ServiceAccount", "name": "prometheus", "namespace": "default"});
        let binding = json!({"apiVersion": group, "kind": "ClusterRoleBinding", "metadata": {"name": "reader"},
            "roleRef": reference, "subjects": [subject]});
        [role, binding]
    }

    async fn token(server: &Server, name: &str) -> String {
        let accounts = Api::<ServiceAccount>::namespaced(server.client(), "default");
        let request = TokenRequest::default();
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .expect("a token");
        let status = serde_json::to_value(answer.status).expect("JSON");
        format!("Bearer {}", status["token"].as_str().expect("a token"))
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_is_known_and_allowed_reads_metrics_and_reviews_are_remembered() {
        let server = Server::new();
        server
            .install([account("prometheus"), account("stranger")])
            .await
            .expect("accounts");
        let reviewer = Reviewer::new(server.client_as(User::admin()));
        let (prometheus, stranger) = (
            token(&server, "prometheus").await,
            token(&server, "stranger").await,
        );
        let judge = async |header: Option<&str>| reviewer.judge(header).await.expect("an answer");
        for nobody in [None, Some(""), Some("Bearer "), Some("Basic eDp5")] {
            assert_eq!(judge(nobody).await, Verdict::Unknown, "{nobody:?}");
        }
        assert_eq!(
            judge(Some(&prometheus)).await,
            Verdict::Forbidden,
            "nothing is bound yet"
        );
        server.install(role()).await.expect("a role");
        tokio::time::advance(REFUSED).await;
        assert_eq!(judge(Some(&prometheus)).await, Verdict::Allowed);
        assert_eq!(judge(Some(&stranger)).await, Verdict::Forbidden);
        let asked = server.journal().len();
        for _ in 0..5 {
            assert_eq!(judge(Some(&prometheus)).await, Verdict::Allowed);
        }
        assert_eq!(server.journal().len(), asked, "it is remembered");
        tokio::time::advance(ALLOWED).await;
        judge(Some(&prometheus)).await;
        assert_eq!(server.journal().len(), asked + 2, "and asked again");
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_without_end_take_no_memory_without_end() {
        let server = Server::new();
        let reviewer = Reviewer::new(server.client());
        for number in 0..1000 {
            reviewer.remember(&number.to_string(), Verdict::Unknown);
        }
        let remembered = reviewer.verdicts.lock().expect("not poisoned").len();
        assert!(remembered <= REMEMBERED, "{remembered}");
    }
}
