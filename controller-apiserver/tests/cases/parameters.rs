//! Parameters of reads and deletions, and answers in other encodings.

use serde_json::json;

use crate::{Cluster, KINDS};

fn causes(status: &serde_json::Value) -> Vec<String> {
    let causes = status["details"]["causes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    causes
        .iter()
        .map(|cause| {
            format!(
                "{} {}",
                cause["reason"].as_str().unwrap(),
                cause["field"].as_str().unwrap_or_default()
            )
        })
        .collect()
}

/// DELETE of a collection deletes what a list with the same parameters shows: one page of it, if it
/// has a limit.
#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_page_by_page_if_so_asked() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        for name in ["a", "b", "c"] {
            cluster.post(kind.path, kind.object(name, 0, json!({}))).await;
        }
        let (code, page) = cluster
            .delete(&format!("{}?limit=2", kind.path), json!(null))
            .await;
        assert_eq!(
            (code, page["items"].as_array().unwrap().len()),
            (200, 2),
            "{kind:?}"
        );
        assert!(page["metadata"]["continue"].is_string());
        let (_, left) = cluster.get(kind.path).await;
        assert_eq!(left["items"].as_array().unwrap().len(), 1);
        assert_eq!(left["items"][0]["metadata"]["name"], "c");
        let (code, _) = cluster
            .delete(&format!("{}?resourceVersion=x", kind.path), json!(null))
            .await;
        assert_eq!(code, 400);
        cluster.delete(kind.path, json!(null)).await;
        assert_eq!(cluster.get(kind.path).await.1["items"], json!([]));
    }
}

/// Every combination of `sendInitialEvents` and `resourceVersionMatch` that makes no sense.
#[tokio::test(start_paused = true)]
async fn what_a_watch_cannot_mean_is_refused_with_all_its_causes() {
    const FIELD: &str = "resourceVersionMatch";
    let forbidden = format!("FieldValueForbidden {FIELD}");
    let unsupported = format!("FieldValueNotSupported {FIELD}");
    let cluster = Cluster::new().await;
    for kind in KINDS {
        for (query, expected) in [
            ("sendInitialEvents=true", vec![&forbidden]),
            (
                "sendInitialEvents=true&resourceVersionMatch=Exact",
                vec![&forbidden, &unsupported],
            ),
            (
                "sendInitialEvents=false&resourceVersionMatch=Nope",
                vec![&forbidden, &unsupported],
            ),
            ("resourceVersionMatch=NotOlderThan", vec![&forbidden]),
            ("resourceVersionMatch=Exact", vec![&forbidden, &unsupported]),
        ] {
            let (code, status) = cluster.get(&format!("{}?watch=1&{query}", kind.path)).await;
            assert_eq!(code, 422, "{query}");
            assert_eq!(causes(&status).iter().collect::<Vec<_>>(), expected, "{query}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_a_number_for_lists_too() {
    let cluster = Cluster::new().await;
    for kind in KINDS {
        for watch in ["", "&watch=1"] {
            let (code, status) = cluster
                .get(&format!("{}?timeoutSeconds=soon{watch}", kind.path))
                .await;
            assert_eq!((code, status["reason"].as_str()), (400, Some("BadRequest")));
        }
        assert_eq!(
            cluster.get(&format!("{}?timeoutSeconds=5", kind.path)).await.0,
            200
        );
    }
}

/// A watch is lines of JSON.
#[tokio::test(start_paused = true)]
async fn a_watch_in_yaml_is_not_acceptable() {
    let cluster = Cluster::new().await;
    for kind in KINDS {
        for (query, code) in [("", 200), ("?watch=1", 406)] {
            let request = http::Request::get(format!("{}{query}", kind.path))
                .header("Accept", "application/yaml")
                .body(http_body_util::Full::new(bytes::Bytes::new()))
                .unwrap();
            let answer = tower::ServiceExt::oneshot(cluster.0.service(), request)
                .await
                .unwrap();
            assert_eq!(answer.status(), code, "{kind:?} {query}");
        }
    }
}

/// A Scale need not name its kind: its path does.
#[tokio::test(start_paused = true)]
async fn a_scale_without_kind_is_one() {
    let cluster = Cluster::new().await;
    let path = "/apis/apps/v1/namespaces/default/replicasets";
    let pod =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    cluster
        .post(
            path,
            json!({"metadata": {"name": "r"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod}}),
        )
        .await;
    let scale = format!("{path}/r/scale");
    let (code, answer) = cluster
        .put(
            &scale,
            json!({"metadata": {"name": "r"}, "spec": {"replicas": 3}}),
        )
        .await;
    assert_eq!(
        (code, answer["spec"]["replicas"].as_i64()),
        (200, Some(3)),
        "{answer}"
    );
    let wrong = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}});
    assert_eq!(cluster.put(&scale, wrong).await.0, 400);
}

/// `stringData` is only a way to write `data`: nobody owns it.
#[tokio::test(start_paused = true)]
async fn what_is_written_as_string_data_is_owned_as_data() {
    let cluster = Cluster::new().await;
    let path = "/api/v1/namespaces/default/secrets";
    let made = cluster
        .post(path, json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}}))
        .await;
    let owned = |secret: &serde_json::Value| secret["metadata"]["managedFields"][0]["fieldsV1"].clone();
    assert_eq!(
        owned(&made),
        json!({"f:data": {".": {}, "f:a": {}}, "f:type": {}})
    );
    let (_, changed) = cluster
        .merge(&format!("{path}/s"), json!({"stringData": {"c": "d"}}))
        .await;
    assert_eq!(changed["data"], json!({"a": "Yg==", "c": "ZA=="}));
    assert_eq!(
        owned(&changed),
        json!({"f:data": {".": {}, "f:a": {}, "f:c": {}}, "f:type": {}})
    );
}

/// The metadata of one object is no list, and that of a list is no object.
#[tokio::test(start_paused = true)]
async fn metadata_of_one_and_of_many_are_told_apart() {
    for kind in KINDS {
        let cluster = Cluster::new().await;
        cluster.post(kind.path, kind.object("a", 0, json!({}))).await;
        let item = kind.item("a");
        for (path, form, code) in [
            (kind.path, "PartialObjectMetadataList", 200),
            (kind.path, "PartialObjectMetadata", 406),
            (&*item, "PartialObjectMetadata", 200),
            (&*item, "PartialObjectMetadataList", 406),
        ] {
            let accept = format!("application/json;as={form};v=v1;g=meta.k8s.io");
            let (got, answer) = cluster.get_as(path, &accept).await;
            assert_eq!(got, code, "{kind:?} {form}");
            let named = if code == 200 {
                &answer["kind"]
            } else {
                &answer["reason"]
            };
            assert_eq!(named, if code == 200 { form } else { "NotAcceptable" });
        }
    }
}
