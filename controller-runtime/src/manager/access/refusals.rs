//! Which declared rights a refused request (403) casts doubt on: from the client, which sees the answers, to the access check.
//!
//! What waits is a subset of the declared rights, so nothing here grows with the requests; a request that is not refused costs one
//! comparison.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use http::{Method, StatusCode, Uri};
use tokio::sync::Notify;

use super::{Question, Questions};

/// Doubts that wait to be looked into. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Refusals(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    declared: BTreeSet<Question>,
    /// Invariant: a subset of `declared`.
    doubted: Mutex<BTreeSet<Question>>,
    news: Notify,
}

impl Refusals {
    /// Doubts about these rights, and no others.
    pub(crate) fn of(Questions(questions): &Questions) -> Self {
        Self(Arc::new(Shared {
            declared: questions.keys().cloned().collect(),
            doubted: Mutex::default(),
            news: Notify::new(),
        }))
    }

    /// What a request was answered.
    pub(crate) fn answered(&self, method: &Method, uri: &Uri, status: StatusCode) {
        if status != StatusCode::FORBIDDEN {
            return;
        }
        let Some(asked) = asked(method, uri) else {
            return;
        };
        let doubted: Vec<_> = self
            .0
            .declared
            .iter()
            .filter(|right| doubts(&asked, right))
            .collect();
        if doubted.is_empty() {
            return;
        }
        let mut waiting = self.0.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(doubted.into_iter().cloned());
        self.0.news.notify_one();
    }

    /// The rights that are in doubt since the last call; waits for one.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn next(&self) -> BTreeSet<Question> {
        loop {
            let doubted = std::mem::take(&mut *self.0.doubted.lock().unwrap_or_else(PoisonError::into_inner));
            if !doubted.is_empty() {
                return doubted;
            }
            self.0.news.notified().await;
        }
    }
}

/// Whether the refusal of what was asked may be for the want of a right.
fn doubts(asked: &Question, right: &Question) -> bool {
    let place = right.namespace.is_none() || right.namespace == asked.namespace;
    let same = (&right.group, &right.resource, &right.subresource)
        == (&asked.group, &asked.resource, &asked.subresource);
    // An apply that makes the object is asked about as a creation too.
    let verb = right.verb == asked.verb || (asked.verb == "patch" && right.verb == "create");
    // A blocking owner reference needs the right to update the finalizers of the owner, whose kind the path does not tell.
    let writes = matches!(&*asked.verb, "create" | "update" | "patch");
    let owner = writes && right.subresource.as_deref() == Some("finalizers");
    place && ((same && verb) || owner)
}

/// What a request asks for, in the words of authorization (kubernetes.io, "Determine the Request Verb"). `None` for what is no resource.
fn asked(method: &Method, uri: &Uri) -> Option<Question> {
    let path: Vec<_> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
    let (group, rest) = match *path.as_slice() {
        ["api", _, ref rest @ ..] => ("", rest),
        ["apis", group, _, ref rest @ ..] => (group, rest),
        _ => return None,
    };
    let (namespace, rest) = match *rest {
        ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, _, ..] => (Some(namespace), &rest[2..]),
        _ => (None, rest),
    };
    let (resource, named) = rest.split_first()?;
    let verb = match *method {
        Method::GET | Method::HEAD if !named.is_empty() => "get",
        Method::GET | Method::HEAD if watches(uri) => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        _ => return None,
    };
    Some(Question {
        group: group.to_owned(),
        resource: (*resource).to_owned(),
        subresource: named.get(1).map(|subresource| (*subresource).to_owned()),
        verb: verb.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: None,
    })
}

fn watches(uri: &Uri) -> bool {
    let mut parameters = uri.query().unwrap_or_default().split('&');
    parameters.any(|parameter| matches!(parameter, "watch" | "watch=true" | "watch=1"))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::{super::questions, *};
    use crate::declare::{Declaration, Namespaces, Watched};

    #[test]
    fn a_request_is_read_as_authorization_reads_it() {
        for (method, uri, expected) in [
            (Method::GET, "/api/v1/nodes", "list nodes"),
            (Method::GET, "/api/v1/nodes?watch=true&limit=1", "watch nodes"),
            (Method::GET, "/api/v1/namespaces", "list namespaces"),
            (Method::GET, "/api/v1/namespaces/a", "get namespaces"),
            (
                Method::PUT,
                "/api/v1/namespaces/a/status",
                "update namespaces/status",
            ),
            (
                Method::PUT,
                "/api/v1/namespaces/a/finalize",
                "update namespaces/finalize",
            ),
            (Method::GET, "/api/v1/namespaces/a/pods", "list pods in a"),
            (
                Method::GET,
                "/api/v1/namespaces/a/pods/b/log",
                "get pods/log in a",
            ),
            (
                Method::POST,
                "/apis/apps/v1/namespaces/a/deployments",
                "create deployments.apps in a",
            ),
            (
                Method::PATCH,
                "/apis/apps/v1/namespaces/a/deployments/b/status?force=true",
                "patch deployments/status.apps in a",
            ),
            (Method::DELETE, "/apis/x.io/v1/things/b", "delete things.x.io"),
            (
                Method::DELETE,
                "/apis/x.io/v1/things",
                "deletecollection things.x.io",
            ),
        ] {
            let right = asked(&method, &uri.parse().expect("a URI"))
                .expect("a resource")
                .right();
            assert_eq!(
                right.replace(" in namespace ", " in ").replace('"', ""),
                expected,
                "{uri}"
            );
        }
        for uri in ["/version", "/api", "/apis/apps/v1", "/metrics", "/"] {
            assert_eq!(asked(&Method::GET, &uri.parse().expect("a URI")), None, "{uri}");
        }
    }

    /// However many requests are refused, in however many namespaces, only what is declared waits.
    #[tokio::test(start_paused = true)]
    async fn a_flood_of_refusals_is_as_many_doubts_as_rights_are_declared() {
        let one = Declaration::new("one", Watched::new::<ConfigMap>(&()));
        let refusals = Refusals::of(&questions([&one], &Namespaces::All));
        let tell = |resource: &str, status| {
            for number in 0..10_000 {
                let uri = format!("/api/v1/namespaces/n{number}/{resource}")
                    .parse()
                    .expect("a URI");
                refusals.answered(&Method::GET, &uri, status);
            }
        };
        tell("secrets", StatusCode::FORBIDDEN);
        tell("configmaps", StatusCode::NOT_FOUND);
        assert_eq!(
            refusals.next().now_or_never(),
            None,
            "neither declared nor refused"
        );
        tell("configmaps", StatusCode::FORBIDDEN);
        let doubted = refusals.next().now_or_never().expect("a doubt");
        let verbs: Vec<_> = doubted.iter().map(|right| &*right.verb).collect();
        assert_eq!(verbs, ["list"]);
        assert_eq!(refusals.next().now_or_never(), None, "told once");
    }
}
