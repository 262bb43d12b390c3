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
