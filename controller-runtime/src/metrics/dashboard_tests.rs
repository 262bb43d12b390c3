//! What dashboards ask for is there: each name, with each label that they select by, group by or show.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;

use super::{Metrics, labels::OfRequest};
use crate::declare::{Declaration, Watched};

/// What Prometheus adds to every series by the Pod that it scrapes.
const OF_THE_TARGET: [&str; 5] = ["container", "instance", "job", "namespace", "pod"];

/// A scrape before anything has happened: the labels of each name.
fn scraped(metrics: &Metrics) -> BTreeMap<String, BTreeSet<String>> {
    metrics.expect(&Declaration::new("documents", Watched::new::<ConfigMap>(&())));
    let text = metrics.encode();
    let series = text.lines().filter(|line| !line.starts_with('#'));
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for line in series {
        let (name, labels) = line.split_once(['{', ' ']).expect("a name and more");
        all.entry(name.to_owned())
            .or_default()
            .extend(words_before(labels, "=\""));
    }
    all
}

/// The words right before each mark.
fn words_before(text: &str, mark: &str) -> Vec<String> {
    let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let mut before: Vec<_> = text.split(mark).collect();
    before.pop();
    let words = before
        .into_iter()
        .map(|before| before[before.rfind(part).map_or(0, |at| at + 1)..].to_owned());
    words.collect()
}

/// What is missing of a name with these labels.
fn missing<'a>(
    scraped: &BTreeMap<String, BTreeSet<String>>,
    name: &str,
    labels: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let Some(there) = scraped.get(name) else {
        return Some(format!("{name} does not exist"));
    };
    let lacks = |label: &&str| !there.contains(*label) && !OF_THE_TARGET.contains(label);
    let lacking: Vec<_> = labels.into_iter().filter(lacks).collect();
    (!lacking.is_empty()).then(|| format!("{name} has no {lacking:?}, but {there:?}"))
}

/// The two that kubebuilder's plugin makes, `controller-runtime-metrics.json` and `controller-resources-metrics.json`: each name, and the labels
/// of its expressions, legends and variables. The last two names are of other dashboards for Go operators.
#[test]
fn the_dashboards_that_kubebuilder_makes_find_every_series_before_anything_happens() {
    let scraped = scraped(&Metrics::new("operator", "0.0.0"));
    for (name, labels) in [
        (
            "controller_runtime_active_workers",
            "job namespace controller instance",
        ),
        ("controller_runtime_reconcile_total", "job namespace instance pod"),
        (
            "controller_runtime_reconcile_errors_total",
            "job namespace instance pod",
        ),
        ("workqueue_depth", "job namespace"),
        (
            "workqueue_queue_duration_seconds_bucket",
            "job namespace instance name le",
        ),
        ("workqueue_adds_total", "job namespace instance name"),
        ("workqueue_unfinished_work_seconds", "job namespace"),
        (
            "workqueue_work_duration_seconds_bucket",
            "job namespace instance name le",
        ),
        ("workqueue_retries_total", "job namespace instance name"),
        ("process_cpu_seconds_total", "job namespace pod container"),
        ("process_resident_memory_bytes", "job namespace pod container"),
        ("controller_runtime_max_concurrent_reconciles", "controller"),
        ("workqueue_longest_running_processor_seconds", "name controller"),
    ] {
        assert_eq!(missing(&scraped, name, labels.split(' ')), None);
    }
}

/// Prometheus would rename ours, and a dashboard would select by the wrong one.
#[test]
fn no_series_has_a_label_of_the_target() {
    for (name, labels) in scraped(&Metrics::new("operator", "0.0.0")) {
        let taken: Vec<_> = labels
            .iter()
            .filter(|label| OF_THE_TARGET.contains(&label.as_str()))
            .collect();
        assert!(taken.is_empty(), "{name}: {taken:?}");
    }
}

#[test]
fn the_guide_names_every_metric() {
    let guide = include_str!("../../guide/metrics.md");
    for name in scraped(&Metrics::new("operator", "0.0.0")).keys() {
        let parts = ["_bucket", "_count", "_sum"];
        let family = parts
            .iter()
            .find_map(|part| name.strip_suffix(part))
            .unwrap_or(name);
        let short = ["controller_runtime", "workqueue"]
            .iter()
            .find_map(|first| family.strip_prefix(first));
        let short = short.map(|rest| format!("`…{rest}`"));
        let named = guide.contains(&format!("`{family}`"));
        assert!(
            named || short.is_some_and(|short| guide.contains(&short)),
            "{family}"
        );
    }
}

/// The labels of all `by (…)` of an expression.
fn grouped(expression: &str) -> Vec<String> {
    let groups = expression.split("by (").skip(1);
    groups
        .filter_map(|group| group.split_once(')'))
        .flat_map(|(labels, _)| labels.split(',').map(|label| label.trim().to_owned()))
        .collect()
}

#[test]
fn our_dashboard_finds_every_series() {
    let dashboard: serde_json::Value =
        serde_json::from_str(include_str!("../../dashboards/controllers.json")).expect("JSON");
    let metrics = Metrics::new("operator", "0.0.0");
    // These are there from the first election and the first request on.
    metrics.set_leading("operator", false);
    drop(metrics.client_layer("host").requests.get_or_create(&OfRequest {
        code: "200".to_owned(),
        method: "GET".to_owned(),
        host: "host".to_owned(),
    }));
    let scraped = scraped(&metrics);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let mut asked = 0;
    for target in targets {
        let (expression, legend) = (text(&target["expr"]), text(&target["legendFormat"]));
        let mut labels = grouped(&expression);
        labels.extend(words_before(&legend, "}}"));
        for selector in expression.split_inclusive('}') {
            let Some((before, matchers)) = selector.split_once('{') else {
                continue;
            };
            let name = words_before(&format!("{before}{{"), "{").remove(0);
            let selected = words_before(&matchers.replace("=~", "="), "=\"");
            let all = selected.iter().chain(&labels).map(String::as_str);
            assert_eq!(missing(&scraped, &name, all), None, "{expression}");
            asked += 1;
        }
    }
    assert!(asked > 15, "only {asked} selectors were found in the dashboard");
    for variable in dashboard["templating"]["list"].as_array().expect("variables") {
        let query = text(&variable["query"]);
        if let Some(values) = query.strip_prefix("label_values(") {
            let (name, label) = values.trim_end_matches(')').split_once(", ").expect("both");
            assert_eq!(missing(&scraped, name, [label]), None, "{query}");
        }
    }
}
