//! The simulated workload layer, on paused time: each kind made, scaled, updated, failing and deleted.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use bytes::Bytes;
use controller_apiserver::{PodFate, Server};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const STATEFUL_SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const DAEMON_SETS: &str = "/apis/apps/v1/namespaces/default/daemonsets";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";
const MERGE: &str = "application/merge-patch+json";

struct Cluster(Server);

impl Cluster {
    fn new() -> Self {
        Self(Server::builder().workloads(Duration::from_secs(1)).build())
    }

    async fn send(&self, method: &str, path: &str, media: &str, body: Value) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", media)
            .body(Full::new(Bytes::from(body.to_string())))
            .unwrap();
        let response = self.0.service().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn create(&self, path: &str, body: Value) {
        let (code, answer) = self.send("POST", path, "application/json", body).await;
        assert_eq!(code, 201, "{answer}");
        self.0.settle().await.unwrap();
    }

    async fn merge(&self, path: &str, body: Value) {
        let (code, answer) = self.send("PATCH", path, MERGE, body).await;
        assert_eq!(code, 200, "{answer}");
        self.0.settle().await.unwrap();
    }

    async fn delete(&self, path: &str, policy: &str) {
        let body = json!({"propagationPolicy": policy});
        let (code, answer) = self.send("DELETE", path, "application/json", body).await;
        assert_eq!(code, 200, "{answer}");
        self.0.settle().await.unwrap();
    }

    async fn get(&self, path: &str) -> Value {
        let (code, answer) = self.send("GET", path, "application/json", Value::Null).await;
        assert_eq!(code, 200, "{answer}");
        answer
    }

    async fn items(&self, path: &str) -> Vec<Value> {
        self.get(path).await["items"].as_array().unwrap().clone()
    }

    async fn names(&self, path: &str) -> Vec<String> {
        let items = self.items(path).await;
        items.iter().map(|item| text(item, "/metadata/name")).collect()
    }

    async fn after(&self, millis: u64) {
        self.0.advance(Duration::from_millis(millis)).await.unwrap();
    }
}

fn text(object: &Value, pointer: &str) -> String {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found
        .unwrap_or_else(|| panic!("{pointer}: {object:#}"))
        .to_owned()
}

/// Status and reason of a condition.
fn condition(object: &Value, kind: &str) -> (String, String) {
    let all = object["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = all.iter().find(|condition| condition["type"] == kind);
    let found = found.unwrap_or_else(|| panic!("no {kind}: {object:#}"));
    (
        text(found, "/status"),
        found["reason"].as_str().unwrap_or_default().to_owned(),
    )
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

fn workload(replicas: Option<i64>, image: &str) -> Value {
    let mut object = json!({"metadata": {"name": "w"}, "spec": {"selector": {"matchLabels": {"app": "w"}},
        "template": {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": image}]}}}});
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = replicas.into();
    }
    object
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

fn numbers(object: &Value, fields: &[&str]) -> Vec<i64> {
    let number = |field: &&str| object["status"][*field].as_i64().unwrap_or_default();
    fields.iter().map(number).collect()
}

const COUNTS: [&str; 4] = [
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
];

#[tokio::test(start_paused = true)]
async fn without_the_layer_a_workload_stays_as_written() {
    let cluster = Cluster(Server::new());
    cluster
        .0
        .workloads()
        .pods_become([("app", "w")], PodFate::Ready(Duration::ZERO));
    for (path, replicas) in [
        (DEPLOYMENTS, Some(1)),
        (REPLICA_SETS, Some(1)),
        (DAEMON_SETS, None),
    ] {
        cluster.create(path, workload(replicas, "a")).await;
    }
    let before = cluster.0.revision();
    cluster.after(60_000).await;
    assert_eq!(cluster.0.revision(), before);
    assert!(cluster.items(PODS).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deployment_gets_its_pods_and_they_are_ready_in_time() {
    let cluster = Cluster::new();
    cluster.create(DEPLOYMENTS, workload(Some(3), "a")).await;
    let path = format!("{DEPLOYMENTS}/w");
    let found = cluster.get(&path).await;
    assert_eq!(numbers(&found, &COUNTS), [3, 3, 0, 0]);
    assert_eq!(found["status"]["observedGeneration"], 1);
    assert_eq!(
        condition(&found, "Available"),
        is("False", "MinimumReplicasUnavailable")
    );
    assert_eq!(condition(&found, "Progressing"), is("True", "ReplicaSetUpdated"));
    cluster.after(999).await;
    assert_eq!(numbers(&cluster.get(&path).await, &COUNTS), [3, 3, 0, 0]);
    cluster.after(1).await;
    let found = cluster.get(&path).await;
    assert_eq!(numbers(&found, &COUNTS), [3, 3, 3, 3]);
    assert_eq!(
        condition(&found, "Available"),
        is("True", "MinimumReplicasAvailable")
    );
    assert_eq!(
        condition(&found, "Progressing"),
        is("True", "NewReplicaSetAvailable")
    );
    assert_eq!(
        text(&found, "/metadata/annotations/deployment.kubernetes.io~1revision"),
        "1"
    );
    for pod in cluster.items(PODS).await {
        assert_eq!(text(&pod, "/status/phase"), "Running");
        assert_eq!(condition(&pod, "Ready").0, "True");
        assert_eq!(text(&pod, "/metadata/ownerReferences/0/kind"), "ReplicaSet");
        assert_eq!(pod["status"]["containerStatuses"][0]["ready"], true);
    }
    let before = cluster.0.revision();
    cluster.after(3_600_000).await;
    assert_eq!(cluster.0.revision(), before, "it is at rest");
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_scaled() {
    let cluster = Cluster::new();
    cluster.create(DEPLOYMENTS, workload(Some(1), "a")).await;
    let path = format!("{DEPLOYMENTS}/w");
    for (replicas, generation) in [(4, 2), (2, 3), (0, 4), (1, 5)] {
        cluster
            .merge(&path, json!({"spec": {"replicas": replicas}}))
            .await;
        cluster.after(1000).await;
        let found = cluster.get(&path).await;
        assert_eq!(numbers(&found, &COUNTS), [replicas; 4]);
        assert_eq!(found["status"]["observedGeneration"], generation);
        assert_eq!(i64::try_from(cluster.items(PODS).await.len()).unwrap(), replicas);
        assert_eq!(cluster.items(REPLICA_SETS).await.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_template_rolls_out_within_bounds_and_back() {
    let cluster = Cluster::new();
    cluster.create(DEPLOYMENTS, workload(Some(4), "a")).await;
    cluster.after(1000).await;
    let path = format!("{DEPLOYMENTS}/w");
    for (round, name) in [(2, "b"), (3, "a")] {
        cluster.merge(&path, image(name)).await;
        let mut steps = 0;
        loop {
            let found = cluster.get(&path).await;
            let [all, updated, _, available] = numbers(&found, &COUNTS)[..] else {
                unreachable!()
            };
            // A quarter of four may be too many, and a quarter too few.
            assert!(all <= 5 && available >= 3, "{:#}", found["status"]);
            if updated == 4 && all == 4 && available == 4 {
                break;
            }
            steps += 1;
            assert!(steps < 20, "{:#}", found["status"]);
            cluster.after(500).await;
        }
        assert!(steps > 2, "not all at once");
        let found = cluster.get(&path).await;
        let revision = text(&found, "/metadata/annotations/deployment.kubernetes.io~1revision");
        assert_eq!(revision, round.to_string());
        assert_eq!(
            condition(&found, "Progressing"),
            is("True", "NewReplicaSetAvailable")
        );
        assert_eq!(
            cluster.items(REPLICA_SETS).await.len(),
            2,
            "the former set is kept, and found again"
        );
        for pod in cluster.items(PODS).await {
            assert_eq!(text(&pod, "/spec/containers/0/image"), name);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn recreate_lets_the_old_pods_go_first() {
    let cluster = Cluster::new();
    let mut object = workload(Some(2), "a");
    object["spec"]["strategy"] = json!({"type": "Recreate"});
    object["spec"]["revisionHistoryLimit"] = 0.into();
    cluster.create(DEPLOYMENTS, object).await;
    cluster.after(1000).await;
    cluster.merge(&format!("{DEPLOYMENTS}/w"), image("b")).await;
    let found = cluster.get(&format!("{DEPLOYMENTS}/w")).await;
    assert_eq!(numbers(&found, &COUNTS), [2, 2, 0, 0]);
    cluster.after(1000).await;
    let found = cluster.get(&format!("{DEPLOYMENTS}/w")).await;
    assert_eq!(numbers(&found, &COUNTS), [2; 4]);
    assert_eq!(cluster.items(REPLICA_SETS).await.len(), 1, "no history is kept");
}

#[tokio::test(start_paused = true)]
async fn a_rollout_of_bad_pods_stops_and_times_out_until_they_are_good() {
    let cluster = Cluster::new();
    cluster.create(DEPLOYMENTS, workload(Some(4), "a")).await;
    cluster.after(1000).await;
    let path = format!("{DEPLOYMENTS}/w");
    for fate in [
        PodFate::NeverReady,
        PodFate::Fails(Duration::from_secs(1)),
        PodFate::Pending,
    ] {
        cluster.0.workloads().pods_become([("v", "bad")], fate);
        let template = json!({"metadata": {"labels": {"app": "w", "v": "bad"}}});
        cluster
            .merge(
                &path,
                json!({"spec": {"progressDeadlineSeconds": 60, "template": template}}),
            )
            .await;
        cluster.after(30_000).await;
        let found = cluster.get(&path).await;
        assert_eq!(condition(&found, "Progressing"), is("True", "ReplicaSetUpdated"));
        cluster.after(40_000).await;
        let found = cluster.get(&path).await;
        assert_eq!(
            condition(&found, "Progressing"),
            is("False", "ProgressDeadlineExceeded"),
            "{fate:?}"
        );
        assert_eq!(condition(&found, "Available").0, "True");
        assert_eq!(found["status"]["availableReplicas"], 3);
        // Pods that have no node can be told to get one.
        cluster
            .0
            .workloads()
            .pods_become([("v", "bad")], PodFate::Ready(Duration::from_secs(1)));
        cluster.after(5_000).await;
        assert_eq!(numbers(&cluster.get(&path).await, &COUNTS), [4; 4], "{fate:?}");
        cluster
            .merge(
                &path,
                json!({"spec": {"template": {"metadata": {"labels": {"v": null}}}}}),
            )
            .await;
        cluster.after(5_000).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_takes_its_pods_along() {
    for policy in ["Background", "Foreground"] {
        let cluster = Cluster::new();
        for (path, replicas) in [
            (DEPLOYMENTS, Some(2)),
            (STATEFUL_SETS, Some(2)),
            (DAEMON_SETS, None),
        ] {
            cluster.create(path, workload(replicas, "a")).await;
            cluster.after(5000).await;
            assert!(!cluster.items(PODS).await.is_empty());
            cluster.delete(&format!("{path}/w"), policy).await;
            for gone in [path, REPLICA_SETS, PODS] {
                assert_eq!(cluster.names(gone).await, [""; 0], "{policy} {path}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_replaces_what_is_deleted_and_waits_until_it_is_available() {
    let cluster = Cluster::new();
    let mut object = workload(Some(2), "a");
    object["spec"]["minReadySeconds"] = 10.into();
    cluster.create(REPLICA_SETS, object).await;
    cluster.after(1000).await;
    let path = format!("{REPLICA_SETS}/w");
    let fields = ["replicas", "readyReplicas", "availableReplicas"];
    assert_eq!(numbers(&cluster.get(&path).await, &fields), [2, 2, 0]);
    cluster.after(10_000).await;
    assert_eq!(numbers(&cluster.get(&path).await, &fields), [2, 2, 2]);
    let first = cluster.names(PODS).await.remove(0);
    cluster.delete(&format!("{PODS}/{first}"), "Background").await;
    assert_eq!(numbers(&cluster.get(&path).await, &fields), [2, 1, 1]);
    assert!(!cluster.names(PODS).await.contains(&first));
    cluster.after(11_000).await;
    assert_eq!(numbers(&cluster.get(&path).await, &fields), [2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_goes_one_by_one() {
    let cluster = Cluster::new();
    let mut object = workload(Some(3), "a");
    object["spec"]["serviceName"] = "w".into();
    cluster.create(STATEFUL_SETS, object).await;
    let path = format!("{STATEFUL_SETS}/w");
    assert_eq!(cluster.names(PODS).await, ["w-0"]);
    cluster.after(1000).await;
    assert_eq!(cluster.names(PODS).await, ["w-0", "w-1"]);
    cluster.after(2000).await;
    assert_eq!(numbers(&cluster.get(&path).await, &COUNTS), [3; 4]);

    cluster.merge(&path, image("b")).await;
    let images = |pods: Vec<Value>| -> Vec<String> {
        pods.iter()
            .map(|pod| text(pod, "/spec/containers/0/image"))
            .collect()
    };
    assert_eq!(
        images(cluster.items(PODS).await),
        ["a", "a", "b"],
        "the highest first"
    );
    let found = cluster.get(&path).await;
    assert_ne!(
        found["status"]["currentRevision"],
        found["status"]["updateRevision"]
    );
    cluster.after(1000).await;
    assert_eq!(images(cluster.items(PODS).await), ["a", "b", "b"]);
    cluster.after(2000).await;
    let found = cluster.get(&path).await;
    assert_eq!(numbers(&found, &COUNTS), [3; 4]);
    assert_eq!(
        found["status"]["currentRevision"],
        found["status"]["updateRevision"]
    );
    assert_eq!(found["status"]["observedGeneration"], 2);

    cluster
        .0
        .workloads()
        .pods_become([("app", "w")], PodFate::NeverReady);
    cluster.delete(&format!("{PODS}/w-0"), "Background").await;
    cluster.merge(&path, json!({"spec": {"replicas": 5}})).await;
    cluster.after(10_000).await;
    assert_eq!(
        cluster.names(PODS).await,
        ["w-0", "w-1", "w-2"],
        "none after one that is not ready"
    );
    cluster
        .0
        .workloads()
        .pods_become([("app", "w")], PodFate::Ready(Duration::ZERO));
    cluster.after(1000).await;
    assert_eq!(numbers(&cluster.get(&path).await, &COUNTS), [5; 4]);
    cluster.merge(&path, json!({"spec": {"replicas": 1}})).await;
    assert_eq!(cluster.names(PODS).await, ["w-0"]);
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_has_one_pod_and_renews_it() {
    let cluster = Cluster::new();
    cluster.create(DAEMON_SETS, workload(None, "a")).await;
    let path = format!("{DAEMON_SETS}/w");
    let fields = [
        "desiredNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
        "numberAvailable",
        "numberUnavailable",
    ];
    assert_eq!(numbers(&cluster.get(&path).await, &fields), [1, 1, 0, 0, 1]);
    cluster.after(1000).await;
    assert_eq!(numbers(&cluster.get(&path).await, &fields), [1, 1, 1, 1, 0]);
    let before = cluster.names(PODS).await;
    cluster.merge(&path, image("b")).await;
    cluster.after(1000).await;
    let found = cluster.get(&path).await;
    assert_eq!(numbers(&found, &fields), [1, 1, 1, 1, 0]);
    assert_eq!(found["status"]["observedGeneration"], 2);
    assert_ne!(cluster.names(PODS).await, before);
}

fn job(spec: &Value) -> Value {
    let mut object = json!({"metadata": {"name": "j"}, "spec": {"template": {"metadata": {"labels": {"app": "j"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a"}]}}}});
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_so_many_pods_at_a_time_until_enough_have_succeeded() {
    for mode in ["NonIndexed", "Indexed"] {
        let cluster = Cluster::new();
        let spec = json!({"completions": 5, "parallelism": 2, "completionMode": mode});
        cluster.create(JOBS, job(&spec)).await;
        let path = format!("{JOBS}/j");
        let fields = ["active", "ready", "succeeded", "failed"];
        for done in [0, 2, 4] {
            let found = cluster.get(&path).await;
            let active = 2.min(5 - done);
            assert_eq!(numbers(&found, &fields), [active, active, done, 0], "{mode}");
            assert!(found["status"]["startTime"].is_string() && found["status"]["completionTime"].is_null());
            cluster.after(1000).await;
        }
        let found = cluster.get(&path).await;
        assert_eq!(numbers(&found, &fields), [0, 0, 5, 0]);
        assert_eq!(condition(&found, "Complete"), is("True", "CompletionsReached"));
        assert_eq!(text(&found, "/status/completionTime"), "2026-01-01T00:00:03Z");
        assert_eq!(cluster.items(PODS).await.len(), 5);
        cluster.delete(&path, "Background").await;
        assert!(cluster.items(PODS).await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_fails_by_its_limit_by_its_deadline_and_not_before() {
    let cluster = Cluster::new();
    let labels = [("app", "j")];
    let path = format!("{JOBS}/j");
    cluster
        .0
        .workloads()
        .pods_become(labels, PodFate::Fails(Duration::from_secs(1)));
    cluster.create(JOBS, job(&json!({"backoffLimit": 2}))).await;
    cluster.after(2000).await;
    let fields = ["active", "succeeded", "failed"];
    assert_eq!(numbers(&cluster.get(&path).await, &fields), [1, 0, 2]);
    cluster.after(1000).await;
    let found = cluster.get(&path).await;
    assert_eq!(numbers(&found, &fields), [0, 0, 3]);
    assert_eq!(condition(&found, "Failed"), is("True", "BackoffLimitExceeded"));
    assert!(found["status"]["completionTime"].is_null());
    cluster.delete(&path, "Foreground").await;

    cluster.0.workloads().pods_become(labels, PodFate::Pending);
    cluster
        .create(JOBS, job(&json!({"activeDeadlineSeconds": 30})))
        .await;
    cluster.after(29_000).await;
    assert_eq!(numbers(&cluster.get(&path).await, &fields), [1, 0, 0]);
    cluster.after(1000).await;
    assert_eq!(
        condition(&cluster.get(&path).await, "Failed"),
        is("True", "DeadlineExceeded")
    );
    assert!(cluster.items(PODS).await.is_empty());
    cluster.delete(&path, "Foreground").await;

    cluster
        .0
        .workloads()
        .pods_become(labels, PodFate::Succeeds(Duration::from_secs(5)));
    cluster.create(JOBS, job(&json!({"suspend": true}))).await;
    cluster.after(10_000).await;
    assert_eq!(
        condition(&cluster.get(&path).await, "Suspended"),
        is("True", "JobSuspended")
    );
    cluster.merge(&path, json!({"spec": {"suspend": false}})).await;
    cluster.after(5000).await;
    let found = cluster.get(&path).await;
    assert_eq!(condition(&found, "Complete").0, "True");
    assert_eq!(condition(&found, "Suspended"), is("False", "JobResumed"));
}

#[tokio::test(start_paused = true)]
async fn two_runs_are_the_same() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let cluster = Cluster::new();
        for (path, replicas) in [
            (DEPLOYMENTS, Some(3)),
            (STATEFUL_SETS, Some(3)),
            (DAEMON_SETS, None),
        ] {
            cluster.create(path, workload(replicas, "a")).await;
        }
        cluster.after(2500).await;
        cluster.merge(&format!("{DEPLOYMENTS}/w"), image("b")).await;
        cluster.after(10_000).await;
        runs.push((
            cluster.0.revision(),
            cluster.get(PODS).await,
            cluster.get(REPLICA_SETS).await,
        ));
    }
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_asked_for_the_work_is_bounded() {
    let cluster = Cluster::new();
    cluster
        .0
        .workloads()
        .pods_become([("app", "j")], PodFate::Fails(Duration::ZERO));
    cluster
        .create(JOBS, job(&json!({"backoffLimit": i32::MAX, "parallelism": 10})))
        .await;
    assert_eq!(cluster.items(PODS).await.len(), 10, "time has not passed");
    cluster.delete(&format!("{JOBS}/j"), "Background").await;
    cluster
        .create(DEPLOYMENTS, workload(Some(i64::from(i32::MAX)), "a"))
        .await;
    assert_eq!(cluster.items(PODS).await.len(), 1000);
}
