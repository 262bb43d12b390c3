//! The definitions and samples of public projects, on a server, through its client: each is created,
//! then applied again and again, from the server's side and from the client's, and the second time
//! changes nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use controller_apiserver::Server;
use kube::api::{DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client, Discovery, Error};
use serde_json::{Value, json};

/// What kubectl remembers of the last apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How an object is applied.
#[derive(Clone, Copy, Debug)]
enum Side {
    Server,
    Client,
}

/// Every YAML document of a folder, with its file's name.
fn documents(folder: &Path) -> Vec<(String, Value)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for document in documents {
            match document["items"].as_array() {
                Some(items) => all.extend(items.iter().map(|item| (name.clone(), item.clone()))),
                None => all.push((name.clone(), document)),
            }
        }
    }
    all
}

fn definitions() -> Vec<(String, Value)> {
    let mut all = documents(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds"));
    all.retain(|(_, document)| document["kind"] == "CustomResourceDefinition");
    all
}

fn samples() -> Vec<(String, Value)> {
    documents(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds/samples"))
}

fn api(client: &Client, discovery: &Discovery, object: &Value) -> Api<DynamicObject> {
    let (api_version, kind) = (
        object["apiVersion"].as_str().unwrap(),
        object["kind"].as_str().unwrap(),
    );
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let wanted = GroupVersionKind::gvk(group, version, kind);
    let (resource, capabilities) = discovery
        .resolve_gvk(&wanted)
        .unwrap_or_else(|| panic!("{wanted:?} is not served"));
    match capabilities.scope {
        kube::discovery::Scope::Cluster => Api::all_with(client.clone(), &resource),
        kube::discovery::Scope::Namespaced => {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
            Api::namespaced_with(client.clone(), namespace, &resource)
        }
    }
}

/// Applies as kubectl does; kubectl merges strategically what is built in.
async fn apply(api: &Api<DynamicObject>, object: &Value, side: Side) -> Result<(), Error> {
    let name = object["metadata"]["name"].as_str().unwrap();
    if matches!(side, Side::Server) {
        let parameters = PatchParams::apply("samples").force();
        return api
            .patch(name, &parameters, &Patch::Apply(object))
            .await
            .map(drop);
    }
    let mut annotated = object.clone();
    annotated["metadata"]["annotations"][LAST_APPLIED] = object.to_string().into();
    let created = api
        .create(
            &PostParams::default(),
            &serde_json::from_value(annotated.clone()).unwrap(),
        )
        .await;
    match created {
        Err(Error::Api(status)) if status.is_already_exists() => {}
        other => return other.map(drop),
    }
    let group = object["apiVersion"].as_str().unwrap().split('/').next().unwrap();
    let parameters = PatchParams::default();
    if group.contains('.') && !group.ends_with(".k8s.io") || group == "gateway.networking.k8s.io" {
        api.patch(name, &parameters, &Patch::Merge(&annotated))
            .await
            .map(drop)
    } else {
        api.patch(name, &parameters, &Patch::Strategic(&annotated))
            .await
            .map(drop)
    }
}

/// A namespace for each sample that names one, as somebody had made before.
async fn make_namespaces(client: &Client, samples: &[(String, Value)]) {
    for (_, sample) in samples {
        if let Some(name) = sample["metadata"]["namespace"].as_str() {
            let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            let api = Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone());
            match api.create(&PostParams::default(), &namespace).await {
                Ok(_) => {}
                Err(Error::Api(status)) if status.is_already_exists() => {}
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

/// Applies each object until it is as it should be, then twice more, which changes nothing.
///
/// One apply does, but where it says nothing of its own (a Namespace by its name): nobody manages
/// anything then, and the next apply takes what is there for written before it.
async fn play(server: &Server, objects: &[(String, Value)], side: Side) -> usize {
    let client = server.client();
    let discovery = Discovery::new(client.clone()).run().await.unwrap();
    let mut good = 0;
    let mut bad = Vec::new();
    for (file, object) in objects {
        let api = api(&client, &discovery, object);
        let mut outcome = apply(&api, object, side).await;
        server.settle().await.unwrap();
        if object.as_object().is_some_and(|object| object.len() == 3)
            && object["metadata"].as_object().is_some_and(|meta| meta.len() == 1)
            && outcome.is_ok()
        {
            outcome = apply(&api, object, side).await;
        }
        let before = server.revision();
        for _ in 0..2 {
            if outcome.is_ok() {
                outcome = apply(&api, object, side).await;
                server.settle().await.unwrap();
            }
        }
        match outcome {
            Ok(()) if server.revision() == before => good += 1,
            Ok(()) => bad.push(format!(
                "{file}: {} {} changed when applied again",
                object["kind"], object["metadata"]["name"]
            )),
            Err(error) => bad.push(format!("{file}: {} {error}", object["kind"])),
        }
    }
    assert!(bad.is_empty(), "{side:?}: {good} good, not: {bad:#?}");
    good
}

async fn play_all(side: Side) {
    let server = Server::new();
    let definitions = definitions();
    let samples = samples();
    assert_eq!(play(&server, &definitions, side).await, 16);
    make_namespaces(&server.client(), &samples).await;
    assert_eq!(play(&server, &samples, side).await, 109);
}

#[tokio::test(start_paused = true)]
async fn applied_by_the_server_twice_is_applied_once() {
    play_all(Side::Server).await;
}

#[tokio::test(start_paused = true)]
async fn applied_by_the_client_twice_is_applied_once() {
    play_all(Side::Client).await;
}
