//! One seed, one run: an operator and its server write the same journal and the same objects, in two processes.

use std::{process::Command, sync::Arc, time::Duration};

use controller_apiserver::{Fault, Server, Verb, When};
use controller_runtime::{
    clock::Origin,
    operator::{ElectionOptions, RunOptions, Stop},
    prelude::*,
};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Secret},
        events::v1::Event,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    CustomResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

/// Tells the second process that it is one.
const CHILD: &str = "CONTROLLER_RUNTIME_JOURNAL";

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Page",
    namespaced,
    status = "PageStatus"
)]
struct PageSpec {
    secret: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PageStatus {
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Condition {
    r#type: String,
    status: String,
    reason: String,
    message: String,
    last_transition_time: String,
    observed_generation: Option<i64>,
}

#[controller(
    name = "pages",
    owns(ConfigMap),
    references(Secret, |page| page.spec.secret.clone(), referenced_only),
    predicates(generation),
    config(concurrency = 4),
    backoff(initial = "1s", max = "1m", jitter = 0.5),
    cleanup(release),
    status(conditions),
    error = enum PageError {
        #[error("kubernetes: {0}")]
        Kube(#[from] kube::Error),
        #[error("no secret {0}")]
        NoSecret(String),
    },
)]
async fn reconcile(
    page: Arc<Page>,
    secrets: Store<Secret>,
    children: Children,
    recorder: Recorder,
) -> Result<Action, PageError> {
    let Some(secret) = secrets.get(&page.spec.secret) else {
        recorder.warning("NoSecret", "its Secret is not there").await;
        return Err(PageError::NoSecret(page.spec.secret.clone()));
    };
    let copies = (0..3).map(|copy| {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("{}-{copy}", page.name_any()));
        map.data = Some(
            [(
                "version".to_owned(),
                secret.resource_version().unwrap_or_default(),
            )]
            .into(),
        );
        map
    });
    children.apply(copies).await?;
    recorder.normal("Rendered", "all of it is there").await;
    Ok(Action::await_change())
}

async fn release(_: Arc<Page>, recorder: Recorder) -> Result<(), kube::Error> {
    recorder.normal("Released", "it goes").await;
    Ok(())
}

/// Some minutes of an operator: late Secrets, faults, an edit, a deletion, an election, events and conditions.
async fn play(seed: u64) -> String {
    let server = Server::builder().seed(seed).build();
    let client = server.client();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &Page::crd()).await.unwrap();
    server.advance(Duration::from_secs(1)).await.unwrap();
    server.faults().inject(
        When::verb(Verb::Patch).resource("configmaps").skip(5).times(9),
        Fault::status(503),
    );
    let pages = Api::<Page>::default_namespaced(client.clone());
    for number in 0..8 {
        let secret = format!("s-{}", number % 3);
        let page = Page::new(&format!("p-{number}"), PageSpec { secret });
        pages.create(&PostParams::default(), &page).await.unwrap();
    }
    let stop = Stop::new();
    let options = RunOptions::new()
        .client(server.client_named("operator"))
        .elect(ElectionOptions::new())
        .origin(Origin::fixed(server.now(), seed))
        .stop_on(&stop);
    let operator = Operator::new("pages").controller(reconcile::controller());
    let running = tokio::spawn(operator.run(options));
    let secrets = Api::<Secret>::default_namespaced(client.clone());
    for number in 0..3 {
        server.advance(Duration::from_secs(20)).await.unwrap();
        let mut secret = Secret::default();
        secret.metadata.name = Some(format!("s-{number}"));
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }
    server.advance(Duration::from_secs(100)).await.unwrap();
    let edit = Patch::Merge(json!({ "spec": { "secret": "nowhere" } }));
    pages.patch("p-1", &PatchParams::default(), &edit).await.unwrap();
    pages.delete("p-2", &DeleteParams::default()).await.unwrap();
    server.advance(Duration::from_secs(300)).await.unwrap();
    stop.now();
    running.await.unwrap().unwrap();
    [
        server.journal().to_ndjson(),
        all::<Page>(&client).await,
        all::<ConfigMap>(&client).await,
        all::<Event>(&client).await,
        all::<Lease>(&client).await,
    ]
    .concat()
}

async fn all<K>(client: &Client) -> String
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    let list = Api::<K>::all(client.clone())
        .list(&ListParams::default())
        .await
        .unwrap();
    let lines = list
        .items
        .iter()
        .map(|object| serde_json::to_string(object).unwrap() + "\n");
    lines.collect()
}

/// Runs the same test in another process, and gives what it printed.
fn elsewhere(test: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_run_in_two_processes() {
    let here = play(7).await;
    if std::env::var_os(CHILD).is_some() {
        println!("{here}");
        return;
    }
    for part in [
        "\"reason\":\"NoSecret\"",
        "\"type\":\"Ready\"",
        "\"series\":",
        "holderIdentity",
        "\"code\":503",
    ] {
        assert!(here.contains(part), "there is no {part} in it");
    }
    let there = elsewhere("determinism::the_same_seed_gives_the_same_run_in_two_processes");
    for line in here.lines() {
        assert!(there.contains(line), "only here: {line}");
    }
    assert!(there.contains(&here), "the order is another");
}

#[tokio::test(start_paused = true)]
async fn another_seed_gives_another_run() {
    assert_ne!(play(7).await, play(8).await);
}
