//! A test that fails tells what happened.

use std::{process::Command, time::Duration};

use controller_runtime::{
    prelude::*,
    testing::{Cluster, Fault, Verb, When},
};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::{Page, operator, page};

/// Lets the tests here fail, whose output another reads.
const FAIL: &str = "CONTROLLER_TEST_FAIL";

fn shall_fail() -> bool {
    std::env::var_os(FAIL).is_some()
}

#[controller_test(run = operator(), seed = 5)]
async fn fails_by_a_panic(cluster: Cluster) {
    cluster.fault(
        When::verb(Verb::Patch).resource("configmaps").times(1),
        Fault::status(503),
    );
    cluster.apply([page(""), Page::new("b", page("text").spec)]).await;
    cluster.advance(Duration::from_secs(2)).await;
    if shall_fail() {
        cluster.get::<ConfigMap>("a").await;
    }
}

#[controller_test]
async fn fails_by_an_error(cluster: Cluster) -> Result<(), kube::Error> {
    if shall_fail() {
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
        maps.get("nowhere").await?;
    }
    Ok(())
}

#[controller(name = "short")]
#[allow(clippy::unused_async, reason = "a reconcile function is async")]
async fn short(_map: Arc<ConfigMap>, _ctx: Arc<u32>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

async fn no_context(_client: &Client) -> Result<u32, std::io::Error> {
    Err(std::io::Error::other("no database"))
}

#[controller_test]
async fn fails_by_an_operator_that_ends(cluster: Cluster) {
    if shall_fail() {
        cluster.start(short::controller(no_context)).await;
        cluster.settle().await;
    }
}

/// What a test here tells when it fails.
fn told_by(test: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("failing::{test}"), "--nocapture"])
        .env(FAIL, "1")
        .output()
        .unwrap();
    assert!(!output.status.success(), "{test} does not fail");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_timeline_shows_reconciles_requests_and_events_in_order() {
    let told = told_by("fails_by_a_panic");
    assert!(
        told.contains("there is no ConfigMap default/a; there are [\"default/b\"]"),
        "{told}"
    );
    assert!(
        told.contains("failing.rs:"),
        "the line of the test is told: {told}"
    );
    assert!(told.contains("What happened (seed 5"), "{told}");
    let mut rest = told.as_str();
    for line in [
        "synced     pages",
        "test       patch pages default/a → 201",
        "event      Warning Page default/a NoText: a page without a text",
        "reconcile  Page default/a: failed for good: no text (because: changed)",
        "request    patch configmaps default/b → 503 ServiceUnavailable (fault: answer)",
        "reconcile  Page default/b: failed: kubernetes: ",
        "(because: changed)",
        "reconcile  Page default/b: ok (because: tried again)",
    ] {
        let Some(at) = rest.find(line) else {
            panic!("{line:?} is missing, or too early, in\n{told}")
        };
        rest = &rest[at..];
    }
}

#[test]
fn an_error_and_an_operator_that_ends_are_told() {
    let told = told_by("fails_by_an_error");
    assert!(told.contains("the test returned an error: Api("), "{told}");
    assert!(
        told.contains("test       get configmaps default/nowhere → 404 NotFound"),
        "{told}"
    );
    let told = told_by("fails_by_an_operator_that_ends");
    assert!(
        told.contains("the operator short has ended: controller short ended: no database"),
        "{told}"
    );
}
