//! What a scrape shows.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use super::Metrics;
use crate::{
    declare::{Declaration, Watched},
    runner::{Event, Finished, Observer, Outcome, SourceChange, Started, Subject},
    trigger::Cause,
};

const CONTROLLER: &str = "documents";

fn declaration() -> Declaration {
    Declaration::new(CONTROLLER, Watched::new::<ConfigMap>(&()))
}

fn metrics() -> Metrics {
    let metrics = Metrics::new("operator", "0.0.0");
    metrics.expect(&declaration());
    metrics
}

fn subject(name: &str) -> Subject<'_> {
    Subject {
        kind: "ConfigMap",
        namespace: Some("default"),
        name,
    }
}

fn run(metrics: &Metrics, id: u64, name: &str, outcome: Outcome<'_>) {
    let started = Started {
        id,
        object: subject(name),
        causes: &[Cause::Initial],
        failures: 0,
        waited: Duration::from_millis(3),
    };
    metrics.observe(CONTROLLER, &Event::Started(started));
    let finished = Finished {
        id,
        object: subject(name),
        outcome,
        took: Duration::from_millis(120),
        next_run: None,
        failures: 0,
    };
    metrics.observe(CONTROLLER, &Event::Finished(finished));
}

fn series(text: &str) -> usize {
    text.lines().filter(|line| !line.starts_with('#')).count()
}

/// The value of the one series whose line begins so.
fn value(text: &str, series: &str) -> f64 {
    let mut found = text.lines().filter_map(|line| line.strip_prefix(series));
    let value = found
        .next()
        .unwrap_or_else(|| panic!("no series {series} in\n{text}"));
    assert!(found.next().is_none(), "{series} is ambiguous");
    value.trim().parse().expect("a number")
}

#[test]
fn each_outcome_is_counted_where_it_belongs() {
    let metrics = metrics();
    let error = std::io::Error::other("no");
    run(&metrics, 1, "a", Outcome::Done);
    run(&metrics, 2, "a", Outcome::Requeued(Duration::from_secs(5)));
    run(&metrics, 3, "a", Outcome::Failed(&error));
    run(&metrics, 4, "a", Outcome::Permanent(&error));
    run(&metrics, 5, "a", Outcome::Panicked("no"));
    run(&metrics, 6, "a", Outcome::TimedOut(Duration::from_secs(5)));
    run(&metrics, 7, "a", Outcome::Missing);
    let text = metrics.encode();
    let total = |result| {
        let series =
            format!(r#"controller_runtime_reconcile_total{{controller="documents",result="{result}"}}"#);
        value(&text, &series)
    };
    assert_eq!(total("success").to_bits(), 1.0_f64.to_bits());
    assert_eq!(total("requeue_after").to_bits(), 1.0_f64.to_bits());
    assert_eq!(total("error").to_bits(), 4.0_f64.to_bits());
    let of = |name: &str| {
        value(
            &text,
            &format!(r#"controller_runtime_{name}{{controller="documents"}}"#),
        )
    };
    for (name, count) in [
        ("reconcile_errors_total", 4.0),
        ("terminal_reconcile_errors_total", 1.0),
        ("reconcile_panics_total", 1.0),
        ("reconcile_timeouts_total", 1.0),
        ("reconcile_time_seconds_count", 6.0_f64),
    ] {
        assert_eq!(of(name).to_bits(), count.to_bits(), "{name}");
    }
    let retries = value(
        &text,
        r#"workqueue_retries_total{name="documents",controller="documents"}"#,
    );
    assert_eq!(
        retries.to_bits(),
        3.0_f64.to_bits(),
        "a permanent error is not tried again"
    );
}

/// operator-framework/java-operator-sdk#1803: a series for each object that ever lived.
#[test]
fn the_number_of_series_does_not_depend_on_the_number_of_objects() {
    let metrics = metrics();
    run(&metrics, 0, "first", Outcome::Done);
    let before = series(&metrics.encode());
    for id in 1..2000 {
        run(&metrics, id, &format!("object-{id}"), Outcome::Done);
    }
    assert_eq!(series(&metrics.encode()), before);
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_told_while_it_runs() {
    let metrics = metrics();
    let started = Started {
        id: 1,
        object: subject("a"),
        causes: &[],
        failures: 0,
        waited: Duration::ZERO,
    };
    metrics.observe(CONTROLLER, &Event::Started(started));
    tokio::time::advance(Duration::from_secs(7)).await;
    let text = metrics.encode();
    let longest = value(
        &text,
        r#"workqueue_longest_running_processor_seconds{name="documents",controller="documents"}"#,
    );
    assert_eq!(longest.to_bits(), 7.0_f64.to_bits());
}

#[test]
fn a_source_that_fails_is_told() {
    let metrics = metrics();
    let none = BTreeMap::new();
    let change = |problem| {
        Event::Source(SourceChange {
            kind: "ConfigMap",
            namespace: None,
            problem,
            synced: true,
            relists: 0,
            undecodable: &none,
        })
    };
    metrics.observe(CONTROLLER, &change(None));
    metrics.observe(CONTROLLER, &change(Some("forbidden")));
    let text = metrics.encode();
    let labels = r#"{controller="documents",kind="ConfigMap"}"#;
    let healthy = value(&text, &format!("controller_runtime_source_healthy{labels}"));
    let problems = value(
        &text,
        &format!("controller_runtime_source_problems_total{labels}"),
    );
    assert_eq!(
        (healthy.to_bits(), problems.to_bits()),
        (0.0_f64.to_bits(), 1.0_f64.to_bits())
    );
}

/// What one namespace tells hides nothing of the others, and a trouble counts once, however often it is told.
#[test]
fn a_source_fails_while_it_fails_in_any_namespace_and_is_counted_when_it_begins_to() {
    let metrics = metrics();
    let none = BTreeMap::new();
    let labels = r#"{controller="documents",kind="ConfigMap"}"#;
    for (namespace, problem, healthy, problems) in [
        ("a", None, 1.0, 0.0),
        ("b", None, 1.0, 0.0),
        ("a", Some("forbidden"), 0.0, 1.0),
        ("b", None, 0.0, 1.0),
        ("a", Some("forbidden"), 0.0, 1.0),
        ("a", Some("away"), 0.0, 1.0),
        ("b", Some("away"), 0.0, 2.0),
        ("a", None, 0.0, 2.0),
        ("b", None, 1.0, 2.0),
        ("a", Some("away"), 0.0, 3.0_f64),
    ] {
        metrics.observe(
            CONTROLLER,
            &Event::Source(SourceChange {
                kind: "ConfigMap",
                namespace: Some(namespace),
                problem,
                synced: true,
                relists: 0,
                undecodable: &none,
            }),
        );
        let text = metrics.encode();
        let is = |name: &str| value(&text, &format!("controller_runtime_{name}{labels}")).to_bits();
        assert_eq!(
            (is("source_healthy"), is("source_problems_total")),
            (f64::to_bits(healthy), f64::to_bits(problems)),
            "{namespace}: {problem:?}"
        );
    }
}

/// A kind is in sync when all its namespaces are; lists that were read again are counted, also those of a controller that was started again.
#[test]
fn sources_tell_whether_they_are_in_sync_and_how_often_they_were_listed_again() {
    let metrics = metrics();
    let none = BTreeMap::new();
    let labels = r#"{controller="documents",kind="ConfigMap"}"#;
    let told = |name: &str| {
        let text = metrics.encode();
        value(&text, &format!("controller_runtime_source_{name}{labels}")).to_bits()
    };
    assert_eq!((told("synced"), told("relists_total")), (0, 0), "from the start");
    for (namespace, synced, relists, is_synced, total) in [
        ("a", false, 0, 0.0, 0.0),
        ("b", false, 0, 0.0, 0.0),
        ("a", true, 0, 0.0, 0.0),
        ("b", true, 0, 1.0, 0.0),
        ("a", true, 2, 1.0, 2.0),
        ("b", true, 1, 1.0, 3.0),
        ("b", false, 0, 0.0, 3.0),
        ("b", true, 0, 1.0, 3.0),
        ("b", true, 1, 1.0, 4.0_f64),
    ] {
        metrics.observe(
            CONTROLLER,
            &Event::Source(SourceChange {
                kind: "ConfigMap",
                namespace: Some(namespace),
                problem: None,
                synced,
                relists,
                undecodable: &none,
            }),
        );
        let is = (told("synced"), told("relists_total"), told("healthy"));
        let should = (
            f64::to_bits(is_synced),
            f64::to_bits(total),
            f64::to_bits(is_synced),
        );
        assert_eq!(is, should, "{namespace}, {synced}, {relists}");
    }
}

#[tokio::test]
async fn requests_are_counted_by_code_method_and_host() {
    let metrics = metrics();
    let service = ServiceBuilder::new()
        .layer(metrics.client_layer("cluster.example:6443"))
        .service(service_fn(|request: http::Request<()>| async move {
            let code = if request.uri().path() == "/ok" { 200 } else { 404 };
            http::Response::builder().status(code).body(())
        }));
    for path in ["/ok", "/ok", "/else"] {
        let request = http::Request::get(path).body(()).expect("a request");
        service.clone().oneshot(request).await.expect("answered");
    }
    let text = metrics.encode();
    let count = |code| {
        let labels = format!(r#"{{code="{code}",method="GET",host="cluster.example:6443"}}"#);
        value(&text, &format!("rest_client_requests_total{labels}")).to_bits()
    };
    assert_eq!((count(200), count(404)), (2.0_f64.to_bits(), 1.0_f64.to_bits()));
}
