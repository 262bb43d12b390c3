//! The server in memory, through a `kube::Client`, on a paused clock.

use std::time::Duration;

use controller_apiserver::{Entry, Fault, Server, Verb, When};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::watcher;
use serde_json::json;

#[expect(clippy::unwrap_used, reason = "a constant")]
fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": "v"}})).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_client_creates_lists_watches_and_deletes() {
    let server = Server::new();
    let api = Api::<ConfigMap>::namespaced(server.client_named("tester/1"), "default");
    let list = api.list(&ListParams::default()).await.unwrap();
    let created = api
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    assert_eq!(created.data, config_map("a").data);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let events: Vec<_> = api
        .watch(&WatchParams::default().timeout(5), &version)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert!(
        matches!(&events[..], [WatchEvent::Added(_), WatchEvent::Deleted(_)]),
        "{events:?}"
    );
    assert_eq!(server.journal().writes().len(), 2);
    assert_eq!(server.journal().entries()[0].user_agent, "tester/1");
    server.settle().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn settled_means_that_watches_have_delivered_and_controllers_are_done() {
    let server = Server::new();
    let client = server.client();
    let (sender, seen) = std::sync::mpsc::channel();
    let stream = watcher(Api::<Namespace>::all(client.clone()), watcher::Config::default());
    let task = tokio::spawn(stream.try_for_each(move |event| {
        let _ = sender.send(event);
        std::future::ready(Ok(()))
    }));
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    Api::<ConfigMap>::namespaced(client, "x")
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    namespaces.delete("x", &DeleteParams::default()).await.unwrap();
    let before = server.now();
    server.settle().await.unwrap();
    assert_eq!(server.now(), before, "settling takes no time");
    assert!(namespaces.get_opt("x").await.unwrap().is_none());
    let deleted = seen
        .try_iter()
        .any(|event| matches!(event, watcher::Event::Delete(ns) if ns.metadata.name.as_deref() == Some("x")));
    assert!(deleted, "the watcher saw the deletion");
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn faults_meet_what_they_match_and_no_more() {
    let server = Server::new();
    let api = Api::<ConfigMap>::namespaced(server.client(), "default");
    server.faults().inject(
        When::verb(Verb::Create).resource("configmaps").times(1),
        Fault::status(503),
    );
    assert!(
        api.create(&PostParams::default(), &config_map("a"))
            .await
            .is_err()
    );
    api.create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    server
        .faults()
        .inject(When::verb(Verb::Watch), Fault::Cut { after: 1 });
    api.create(&PostParams::default(), &config_map("b"))
        .await
        .unwrap();
    let stream = api.watch(&WatchParams::default(), "0").await.unwrap();
    assert_eq!(stream.boxed().count().await, 1);
    server.faults().clear();
    server.faults().inject(When::verb(Verb::Get), Fault::Hang);
    let hung = tokio::time::timeout(Duration::from_secs(3600), api.get("a")).await;
    assert!(hung.is_err(), "no answer, ever");
    server.settle().await.unwrap();
}

/// Who did what to which object, when in the server's time, and how that ended; and the questions to it.
#[tokio::test(start_paused = true)]
async fn the_journal_tells_who_did_what_when_and_how_it_ended() {
    use controller_apiserver::access::{MASTERS, User};
    let server = Server::new();
    let as_user = |name: &str| server.client_as_named(User::new(name, [MASTERS]), format!("{name}-agent"));
    let maps = Api::<ConfigMap>::namespaced(as_user("anna"), "default");
    let start = server.now();
    maps.create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    server.advance(Duration::from_secs(60)).await.unwrap();
    server.jump_clock(jiff::SignedDuration::from_secs(3600));
    let deployments = Api::<Deployment>::namespaced(as_user("bert"), "default");
    let patch = Patch::Merge(json!({"status": {"replicas": 1}}));
    let missing = deployments
        .patch_status("x", &PatchParams::default(), &patch)
        .await;
    assert!(missing.is_err());

    let journal = server.journal();
    let [created, patched] = journal.entries() else {
        panic!("{journal}");
    };
    let place = |entry: &Entry| {
        let parts = [
            &entry.group,
            &entry.resource,
            &entry.subresource,
            &entry.namespace,
            &entry.name,
        ];
        parts.map(String::as_str).join("|")
    };
    assert_eq!(place(created), "|configmaps||default|");
    assert_eq!(place(patched), "apps|deployments|status|default|x");
    assert_eq!(
        (created.user.as_str(), created.verb, created.code),
        ("anna", "create", 201)
    );
    assert_eq!(
        (patched.user.as_str(), patched.verb, patched.code),
        ("bert", "patch", 404)
    );
    assert_eq!(
        (&*patched.reason, &*patched.user_agent),
        ("NotFound", "bert-agent")
    );
    assert_eq!(created.time, start);
    assert_eq!(
        patched.time.duration_since(start).as_secs(),
        3660,
        "with the jump of the clock"
    );

    for (question, answer) in [
        (journal.verb(Verb::Create), created),
        (journal.user("anna"), created),
        (journal.resource("configmaps"), created),
        (journal.writes(), created),
        (journal.name("x"), patched),
        (journal.after(created.sequence), patched),
        (journal.filter(|entry| entry.code >= 400), patched),
    ] {
        assert_eq!(question.entries(), std::slice::from_ref(answer));
    }
    assert_eq!(journal.to_ndjson().lines().count(), 2);
}
