//! The function alone, and the whole on an API server in this process, on paused time.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use controller_apiserver::{Fault, Server, When, access::User};
use controller_runtime::{
    operator::{ElectionOptions, ManifestOptions, RunOptions},
    prelude::*,
};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    CustomResourceExt,
    api::{Api, Patch, PatchParams, PostParams},
};

use crate::{
    controller::{App, DocumentError, reconcile},
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

fn secret() -> Secret {
    let label = ("example.com/documents".to_owned(), "welcome".to_owned());
    Secret {
        metadata: ObjectMeta {
            name: Some("readers".to_owned()),
            namespace: Some("default".to_owned()),
            labels: Some(BTreeMap::from([label])),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    }
}

/// The function is an ordinary one: call it.
#[tokio::test(start_paused = true)]
async fn a_blank_title_and_a_missing_secret_are_errors_of_their_own() {
    let client = Server::new().client();
    let app = Arc::new(App::connect(&client).await.unwrap());
    let call = async |title: &str| {
        let document = document(title);
        let children = Children::new(client.clone(), "document", &document);
        reconcile(Arc::new(document), app.clone(), Store::from_objects([]), children)
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
#[tokio::test(start_paused = true)]
async fn the_map_follows_the_secret_and_the_owner() {
    let server = Server::new();
    let client = server.client();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &Document::crd())
        .await
        .unwrap();
    let operator = Operator::new("documents").controller(reconcile::controller(App::connect));
    let _running = tokio::spawn(operator.run(RunOptions::new().client(client.clone())));
    let documents: Api<Document> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client);

    documents
        .create(&PostParams::default(), &document("Welcome"))
        .await
        .unwrap();
    server.advance(Duration::from_secs(10)).await.unwrap();
    assert!(
        maps.get_opt("welcome").await.unwrap().is_none(),
        "there is no Secret yet"
    );

    secrets.create(&PostParams::default(), &secret()).await.unwrap();
    server.settle().await.unwrap();
    let map = maps.get("welcome").await.unwrap();
    let text = &map.data.unwrap()["document.md"];
    assert!(
        text.starts_with("# Welcome\n\nHello.\n\nPublished on Kubernetes v"),
        "{text}"
    );

    documents.delete("welcome", &Default::default()).await.unwrap();
    server.settle().await.unwrap();
    assert!(
        maps.get_opt("welcome").await.unwrap().is_none(),
        "it goes with its owner"
    );
}

/// The printed roles, and nothing beside them, take a Document through its whole life; and no right is left over.
#[tokio::test(start_paused = true)]
async fn the_printed_roles_are_exact() {
    // Some clusters have this admission: it asks for rights that go unnoticed elsewhere.
    let server = Server::builder().enforce_owner_references(true).build();
    let operator = Operator::new("documents")
        .crd::<Document>()
        .controller(reconcile::controller(App::connect));
    let options = ManifestOptions::new("operators", "documents:1");
    server
        .install(operator.manifests(&options).unwrap())
        .await
        .unwrap();
    let roles = operator.roles(&options);
    let account = User::service_account("operators", "documents");
    let election = ElectionOptions::new().namespace("operators");
    let run = RunOptions::new()
        .client(server.client_as(account.clone()))
        .elect(election);
    // So that `list` is needed, as on servers that know no streaming lists.
    server.faults().inject(When::any(), Fault::RefuseStreamingLists);
    let _running = tokio::spawn(operator.run(run));

    let documents: Api<Document> = Api::default_namespaced(server.client());
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    let created = PostParams::default();
    secrets.create(&created, &secret()).await.unwrap();
    documents.create(&created, &document("Welcome")).await.unwrap();
    // Long enough to renew the lease.
    server.advance(Duration::from_secs(20)).await.unwrap();
    let title = serde_json::json!({ "spec": { "title": "Welcome back" } });
    documents
        .patch("welcome", &PatchParams::default(), &Patch::Merge(title))
        .await
        .unwrap();
    server.settle().await.unwrap();
    // Someone edits the map. Both times it is taken back, and an Event tells so: one that is made, and then counted up.
    for text in ["mine", "mine again"] {
        let edit = serde_json::json!({ "data": { "document.md": text } });
        maps.patch("welcome", &PatchParams::default(), &Patch::Merge(edit))
            .await
            .unwrap();
        server.settle().await.unwrap();
    }
    let text = maps.get("welcome").await.unwrap().data.unwrap();
    assert!(text["document.md"].starts_with("# Welcome back"), "{text:?}");
    documents.delete("welcome", &Default::default()).await.unwrap();
    server.advance(Duration::from_secs(5)).await.unwrap();

    let used = server.journal().user(&account.name).rights();
    roles.audit("the life of a Document", used).assert_rbac_exact();
}
