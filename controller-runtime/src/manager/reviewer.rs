//! Who may read `/metrics`, by the word of the API server: a TokenReview tells who shows a token, a SubjectAccessReview whether they may
//! `get` the path.
//!
//! An answer is remembered for a while, so that a scrape every few seconds costs no reviews; so is a refusal, for a shorter time. One token is asked
//! about once at a time, however many show it, and new tokens only so often: whoever invents them costs the API server little, and does
//! not keep those out who have been let in. Tokens are never logged. Not promised: that the token is safe on its way, for this endpoint speaks no TLS.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use kube::Client;
use serde_json::json;

use super::review::review;
use crate::{
    clock::{self, Instant},
    error_text,
    operator::RateLimit,
    patience::PATIENCE,
};

/// So long a right is taken to stand.
const ALLOWED: Duration = Duration::from_secs(60);
/// So long a refusal is, which a new binding should not have to wait for.
const REFUSED: Duration = Duration::from_secs(10);
/// So many tokens are remembered.
const REMEMBERED: usize = 64;
/// So many tokens a second, and at once, are asked about that were not allowed before.
const NEW_TOKENS: (f64, u32) = (1.0, 10);

/// What the API server says of someone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    /// No token, or one that the API server does not know.
    Unknown,
    /// Known, and not allowed.
    Forbidden,
    /// Not asked about: too many new tokens were shown a moment ago.
    Busy,
}

/// The API server gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no review of the token: {0}")]
pub(crate) struct Unanswered(String);

/// A question under way, for all who wait for its answer.
type Asking = Shared<BoxFuture<'static, Result<Verdict, Unanswered>>>;

/// Asks the API server, and remembers. Clones share what is remembered.
#[derive(Clone)]
pub(crate) struct Reviewer {
    client: Client,
    book: Arc<Mutex<Book>>,
    new_tokens: Option<RateLimit>,
}

/// What is known of tokens.
#[derive(Default)]
struct Book {
    /// Until when each verdict stands. Invariant: at most [`REMEMBERED`].
    verdicts: HashMap<String, (Instant, Verdict)>,
    /// Invariant: only questions that have no answer yet, which they get within [`PATIENCE`].
    asking: HashMap<String, Asking>,
}

impl Reviewer {
    pub(crate) fn new(client: Client) -> Self {
        let (per_second, burst) = NEW_TOKENS;
        Self {
            client,
            book: Arc::default(),
            // It lets something pass, so it is a limit.
            new_tokens: RateLimit::new(per_second, burst).ok(),
        }
    }

    /// Whether who sends this `Authorization` header may read `/metrics`.
    ///
    /// # Errors
    /// When the API server gives no answer.
    pub(crate) async fn judge(&self, authorization: Option<&str>) -> Result<Verdict, Unanswered> {
        let token = authorization.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        match token.filter(|token| !token.is_empty()) {
            None => Ok(Verdict::Unknown),
            Some(token) => match self.look_up(token) {
                Ok(verdict) => Ok(verdict),
                Err(asking) => asking.await,
            },
        }
    }

    /// What is known of a token, or the question about it.
    fn look_up(&self, token: &str) -> Result<Verdict, Asking> {
        let mut book = self.book();
        if let Some(asking) = book.asking.get(token) {
            return Err(asking.clone());
        }
        let known = book.verdicts.get(token).copied();
        if let Some((until, verdict)) = known
            && clock::now() < until
        {
            return Ok(verdict);
        }
        let was_allowed = known.is_some_and(|(_, verdict)| verdict == Verdict::Allowed);
        if !was_allowed && !self.new_tokens.as_ref().is_none_or(RateLimit::try_pass) {
            return Ok(Verdict::Busy);
        }
        // A task of its own: who asked first may go away, and the others still wait.
        let answer = tokio::spawn(self.clone().ask_and_remember(token.to_owned()));
        let asking = answer
            .map(|answer| answer.unwrap_or_else(|error| Err(Unanswered(error.to_string()))))
            .boxed()
            .shared();
        book.asking.insert(token.to_owned(), asking.clone());
        Err(asking)
    }

    async fn ask_and_remember(self, token: String) -> Result<Verdict, Unanswered> {
        let answer = match tokio::time::timeout(PATIENCE, self.ask(&token)).await {
            Ok(answer) => answer.map_err(|error| Unanswered(error_text::chain(&error))),
            Err(_) => Err(Unanswered(format!("nothing came within {PATIENCE:?}"))),
        };
        let mut book = self.book();
        book.asking.remove(&token);
        if let Ok(verdict) = answer {
            book.remember(token, verdict);
        }
        answer
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
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
}

impl Book {
    fn remember(&mut self, token: String, verdict: Verdict) {
        if self.verdicts.len() >= REMEMBERED && !self.verdicts.contains_key(&token) {
            // Refusals first, and the oldest of them: whoever invents tokens must not push those out who are allowed.
            let worth = |known: &(&String, &(Instant, Verdict))| {
                let (until, verdict) = *known.1;
                (verdict == Verdict::Allowed, until)
            };
            let least = self.verdicts.iter().min_by_key(worth);
            if let Some(least) = least.map(|(token, _)| token.clone()) {
                self.verdicts.remove(&least);
            }
        }
        let stands = match verdict {
            Verdict::Allowed => ALLOWED,
            Verdict::Unknown | Verdict::Forbidden | Verdict::Busy => REFUSED,
        };
        self.verdicts.insert(token, (clock::now() + stands, verdict));
        debug_assert!(self.verdicts.len() <= REMEMBERED, "what is remembered is bounded");
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

    /// How many questions of this kind the server was asked.
    fn reviews(server: &Server) -> usize {
        server.journal().resource("tokenreviews").len()
    }

    #[tokio::test(start_paused = true)]
    async fn invented_tokens_cost_few_reviews_and_keep_nobody_out() {
        let server = Server::new();
        server.install([account("prometheus")]).await.expect("an account");
        server.install(role()).await.expect("a role");
        let reviewer = Reviewer::new(server.client_as(User::admin()));
        let prometheus = token(&server, "prometheus").await;
        let judge = async |header: &str| reviewer.judge(Some(header)).await.expect("an answer");
        assert_eq!(judge(&prometheus).await, Verdict::Allowed);
        let seconds = 600;
        for second in 0..seconds {
            for number in 0..20 {
                let verdict = judge(&format!("Bearer invented-{second}-{number}")).await;
                assert!(matches!(verdict, Verdict::Unknown | Verdict::Busy), "{verdict:?}");
            }
            assert_eq!(judge(&prometheus).await, Verdict::Allowed, "after {second} s");
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let (asked, most) = (reviews(&server), seconds + 10 + seconds / 60 + 2);
        assert!(asked <= most, "{asked} reviews for 12,000 tokens, and not {most}");
        let remembered = reviewer.book().verdicts.len();
        assert!(remembered <= REMEMBERED, "{remembered}");
        assert!(reviewer.book().asking.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn one_token_is_asked_about_once_however_many_show_it() {
        let server = Server::new();
        let reviewer = Reviewer::new(server.client_as(User::admin()));
        let all = futures::future::join_all((0..50).map(|_| reviewer.judge(Some("Bearer x")))).await;
        for verdict in all {
            assert_eq!(verdict.expect("an answer"), Verdict::Unknown);
        }
        assert_eq!(reviews(&server), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_not_waited_for_without_end() {
        let hangs = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, std::convert::Infallible>>()
        });
        let reviewer = Reviewer::new(Client::new(hangs, "default"));
        let began = clock::now();
        let answers = futures::future::join_all((0..50).map(|_| reviewer.judge(Some("Bearer x")))).await;
        assert!(answers.iter().all(Result::is_err));
        assert_eq!(began.elapsed(), PATIENCE);
        assert!(reviewer.book().asking.is_empty());
    }
}
