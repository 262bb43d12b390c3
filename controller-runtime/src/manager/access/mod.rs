//! The access check: which declared kinds are not served, and which rights this process lacks.
//!
//! The questions come from [`Declaration::needs`], each asked once per namespace however many controllers need it
//! (`SelfSubjectAccessReview`, authorization.k8s.io/v1). A missing right is said once, by relation and verb, and taken back when it was granted.
//!
//! Not promised: that an operator without rights ends. It works as far as it may.

mod kinds;
mod refusals;
mod rights;

use std::{collections::BTreeMap, fmt};

use kube::Client;
use serde_json::json;

use super::review::review;
use crate::{
    clock,
    declare::{Declaration, Namespaces, Need, Scope},
};

use rights::Rights;
pub(crate) use {
    kinds::{Kinds, Unserved, discover, kinds},
    refusals::Refusals,
    rights::Change,
};

/// Something a process may or may not do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    group: String,
    resource: String,
    subresource: Option<String>,
    verb: String,
    /// `None` for all namespaces, or a kind without namespaces.
    namespace: Option<String>,
    /// `None` for objects of any name.
    name: Option<String>,
}

/// What to ask, and what each right is needed for.
#[derive(Clone, Debug)]
pub(crate) struct Questions(BTreeMap<Question, Reasons>);

/// What a right is needed for: each relation that stops without it, once.
#[derive(Clone, Debug, Default)]
struct Reasons(Vec<String>);

impl Reasons {
    fn add(&mut self, reason: &str) {
        if !self.0.iter().any(|known| known == reason) {
            self.0.push(reason.to_owned());
        }
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl Questions {
    /// And what the election of a leader needs of this lease.
    pub(crate) fn elects(mut self, lease: &str, namespace: &str) -> Self {
        for (verb, name) in [("create", None), ("get", Some(lease)), ("update", Some(lease))] {
            let mut question = Question::plain("coordination.k8s.io", "leases", verb);
            question.namespace = Some(namespace.to_owned());
            question.name = name.map(str::to_owned);
            self.0.entry(question).or_default().add("leader election");
        }
        self
    }

    /// And what it needs to ask about those who read `/metrics`.
    pub(crate) fn protects_metrics(mut self) -> Self {
        for (group, resource) in [
            ("authentication.k8s.io", "tokenreviews"),
            ("authorization.k8s.io", "subjectaccessreviews"),
        ] {
            let question = Question::plain(group, resource, "create");
            self.0.entry(question).or_default().add("protected metrics");
        }
        self
    }
}

/// The questions of all controllers, and what each right is needed for.
pub(crate) fn questions<'a>(
    declarations: impl IntoIterator<Item = &'a Declaration>,
    namespaces: &Namespaces,
) -> Questions {
    let mut questions = BTreeMap::<_, Reasons>::new();
    for need in declarations.into_iter().flat_map(Declaration::needs) {
        let places = match namespaces {
            _ if need.namespace.is_some() => vec![need.namespace.clone()],
            Namespaces::Only(names) if need.scope == Scope::Namespaced => {
                names.iter().cloned().map(Some).collect()
            }
            _ => vec![None],
        };
        for namespace in places {
            let question = Question::new(&need, namespace);
            questions.entry(question).or_default().add(&need.reason);
        }
    }
    Questions(questions)
}

impl Question {
    /// About objects of any name, wherever they are.
    fn plain(group: &str, resource: &str, verb: &str) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: None,
            verb: verb.to_owned(),
            namespace: None,
            name: None,
        }
    }

    fn new(need: &Need, namespace: Option<String>) -> Self {
        Self {
            group: need.group.clone(),
            resource: need.resource.clone(),
            subresource: need.subresource.clone(),
            verb: need.verb.clone(),
            namespace,
            name: None,
        }
    }

    async fn is_allowed(&self, client: &Client) -> kube::Result<bool> {
        let asked = json!({"resourceAttributes": {
            "group": self.group,
            "resource": self.resource,
            "subresource": self.subresource.as_deref().unwrap_or_default(),
            "verb": self.verb,
            "namespace": self.namespace.as_deref().unwrap_or_default(),
            "name": self.name.as_deref().unwrap_or_default(),
        }});
        let rights = review(client, "authorization.k8s.io", "SelfSubjectAccessReview", asked).await?;
        Ok(rights["allowed"] == true)
    }

    /// `owns ConfigMap: missing "watch" configmaps in namespace a`.
    fn say(&self, reasons: &Reasons) -> String {
        format!("{reasons}: missing {}", self.right())
    }

    /// `"watch" configmaps in namespace a`.
    fn right(&self) -> String {
        let mut right = format!("\"{}\" {}", self.verb, self.resource);
        if let Some(subresource) = &self.subresource {
            right.push('/');
            right.push_str(subresource);
        }
        if !self.group.is_empty() {
            right.push('.');
            right.push_str(&self.group);
        }
        if let Some(namespace) = &self.namespace {
            right.push_str(" in namespace ");
            right.push_str(namespace);
        }
        right
    }
}

/// Asks about each right at the start and about one that `refusals` casts doubt on, for as long as it is polled. `told` gets what changed, and
/// all that is missing then.
///
/// A server that does not answer reviews (an error, or no such API) leaves the question open, and it is asked again.
pub(crate) async fn watch_over(
    client: Client,
    questions: Questions,
    refusals: Refusals,
    mut rng: fastrand::Rng,
    mut told: impl FnMut(&[Change], &[String]),
) {
    let mut rights = Rights::new(questions, clock::now());
    loop {
        let mut changes = Vec::new();
        for question in rights.due(clock::now()) {
            let answer = question.is_allowed(&client).await;
            if let Err(error) = &answer {
                tracing::debug!(%error, "an access review was not answered");
            }
            changes.extend(rights.answered(&question, answer.ok(), clock::now(), rng.f64()));
        }
        if !changes.is_empty() {
            told(&changes, &rights.missing());
        }
        tokio::select! {
            biased;
            doubted = refusals.next() => {
                for question in &doubted {
                    rights.refused(question, clock::now());
                }
            }
            () = at(rights.next()) => {}
        }
    }
}

async fn at(moment: Option<clock::Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        time::Duration,
    };

    use http::Response;
    use k8s_openapi::api::core::v1::{ConfigMap, Node};
    use kube::client::Body;
    use tower::service_fn;

    use super::*;
    use crate::declare::{RelationDeclaration, RelationKind, Watched};

    fn declarations() -> [Declaration; 2] {
        let one = Declaration::new("one", Watched::new::<ConfigMap>(&()));
        let two = Declaration::new("two", Watched::new::<Node>(&()));
        [one, two]
    }

    #[test]
    fn each_right_is_asked_for_once_and_in_each_namespace() {
        let [one, two] = declarations();
        let all = [&one, &two, &one];
        assert_eq!(questions(all, &Namespaces::All).0.len(), 4);
        let only = Namespaces::Only(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(questions(all, &only).0.len(), 6, "nodes have no namespace");
    }

    /// Whoever loses one right by it is told all that stops.
    #[test]
    fn a_right_is_said_with_everything_that_needs_it() {
        let [one, mut two] = declarations();
        two.relations.push(RelationDeclaration::new(
            RelationKind::Watches,
            Watched::new::<ConfigMap>(&()),
        ));
        let Questions(questions) = questions([&one, &two, &two], &Namespaces::All);
        let said: Vec<_> = questions
            .iter()
            .map(|(right, reasons)| right.say(reasons))
            .collect();
        let wanted = "reconciles ConfigMap, watches ConfigMap: missing \"list\" configmaps";
        assert!(said.iter().any(|line| line == wanted), "{said:?}");
    }

    /// A question that is never answered keeps none of the others from being asked, nor itself from being asked again.
    #[tokio::test(start_paused = true)]
    async fn a_review_that_hangs_does_not_end_the_check() {
        let asked = Arc::new(Mutex::new(0));
        let noted = Arc::clone(&asked);
        let server = service_fn(move |_: http::Request<Body>| {
            let first = {
                let mut asked = noted.lock().expect("not poisoned");
                *asked += 1;
                *asked == 1
            };
            async move {
                if first {
                    std::future::pending::<()>().await;
                }
                let answer = serde_json::json!({"spec": {}, "status": {"allowed": false}});
                let body = Body::from(answer.to_string().into_bytes());
                let answer = Response::builder().status(201).body(body);
                Ok::<_, std::convert::Infallible>(answer.expect("a response"))
            }
        });
        let [one, _] = declarations();
        let questions = questions([&one], &Namespaces::All);
        let mut told = Vec::new();
        let watching = watch_over(
            Client::new(server, "default"),
            questions.clone(),
            Refusals::of(&questions),
            clock::rng(None),
            |_, missing| told = missing.to_vec(),
        );
        let _ = tokio::time::timeout(Duration::from_secs(600), watching).await;
        assert_eq!(told.len(), 2, "{told:?}");
    }

    /// Answers reviews: no at first, no answer at all in the second round, yes from the third.
    fn server(asked: Arc<Mutex<Vec<String>>>) -> Client {
        let service = service_fn(move |request: http::Request<Body>| {
            let asked = Arc::clone(&asked);
            async move {
                let body = request.into_body().collect_bytes().await.expect("a body");
                let review: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
                let verb = review["spec"]["resourceAttributes"]["verb"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                let round = {
                    let mut asked = asked.lock().expect("not poisoned");
                    asked.push(verb.clone());
                    asked.iter().filter(|before| **before == verb).count()
                };
                let (code, answer) = match round {
                    1 => (
                        201,
                        serde_json::json!({"spec": {}, "status": {"allowed": verb == "list"}}),
                    ),
                    2 => (
                        500,
                        serde_json::json!({"kind": "Status", "code": 500, "message": "no"}),
                    ),
                    _ => (201, serde_json::json!({"spec": {}, "status": {"allowed": true}})),
                };
                let body = Body::from(answer.to_string().into_bytes());
                Ok::<_, std::convert::Infallible>(
                    Response::builder().status(code).body(body).expect("a response"),
                )
            }
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_missing_is_said_once_and_taken_back_when_granted() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let [one, _] = declarations();
        let questions = questions([&one], &Namespaces::Only(vec!["a".to_owned()]));
        let mut told = Vec::new();
        let watching = watch_over(
            server(Arc::clone(&asked)),
            questions.clone(),
            Refusals::of(&questions),
            clock::rng(None),
            |_, missing| {
                told.push((missing.to_vec(), asked.lock().expect("not poisoned").len()));
            },
        );
        let an_hour = tokio::time::timeout(Duration::from_secs(3600), watching).await;
        assert!(an_hour.is_err(), "it never ends: a right may be revoked");
        let missing = "reconciles ConfigMap: missing \"watch\" configmaps in namespace a".to_owned();
        assert_eq!(
            told,
            [(vec![missing], 2), (vec![], 4)],
            "an error in between changes nothing"
        );
        assert_eq!(
            *asked.lock().expect("not poisoned"),
            ["list", "watch", "watch", "watch"]
        );
    }
}
