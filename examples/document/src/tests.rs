//! The function alone, and the whole on a cluster inside the test, on virtual time.

use controller_runtime::{
    operator::{ElectionOptions, RunOptions},
    prelude::*,
    testing::{Cluster, Fault, When},
};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::{
    controller::{DocumentError, reconcile},
    operator,
    types::{Document, DocumentSpec},
};

fn document(title: &str) -> Document {
    let spec = DocumentSpec {
        title: title.to_owned(),
        content: "Hello.".to_owned(),
        secret_name: "readers".to_owned(),
    };
    let mut document = Document::new("welcome", spec);
    document.metadata.namespace = Some("default".to_owned());
    document
}

fn secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "readers"}})
}

async fn text(cluster: &Cluster) -> String {
    let map = cluster.get::<ConfigMap>("welcome").await;
    map.data.unwrap()["document.md"].clone()
}

/// The function is an ordinary one: call it.
#[controller_test]
async fn a_blank_title_and_a_missing_secret_are_errors_of_their_own(cluster: Cluster) {
    let call = async |title: &str| {
        let document = document(title);
        let children = Children::new(cluster.client(), "document", &document);
        reconcile(Arc::new(document), Store::from_objects([]), children)
            .await
            .unwrap_err()
    };
    let error = call(" ").await;
    assert!(matches!(error, DocumentError::InvalidSpec(_)), "{error}");
    assert_eq!(
        call("Welcome").await.to_string(),
        "secret \"readers\" is not there"
    );
}

/// The whole: the map follows when the Secret appears, and goes when the owner goes.
#[controller_test(run = operator())]
async fn the_map_follows_the_secret_and_the_owner(cluster: Cluster) {
    cluster.apply(document("Welcome")).await;
    cluster.advance(Duration::from_secs(10)).await;
    assert!(
        cluster.find::<ConfigMap>("welcome").await.is_none(),
        "there is no Secret yet"
    );

    cluster.apply(secret()).await;
    cluster.settle().await;
    let text = text(&cluster).await;
    assert_eq!(text, "# Welcome\n\nHello.\n");

    cluster.delete::<Document>("welcome").await;
    cluster.settle().await;
    assert!(
        cluster.find::<ConfigMap>("welcome").await.is_none(),
        "it goes with its owner"
    );
}

/// The printed roles, and nothing beside them, take a Document through its whole life; and no right is left over.
#[controller_test]
async fn the_printed_roles_are_exact(cluster: Cluster) {
    // So that `list` is needed, as on servers that know no streaming lists.
    cluster.fault(When::any(), Fault::RefuseStreamingLists);
    let elect = RunOptions::new().elect(ElectionOptions::new());
    cluster.start_with(operator(), elect).await;
    cluster.apply(secret()).await;
    cluster.apply(document("Welcome")).await;
    // Long enough to renew the lease.
    cluster.advance(Duration::from_secs(20)).await;
    cluster.apply(document("Welcome back")).await;
    cluster.settle().await;
    // Someone edits the map. Both times it is taken back, and an Event tells so: one that is made, and then counted up.
    for text in ["mine", "mine again"] {
        let edit = json!({"data": {"document.md": text}});
        cluster.patch::<ConfigMap>("welcome", edit).await;
        cluster.settle().await;
    }
    let text = text(&cluster).await;
    assert!(text.starts_with("# Welcome back"), "{text}");
    cluster.delete::<Document>("welcome").await;
    cluster.advance(Duration::from_secs(5)).await;
    cluster.audit("the life of a Document").assert_rbac_exact();
}
