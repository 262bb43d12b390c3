//! What a `#[controller_test]` promises: the cluster's own tests, and the text of one that fails.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a failed expectation is a failed test"
)]

mod failing;
mod journal;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use controller_runtime::{
    operator::{ElectionOptions, RunOptions},
    prelude::*,
    testing::{Cluster, Fault, Verb, When},
};
use k8s_openapi::api::{
    apps::v1::Deployment,
    coordination::v1::Lease,
    core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A text, kept as a ConfigMap.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Page", namespaced)]
struct PageSpec {
    text: String,
}

#[derive(Debug, thiserror::Error, ReconcileError)]
enum PageError {
    #[error("kubernetes: {0}")]
    Kube(#[from] kube::Error),
    #[error("no text")]
    #[permanent]
    NoText,
}

#[controller(name = "pages", owns(ConfigMap), predicates(generation))]
async fn pages(page: Arc<Page>, children: Children, recorder: Recorder) -> Result<Action, PageError> {
    if page.spec.text.is_empty() {
        recorder.warning("NoText", "a page without a text").await;
        return Err(PageError::NoText);
    }
    let mut map = ConfigMap::default();
    map.metadata.name = page.metadata.name.clone();
    map.data = Some([("text".to_owned(), page.spec.text.clone())].into());
    children.apply([map]).await?;
    Ok(Action::await_change())
}

fn operator() -> Operator {
    Operator::new("pages")
        .crd::<Page>()
        .controller(pages::controller())
}

fn page(text: &str) -> Page {
    Page::new(
        "a",
        PageSpec {
            text: text.to_owned(),
        },
    )
}

#[controller_test(run = operator())]
async fn typed_objects_text_and_lists_are_applied(cluster: Cluster) {
    cluster.apply(page("typed")).await;
    cluster
        .apply(
            "
kind: Namespace
apiVersion: v1
metadata: {name: elsewhere}
---
# A document without an object.
---
kind: Page
apiVersion: example.com/v1
metadata: {name: b, namespace: elsewhere}
spec: {text: from YAML}
",
        )
        .await;
    cluster
        .apply([page("in a list"), Page::new("c", PageSpec { text: "c".into() })])
        .await;
    cluster.settle().await;
    let texts: Vec<_> = cluster
        .list::<ConfigMap>()
        .await
        .into_iter()
        .map(|map| map.data.unwrap()["text"].clone())
        .collect();
    assert_eq!(texts, ["in a list", "c", "from YAML"]);
    let b = cluster.get::<ConfigMap>("elsewhere/b").await;
    assert_eq!(b.metadata.name.as_deref(), Some("b"));
    assert!(
        cluster.find::<ConfigMap>("b").await.is_none(),
        "not in this namespace"
    );
    cluster.delete::<Namespace>("elsewhere").await;
    cluster.settle().await;
    assert!(cluster.find::<Page>("elsewhere/b").await.is_none());
}

#[controller_test(run = operator())]
async fn time_passes_when_the_test_says_so_and_rest_costs_nothing(cluster: Cluster) {
    cluster.apply(page("text")).await;
    cluster.settle().await;
    let writes = cluster.requests().writes().len();
    assert_eq!(writes, 1, "{}", cluster.requests().writes());
    let before = cluster.server().now();
    cluster.advance(Duration::from_secs(3600)).await;
    let passed = cluster.server().now().duration_since(before);
    assert_eq!(passed.as_secs(), 3600);
    assert_eq!(cluster.requests().writes().len(), writes);
    assert_eq!(cluster.reconciles().len(), 1);
}

#[controller_test(run = operator())]
async fn a_fault_meets_the_operator_and_not_the_test(cluster: Cluster) {
    cluster.fault(When::verb(Verb::Patch).times(2), Fault::status(503));
    cluster.apply(page("text")).await;
    cluster.settle().await;
    assert!(cluster.find::<ConfigMap>("a").await.is_none());
    cluster.advance(Duration::from_secs(10)).await;
    cluster.get::<ConfigMap>("a").await;
    let results: Vec<_> = cluster
        .reconciles()
        .into_iter()
        .map(|one| (one.report.failures, one.report.causes.join(",")))
        .collect();
    let again = "tried again".to_owned();
    assert_eq!(
        results,
        [(1, "changed".to_owned()), (2, again.clone()), (0, again)]
    );
}

#[controller_test(run = operator())]
async fn events_are_told_as_a_person_reads_them(cluster: Cluster) {
    cluster.apply(page("")).await;
    cluster.settle().await;
    cluster
        .patch::<Page>("a", json!({"metadata": {"annotations": {"touched": "yes"}}}))
        .await;
    cluster.settle().await;
    let told: Vec<_> = cluster.events().await.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["Warning Page default/a NoText: a page without a text"]);
}

/// The roles that `rbac` prints, and nothing else: what was not declared is a 403.
#[controller_test(run = operator())]
async fn an_operator_has_its_own_rights_only(cluster: Cluster) {
    // So that `list` is needed, as on servers that know no streaming lists.
    cluster.fault(When::any(), Fault::RefuseStreamingLists);
    cluster.apply(page("text")).await;
    cluster.settle().await;
    cluster.apply(page("another")).await;
    cluster.settle().await;
    cluster.patch::<Page>("a", json!({"spec": {"text": ""}})).await;
    cluster.settle().await;
    let audit = cluster.audit("a page is made, changed and spoilt");
    let audit = audit
        .unused_ok("patch events.events.k8s.io", "nothing is told twice")
        .lease_unused_ok();
    audit.assert_rbac_exact();
    let users: std::collections::BTreeSet<_> = cluster
        .requests()
        .entries()
        .iter()
        .map(|entry| entry.user.clone())
        .collect();
    assert_eq!(
        users.into_iter().collect::<Vec<_>>(),
        ["system:serviceaccount:pages-system:pages"]
    );
}

#[controller(name = "nosy")]
async fn nosy(_account: Arc<ServiceAccount>, client: Client) -> Result<Action, kube::Error> {
    Api::<Secret>::default_namespaced(client)
        .list(&Default::default())
        .await?;
    Ok(Action::await_change())
}

#[controller_test(run = nosy::controller())]
async fn a_right_that_nobody_declared_is_refused(cluster: Cluster) {
    cluster
        .apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}))
        .await;
    cluster.settle().await;
    let last = cluster.reconciles().pop().unwrap();
    let error = last.report.error.unwrap();
    assert!(error.contains("cannot list resource \"secrets\""), "{error}");
    let audit = cluster.audit("it looks at Secrets");
    let missing: Vec<_> = audit.missing().collect();
    assert_eq!(missing, ["list secrets in nosy-system"]);
}

#[controller_test]
async fn an_operator_is_stopped_and_started_again_without_a_write(cluster: Cluster) {
    cluster.start(operator()).await;
    cluster.apply(page("text")).await;
    cluster.settle().await;
    cluster.stop().await;
    let before = cluster.requests().writes().len();
    cluster.start(operator()).await;
    cluster.settle().await;
    assert_eq!(cluster.reconciles().len(), 2);
    assert_eq!(cluster.requests().writes().len(), before);
}

#[controller_test]
async fn of_two_replicas_one_reconciles(cluster: Cluster) {
    let elect = || RunOptions::new().elect(ElectionOptions::new());
    cluster.start_with(operator(), elect()).await;
    cluster.start_with(operator(), elect()).await;
    cluster.apply(page("text")).await;
    cluster.advance(Duration::from_secs(5)).await;
    assert_eq!(cluster.reconciles().len(), 1);
    let lease = cluster.get::<Lease>("pages-system/pages").await;
    assert!(lease.spec.unwrap().holder_identity.is_some());
}

#[controller_test(workloads = "2s")]
async fn workloads_are_ready_after_their_time(cluster: Cluster) -> Result<(), kube::Error> {
    let web = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    });
    cluster.apply(web).await;
    cluster.advance(Duration::from_secs(1)).await;
    let ready = async || {
        let web = cluster.get::<Deployment>("web").await;
        web.status.and_then(|status| status.ready_replicas)
    };
    assert_eq!(ready().await, None);
    cluster.advance(Duration::from_secs(2)).await;
    assert_eq!(ready().await, Some(1));
    Ok(())
}

/// It is called in the runtime of the test, and may wait.
async fn made_later() -> Operator {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(CALLS.fetch_add(1, Ordering::Relaxed), 0, "it is called once");
    operator()
}

#[controller_test(run = made_later().await, seed = 3)]
#[should_panic(expected = "there is no Page default/b; there are [\"default/a\"]")]
async fn what_is_missing_is_said_with_what_is_there(cluster: Cluster) {
    cluster.apply(page("text")).await;
    cluster.get::<Page>("b").await;
}
