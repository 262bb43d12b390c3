//! Status and the rest are written through different doors.

use serde_json::json;

use crate::{Cluster, WIDGET};

/// kubernetes-sigs/controller-runtime#2362: a status write with an old resourceVersion succeeded.
#[tokio::test(start_paused = true)]
async fn a_stale_status_write_is_a_conflict() {
    let cluster = Cluster::new().await;
    let path = WIDGET.item("a");
    let status = format!("{path}/status");
    let old = cluster.post(WIDGET.path, WIDGET.object("a", 0, json!({}))).await;
    cluster.merge(&path, WIDGET.change(1)).await;
    let mut stale = old.clone();
    stale["status"] = json!({"phase": "x"});
    assert_eq!(cluster.put(&status, stale).await.0, 409);
    let version = &old["metadata"]["resourceVersion"];
    let patch = json!({"metadata": {"resourceVersion": version}, "status": {"phase": "x"}});
    assert_eq!(cluster.merge(&status, patch).await.0, 409);
    let (code, written) = cluster.merge(&status, json!({"status": {"phase": "x"}})).await;
    assert_eq!(code, 200);
    assert_eq!(written["status"]["phase"], "x");
    assert_eq!(written["spec"], WIDGET.value(1), "the change in between stays");
}

/// kubernetes-sigs/controller-runtime#2230: writing the object changed its status, and the reverse.
#[tokio::test(start_paused = true)]
async fn each_half_is_written_through_its_own_door() {
    let cluster = Cluster::new().await;
    let path = WIDGET.item("a");
    let status = format!("{path}/status");
    let mut object = WIDGET.object("a", 0, json!({"labels": {"l": "1"}}));
    object["status"] = json!({"phase": "made up"});
    let created = cluster.post(WIDGET.path, object).await;
    assert!(created.get("status").is_none(), "dropped on create: {created}");

    let patch = json!({"spec": {"size": 9}, "metadata": {"labels": {"l": "2"}}, "status": {"phase": "a"}});
    let (_, written) = cluster.merge(&status, patch).await;
    assert_eq!(written["spec"]["size"], 1);
    assert_eq!(written["metadata"]["labels"]["l"], "1");
    assert_eq!(written["status"]["phase"], "a");

    let patch = json!({"spec": {"size": 2}, "status": {"phase": "b"}});
    let (_, written) = cluster.merge(&path, patch).await;
    assert_eq!(written["spec"]["size"], 2);
    assert_eq!(written["status"]["phase"], "a");

    let mut put = written.clone();
    put["status"] = json!({});
    let (_, written) = cluster.put(&path, put).await;
    assert_eq!(written["status"]["phase"], "a");

    let without = "/api/v1/namespaces/default/configmaps/kube/status";
    assert_eq!(cluster.merge(without, json!({})).await.0, 404);
}

/// A new object has the counts that its Go type always writes, and no others.
#[tokio::test(start_paused = true)]
async fn a_status_begins_with_what_is_always_written() {
    let cluster = Cluster::new().await;
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let backend = json!({"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}});
    let budget = json!({"maxUnavailable": 1});
    for (path, spec, status) in [
        ("apps/v1/namespaces/default/deployments", &spec, json!({})),
        (
            "apps/v1/namespaces/default/replicasets",
            &spec,
            json!({"replicas": 0}),
        ),
        (
            "apps/v1/namespaces/default/statefulsets",
            &spec,
            json!({"replicas": 0, "availableReplicas": 0}),
        ),
        (
            "apps/v1/namespaces/default/daemonsets",
            &spec,
            json!({"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}),
        ),
        (
            "networking.k8s.io/v1/namespaces/default/ingresses",
            &backend,
            json!({"loadBalancer": {}}),
        ),
        (
            "policy/v1/namespaces/default/poddisruptionbudgets",
            &budget,
            json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}),
        ),
    ] {
        let object = json!({"metadata": {"name": "a"}, "spec": spec, "status": {"replicas": 7}});
        let created = cluster.post(&format!("/apis/{path}"), object).await;
        assert_eq!(created["status"], status, "{path}");
    }
    let scaler = |target: &str| {
        json!({"metadata": {"name": target}, "spec": {"maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}}})
    };
    let path =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    for (posted, name) in [("v1", "a"), ("v2", "b")] {
        cluster.post(&path(posted), scaler(name)).await;
        let (_, v1) = cluster.get(&format!("{}/{name}", path("v1"))).await;
        assert_eq!(
            v1["status"],
            json!({"currentReplicas": 0, "desiredReplicas": 0}),
            "{posted}"
        );
        let (_, v2) = cluster.get(&format!("{}/{name}", path("v2"))).await;
        assert_eq!(
            v2["status"],
            json!({"currentMetrics": null, "desiredReplicas": 0}),
            "{posted}"
        );
    }
    let revision = json!({"metadata": {"name": "a"}, "revision": 1});
    let path = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let created = cluster.post(path, revision).await;
    assert!(
        created.get("spec").is_none() && created.get("status").is_none(),
        "{created}"
    );
}
