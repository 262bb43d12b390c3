//! Several sources, several subscribers, kinds that come and go.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{Fault, Server, Verb};
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Resource,
    api::{DeleteParams, DynamicObject, PostParams},
    core::{ApiResource, GroupVersionKind, PartialObjectMeta},
};
use serde_json::json;

use super::server::{World, asked, pass, until};
use crate::{
    store::DeltaCause,
    watch::{Config, Informer, Phase, StreamingLists},
};

const SOON: Duration = Duration::from_secs(60);

async fn create(server: &Server, namespace: &str, name: &str) {
    let api = Api::<ConfigMap>::namespaced(server.client(), namespace);
    let object = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn namespaces(server: &Server, names: &[&str]) {
    let api = Api::<k8s_openapi::api::core::v1::Namespace>::all(server.client());
    for name in names {
        let object = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
}

/// operator-framework/java-operator-sdk#1775: one namespace of two is forbidden.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_fails_holds_up_no_other_and_is_named() {
    let server = Server::new();
    namespaces(&server, &["one", "two"]).await;
    for verb in [Verb::List, Verb::Watch] {
        server
            .faults()
            .inject(asked(verb).namespace("two"), Fault::status(403));
    }
    let config = Config::default().ready_limit(Duration::from_secs(30));
    let informer =
        Informer::<ConfigMap>::in_namespaces(&server.client_named("informer"), ["one", "two"], config, ());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&heard);
    informer
        .subscribe(move |delta| names.lock().unwrap().push(delta.key.name.clone()))
        .detach();
    let driver = tokio::spawn(informer.run());
    let error = informer.store().wait_until_ready().await.unwrap_err().to_string();
    assert!(
        error.contains("namespace two") && !error.contains("namespace one"),
        "{error}"
    );
    for hour in 0..24 {
        let (one, two) = (format!("one-{hour}"), format!("two-{hour}"));
        create(&server, "one", &one).await;
        create(&server, "two", &two).await;
        until(
            Duration::from_secs(1),
            || format!("{:?}", informer.status()),
            || heard.lock().unwrap().contains(&one),
        )
        .await;
        assert!(!heard.lock().unwrap().contains(&two));
        pass(Duration::from_secs(3600)).await;
    }
    server.faults().clear();
    until(
        SOON,
        || format!("{:?}", informer.status()),
        || informer.store().is_synced(),
    )
    .await;
    assert_eq!(informer.store().len(), 48);
    assert_eq!(informer.store().within("two").snapshot().len(), 24);
    driver.abort();
}

/// A relist of one namespace removes nothing from another.
#[tokio::test(start_paused = true)]
async fn a_relist_is_of_its_own_namespace_only() {
    let server = Server::new();
    namespaces(&server, &["one", "two"]).await;
    create(&server, "one", "a").await;
    create(&server, "two", "b").await;
    let client = server.client_named("informer");
    let informer = Informer::<ConfigMap>::in_namespaces(&client, ["one", "two"], Config::default(), ());
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    server
        .faults()
        .inject(asked(Verb::Watch).namespace("two"), Fault::status(503));
    server.close_watches();
    create(&server, "one", "c").await;
    server.compact();
    let store = informer.store();
    until(SOON, || format!("{:?}", informer.status()), || store.len() == 3).await;
    assert!(store.get(("two", "b")).is_some());
    let phases: Vec<_> = informer.status().iter().map(|status| status.phase).collect();
    assert_eq!(phases, [Phase::Watching, Phase::Failing]);
    driver.abort();
}

/// A hundred sources that fail together do not come back together. (kube-rs/kube#1896: jitter that was never applied.)
#[tokio::test(start_paused = true)]
async fn sources_that_fail_together_come_back_apart() {
    let server = Server::new();
    let names: Vec<_> = (0..100).map(|n| format!("n{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    namespaces(&server, &names).await;
    let client = server.client_named("informer");
    let config = Config {
        seed: Some(3),
        ..Config::default()
    };
    let informer = Informer::<ConfigMap>::in_namespaces(&client, names, config, ());
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    let before = server.journal().entries().last().unwrap().sequence;
    server
        .faults()
        .inject(asked(Verb::Watch).times(100), Fault::Answer(gone()));
    server.close_watches();
    pass(SOON).await;
    let journal = server.journal().after(before);
    let lists: BTreeSet<_> = journal
        .entries()
        .iter()
        .filter(|entry| entry.query.contains("sendInitialEvents"))
        .map(|entry| entry.time)
        .collect();
    assert!(lists.len() > 90, "{} moments; {journal}", lists.len());
    driver.abort();
}

fn gone() -> controller_apiserver::status::ApiError {
    controller_apiserver::status::ApiError::new(410, "Gone", "too old resource version")
}

/// EmbarkStudios/quilkin#734: one failure an hour, and delays that grow over the day.
#[tokio::test(start_paused = true)]
async fn a_failure_now_and_then_always_finds_the_first_step() {
    let mut world = World::new(Config::default()).await;
    world.start();
    world.until_level(SOON).await;
    for _ in 0..24 {
        pass(Duration::from_secs(3600)).await;
        world
            .server
            .faults()
            .inject(asked(Verb::Watch).times(1), Fault::status(500));
        world.server.close_watches();
        until(
            Duration::from_secs(1),
            || world.status().to_string(),
            || world.status().phase == Phase::Failing,
        )
        .await;
        until(
            Duration::from_secs(3),
            || world.status().to_string(),
            || world.status().problem.is_none(),
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_be_left_alone_is_followed_and_not_for_ever() {
    for (wish, least, most) in [(40, 40, 45), (1_000_000, 290, 305)] {
        let mut world = World::new(Config::default()).await;
        let refusal =
            controller_apiserver::status::ApiError::new(429, "TooManyRequests", "later").retry_after(wish);
        world
            .server
            .faults()
            .inject(asked(Verb::Watch).times(1), Fault::Answer(refusal));
        world.start();
        pass(Duration::from_secs(least)).await;
        assert_eq!(world.requests(), 1);
        world.until_level(Duration::from_secs(most - least)).await;
    }
}

/// The kind is deleted with all its objects, and comes back by another definition, three times a day.
///
/// Lists of custom resources have an empty continue token at their end (kube-rs/kube#1250).
#[tokio::test(start_paused = true)]
async fn a_kind_may_go_and_come_back() {
    for streaming in [StreamingLists::Auto, StreamingLists::Off] {
        goes_and_comes_back(Config::default().streaming_lists(streaming)).await;
    }
}

async fn goes_and_comes_back(config: Config) {
    let server = Server::new();
    let definition = definition();
    let crds = Api::<CustomResourceDefinition>::all(server.client());
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let informer = Informer::<DynamicObject>::new_with(
        Api::all_with(server.client_named("informer"), &kind),
        config,
        kind.clone(),
    );
    let driver = tokio::spawn(informer.run());
    let store = informer.store();
    pass(SOON).await;
    let status = informer.status().remove(0);
    assert_eq!(status.phase, Phase::Failing, "{status}");
    assert!(
        status
            .to_string()
            .contains("widgets.example.com (Widget v1): 404"),
        "{status}"
    );
    for round in 0..3 {
        crds.create(&PostParams::default(), &definition).await.unwrap();
        pass(Duration::from_secs(1)).await;
        let widgets = Api::<DynamicObject>::namespaced_with(server.client(), "default", &kind);
        let name = format!("widget-{round}");
        widgets
            .create(&PostParams::default(), &DynamicObject::new(&name, &kind))
            .await
            .unwrap();
        until(
            SOON,
            || format!("{:?}", informer.status()),
            || store.get(("default", &*name)).is_some(),
        )
        .await;
        assert_eq!(store.len(), 1, "what was before is gone");
        let object = store.get(("default", &*name)).unwrap();
        assert_eq!(object.types.as_ref().unwrap().kind, "Widget");
        crds.delete("widgets.example.com", &DeleteParams::default())
            .await
            .unwrap();
        let before = server.journal().entries().len();
        pass(Duration::from_secs(8 * 3600)).await;
        assert_eq!(informer.status()[0].phase, Phase::Failing);
        let asked = server.journal().entries().len() - before;
        assert!(asked <= 8 * 60 * 4, "{asked} requests in eight hours");
    }
    driver.abort();
}

fn definition() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_can_be_watched() {
    let server = Server::new();
    create(&server, "default", "a").await;
    let api = Api::<PartialObjectMeta<ConfigMap>>::all(server.client());
    let informer = Informer::new_with(api, Config::default(), ());
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    create(&server, "default", "b").await;
    let store = informer.store();
    until(SOON, || format!("{:?}", informer.status()), || store.len() == 2).await;
    assert!(store.get(("default", "a")).unwrap().meta().uid.is_some());
    driver.abort();
}

/// A selector is the server's: what leaves it vanishes, what enters it appears.
#[tokio::test(start_paused = true)]
async fn only_what_is_selected_is_in_the_store() {
    let server = Server::new();
    create(&server, "default", "a").await;
    create(&server, "default", "b").await;
    let api = Api::<ConfigMap>::default_namespaced(server.client());
    let label = |value: &str| kube::api::Patch::Merge(json!({ "metadata": { "labels": { "app": value } } }));
    let params = kube::api::PatchParams::default();
    api.patch("a", &params, &label("web")).await.unwrap();
    let informer = Informer::<ConfigMap>::new(Api::all(server.client()), Config::default().labels("app=web"));
    let driver = tokio::spawn(informer.run());
    let store = informer.store();
    store.wait_until_ready().await.unwrap();
    assert_eq!(store.len(), 1);
    api.patch("b", &params, &label("web")).await.unwrap();
    until(SOON, || format!("{store:?}"), || store.len() == 2).await;
    api.patch("a", &params, &label("db")).await.unwrap();
    until(
        SOON,
        || format!("{store:?}"),
        || store.get(("default", "a")).is_none(),
    )
    .await;
    driver.abort();
}

/// Whenever a handler comes, it hears what is there, and then everything, once.
#[tokio::test(start_paused = true)]
async fn a_late_subscriber_has_no_gap() {
    let mut world = World::new(Config::default()).await;
    world.start();
    let mut subscribers = Vec::new();
    for round in 0..10 {
        let heard = Arc::new(Mutex::new(super::server::Fold::default()));
        let fold = Arc::clone(&heard);
        let subscription = world
            .informer
            .subscribe(move |delta| fold.lock().unwrap().add(delta));
        subscribers.push((heard, subscription));
        world.create(&format!("round-{round}")).await;
        world.change("first-0").await;
        if round % 3 == 0 {
            world.delete(&format!("round-{round}")).await;
            world.server.close_watches();
            world.server.compact();
        }
    }
    world.until_level(SOON).await;
    let truth = world.truth().await;
    for (heard, _subscription) in &subscribers {
        assert_eq!(heard.lock().unwrap().contents, truth);
    }
    let late = Arc::new(Mutex::new(Vec::new()));
    let causes = Arc::clone(&late);
    let subscription = world
        .informer
        .subscribe(move |delta| causes.lock().unwrap().push(delta.cause));
    assert_eq!(*late.lock().unwrap(), vec![DeltaCause::Initial; truth.len()]);
    drop(subscription);
    world.change("first-0").await;
    world.until_level(SOON).await;
    assert_eq!(
        late.lock().unwrap().len(),
        truth.len(),
        "a dropped subscription hears nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_harms_nobody() {
    let mut world = World::new(Config::default()).await;
    let subscription = world
        .informer
        .subscribe(|delta| assert!(!delta.key.name.starts_with("first"), "on purpose"));
    world.start();
    world.until_level(SOON).await;
    world.change("first-0").await;
    world.until_level(SOON).await;
    drop(subscription);
}

/// One future drives; the next one takes over with a list of its own, and nothing is told twice.
#[tokio::test(start_paused = true)]
async fn another_driver_takes_over() {
    let mut world = World::new(Config::default()).await;
    world.start();
    world.until_level(SOON).await;
    let second = tokio::spawn(world.informer.run());
    pass(Duration::from_secs(600)).await;
    let streams = |world: &World| {
        let journal = world.server.journal();
        journal
            .entries()
            .iter()
            .filter(|entry| entry.query.contains("sendInitialEvents"))
            .count()
    };
    assert_eq!(streams(&world), 1, "the second one waits");
    world.stop().await;
    world.change("first-0").await;
    world.until_level(SOON).await;
    assert_eq!(streams(&world), 2);
    second.abort();
}

/// Without changes nothing but watches is asked for, as rarely as the server ends them.
#[tokio::test(start_paused = true)]
async fn at_rest_it_only_watches() {
    let mut world = World::new(Config::default()).await;
    world.start();
    world.until_level(SOON).await;
    let (before, deltas) = (world.requests(), world.deltas().len());
    pass(Duration::from_secs(24 * 3600)).await;
    let asked = world.requests() - before;
    assert!(asked <= 24 * 3600 / 200, "{asked} requests");
    assert_eq!(world.deltas().len(), deltas);
    world.assert_level().await;
}
