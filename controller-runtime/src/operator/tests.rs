//! The life of an operator, with controllers that do what each test needs.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::{BoxFuture, FutureExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use tokio::sync::Notify;

use super::*;
use crate::{
    declare::{BoxError, Environment, Watched},
    manager::{Board, Readiness},
    runner::{Event, Started, Subject},
};

/// A controller each of whose lives is one call of a function.
pub(super) struct Fake<F> {
    declaration: Declaration,
    lives: Mutex<F>,
}

pub(super) fn fake<F, Fut>(name: &str, life: F) -> Fake<F>
where
    F: FnMut(Environment) -> Fut + Send,
    Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    Fake::of(Declaration::new(name, Watched::new::<ConfigMap>(&())), life)
}

impl<F> Fake<F> {
    pub(super) fn of(declaration: Declaration, life: F) -> Self {
        let lives = Mutex::new(life);
        Self { declaration, lives }
    }
}

impl<F, Fut> Runnable for Fake<F>
where
    F: FnMut(Environment) -> Fut + Send,
    Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn run(&self, environment: Environment) -> BoxFuture<'static, Result<(), BoxError>> {
        (self.lives.lock().unwrap())(environment).boxed()
    }
}

/// A controller of this declaration that does nothing.
#[cfg(feature = "cli")]
pub(super) fn declared(declaration: Declaration) -> impl Runnable {
    Fake::of(declaration, well_behaved)
}

async fn well_behaved(environment: Environment) -> Result<(), BoxError> {
    environment.observer.observe("good", &Event::Synced);
    environment.shutdown.await;
    Ok(())
}

/// A server that nobody is meant to ask.
fn client() -> Client {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Ok::<_, Infallible>(http::Response::new(kube::client::Body::empty()))
    });
    Client::new(service, "default")
}

fn options(stop: &Stop) -> RunOptions {
    RunOptions::new().client(client()).stop_on(stop)
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("never: {what}");
}

#[tokio::test(start_paused = true)]
async fn the_first_wish_to_stop_turns_readiness_red_and_ends_well() {
    let (board, stop) = (Board::new("documents"), Stop::new());
    let operator = Operator::new("documents").controller(fake("good", well_behaved));
    let run = tokio::spawn({
        let (board, options) = (board.clone(), options(&stop));
        async move { operator.run_on(&board, options).await }
    });
    until("ready", || board.readiness() == Readiness::Ready).await;
    stop.now();
    run.await.unwrap().unwrap();
    assert!(!board.readiness().is_ready());
}

#[tokio::test(start_paused = true)]
async fn the_second_wish_drops_what_runs_and_names_it() {
    let (board, stop) = (Board::new("documents"), Stop::new());
    let dropped = Arc::new(Notify::new());
    struct OnDrop(Arc<Notify>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let noted = dropped.clone();
    let stubborn = fake("good", move |environment: Environment| {
        let guard = OnDrop(noted.clone());
        async move {
            let _guard = guard;
            let object = Subject {
                kind: "ConfigMap",
                namespace: Some("default"),
                name: "slow",
            };
            let started = Started {
                id: 1,
                object,
                causes: &[],
                failures: 0,
                waited: Duration::ZERO,
            };
            environment.observer.observe("good", &Event::Started(started));
            std::future::pending().await
        }
    });
    let run = tokio::spawn({
        let (board, options) = (board.clone(), options(&stop));
        async move {
            Operator::new("documents")
                .controller(stubborn)
                .run_on(&board, options)
                .await
        }
    });
    until("running", || !board.running().is_empty()).await;
    stop.now();
    until("stopping", || !board.readiness().is_ready()).await;
    assert!(!run.is_finished());
    stop.now();
    let error = run.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("ConfigMap default/slow"), "{error}");
    dropped.notified().await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_ends_ends_the_operator_with_its_reason() {
    for (life, reason) in [
        (async { Err("no database".into()) }.boxed(), "no database"),
        (async { Ok(()) }.boxed(), "though nobody asked it to"),
        (async { panic!("boom") }.boxed(), "it panicked"),
    ] {
        let (board, stop) = (Board::new("documents"), Stop::new());
        let operator = Operator::new("documents")
            .controller(fake("bad", {
                let mut life = Some(life);
                move |_| life.take().expect("it is not started again")
            }))
            .controller(fake("good", well_behaved));
        let error = operator
            .run_on(&board, options(&stop))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("controller bad ended: ") && error.contains(reason),
            "{error}"
        );
        assert!(board.readiness().to_string().contains(reason));
    }
}

/// Whatever a context waits for: there is nothing yet that would have to end in good order.
#[tokio::test(start_paused = true)]
async fn a_context_that_never_comes_does_not_hold_up_the_end() {
    struct Database;
    async fn connect(_: &Client) -> Result<Database, Infallible> {
        std::future::pending().await
    }
    #[crate::controller(name = "waits", context = Database)]
    async fn waits(_map: Arc<ConfigMap>, _: Arc<Database>) -> Result<crate::Action, kube::Error> {
        std::future::ready(Ok(crate::Action::await_change())).await
    }
    let stop = Stop::new();
    let run = tokio::spawn(
        Operator::new("documents")
            .controller(waits::controller(connect))
            .run(options(&stop)),
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    stop.now();
    let ended = tokio::time::timeout(Duration::from_secs(1), run).await;
    ended.expect("at once").unwrap().unwrap();
}

/// The end of a controller asks the others to stop once, however many end and whoever asked before: nobody's work is cut.
#[tokio::test(start_paused = true)]
async fn several_ends_are_one_wish_to_stop() {
    for asked in [false, true] {
        let (board, stop) = (Board::new("documents"), Stop::new());
        let finished = Arc::new(Mutex::new(false));
        let failing = |name| {
            fake(name, move |environment: Environment| async move {
                if asked {
                    environment.shutdown.await;
                }
                Err("no database".into())
            })
        };
        let noted = Arc::clone(&finished);
        let slow = fake("slow", move |environment: Environment| {
            let noted = Arc::clone(&noted);
            async move {
                environment.shutdown.await;
                tokio::time::sleep(Duration::from_secs(5)).await;
                *noted.lock().unwrap() = true;
                Ok(())
            }
        });
        let operator = Operator::new("documents")
            .controller(failing("one"))
            .controller(failing("two"))
            .controller(slow);
        let run = tokio::spawn({
            let (board, options) = (board.clone(), options(&stop));
            async move { operator.run_on(&board, options).await }
        });
        if asked {
            tokio::task::yield_now().await;
            stop.now();
        }
        let end = run.await.unwrap();
        assert!(
            matches!(end, Err(OperatorError::ControllerEnded { .. })),
            "{end:?}"
        );
        assert!(*finished.lock().unwrap(), "the third was cut off");
    }
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_ends_is_started_again_where_that_was_chosen() {
    let (board, stop) = (Board::new("documents"), Stop::new());
    let lives = Arc::new(Mutex::new(Vec::new()));
    let noted = lives.clone();
    let fickle = fake("fickle", move |environment: Environment| {
        let life = {
            let mut lives = noted.lock().unwrap();
            lives.push(tokio::time::Instant::now());
            lives.len()
        };
        async move {
            match life {
                1 => Err("no database".into()),
                2 => panic!("boom"),
                3 => Ok(()),
                _ => {
                    environment.observer.observe("fickle", &Event::Synced);
                    environment.shutdown.await;
                    Ok(())
                }
            }
        }
    });
    let operator = Operator::new("documents")
        .controller(fickle)
        .controller(fake("good", well_behaved));
    let backoff = crate::Backoff::default()
        .initial(Duration::from_secs(1))
        .factor(2.0)
        .jitter(0.0);
    let options = options(&stop).when_ended(WhenEnded::Restart(backoff));
    let run = tokio::spawn({
        let board = board.clone();
        async move { operator.run_on(&board, options).await }
    });
    until("its end is told", || {
        board
            .readiness()
            .to_string()
            .contains("fickle: ended: no database")
    })
    .await;
    assert!(!board.readiness().is_ready(), "not while it does not run");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        board.readiness(),
        Readiness::Ready,
        "without a restart of the process"
    );
    let began: Vec<_> = lives.lock().unwrap().clone();
    let pauses: Vec<_> = began
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs())
        .collect();
    assert_eq!(pauses, [1, 2, 4]);
    stop.now();
    run.await.unwrap().unwrap();
    assert_eq!(
        lives.lock().unwrap().len(),
        4,
        "what was asked to end is not started again"
    );
}

#[tokio::test(start_paused = true)]
async fn requests_leave_at_the_rate_that_was_chosen() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let noted = sent.clone();
    let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
        noted.lock().unwrap().push(tokio::time::Instant::now());
        async { Ok::<_, Infallible>(http::Response::new(kube::client::Body::empty())) }
    });
    let stop = Stop::new();
    let asks = fake("asks", |environment: Environment| async move {
        for _ in 0..30 {
            let request = http::Request::get("/version").body(Vec::new())?;
            environment.client.request_text(request).await?;
        }
        environment.shutdown.await;
        Ok(())
    });
    let options = RunOptions::new()
        .client(Client::new(service, "default"))
        .rate_limit(RateLimit::new(10.0, 10).unwrap())
        .stop_on(&stop);
    let run = tokio::spawn(Operator::new("documents").controller(asks).run(options));
    tokio::time::sleep(Duration::from_secs(20)).await;
    let sent = sent.lock().unwrap().clone();
    assert!(sent.len() >= 30, "{}", sent.len());
    for window in sent.windows(12) {
        let span = window[11] - window[0];
        assert!(span >= Duration::from_millis(99), "12 requests within {span:?}");
    }
    stop.now();
    run.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn mistakes_in_the_wiring_are_told_before_anything_runs() {
    let stop = Stop::new();
    let none = Operator::new("x").run(options(&stop)).await.unwrap_err();
    assert!(none.to_string().contains("no controllers"), "{none}");
    let twice = Operator::new("x")
        .controller(fake("a", well_behaved))
        .controller(fake("a", well_behaved));
    let error = twice.run(options(&stop)).await.unwrap_err();
    assert!(
        error.to_string().contains("two controllers are named \"a\""),
        "{error}"
    );
}

#[cfg(feature = "probes")]
#[tokio::test]
async fn a_port_in_use_is_told_with_what_to_do() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let operator = Operator::new("documents").controller(fake("good", well_behaved));
    let error = operator
        .run(options(&Stop::new()).address(address))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(&format!("cannot listen on {address}: ")),
        "{error}"
    );
    assert!(error.contains("--address"), "{error}");
}

/// A kind that an operator brings.
#[cfg(feature = "cli")]
pub(super) struct Brings;
#[cfg(feature = "cli")]
impl CustomResourceExt for Brings {
    fn crd() -> CustomResourceDefinition {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "documents.example.com" },
            "spec": { "group": "example.com", "names": { "kind": "Document", "plural": "documents" },
                      "scope": "Namespaced", "versions": [] },
        }))
        .unwrap()
    }

    fn crd_name() -> &'static str {
        "documents.example.com"
    }

    fn api_resource() -> kube::discovery::ApiResource {
        unreachable!("not asked here")
    }

    fn shortnames() -> &'static [&'static str] {
        &[]
    }
}

#[cfg(feature = "cli")]
#[test]
fn the_crds_are_yaml_documents() {
    let text = Operator::new("documents")
        .crd::<Brings>()
        .crd::<Brings>()
        .crds_yaml()
        .unwrap();
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(documents.len(), 2);
    assert_eq!(documents[1]["metadata"]["name"], "documents.example.com");
}
