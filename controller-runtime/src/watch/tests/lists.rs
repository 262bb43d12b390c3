//! Lists and relists: complete, in place, whatever comes.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{Fault, Verb};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::{
    scripted::{Scripted, config_map, send},
    server::{World, pass, until},
};
use crate::{
    store::DeltaCause,
    watch::{Config, Informer, Phase, StreamingLists},
};

const SOON: Duration = Duration::from_secs(60);

fn pages() -> Config {
    Config::default().streaming_lists(StreamingLists::Off)
}

fn named(names: &[(&str, DeltaCause, bool)]) -> Vec<(String, DeltaCause, bool)> {
    let owned = |(name, cause, there): &(&str, _, _)| ((*name).to_owned(), *cause, *there);
    names.iter().map(owned).collect()
}

/// kube-rs/kube#1524, #1250: a store that is ready with the first page only; an empty token that begins the list again.
#[tokio::test(start_paused = true)]
async fn all_pages_are_in_the_store_before_it_is_ready() {
    for last_token in [json!(""), json!(null)] {
        let server = Scripted::default();
        for page in 0..3 {
            let items: Vec<_> = (0..10).map(|n| config_map(&format!("{page}-{n}"), 5)).collect();
            let token = if page < 2 {
                json!(format!("page-{page}"))
            } else {
                last_token.clone()
            };
            server.answers(
                200,
                &json!({ "metadata": { "resourceVersion": "10", "continue": token }, "items": items }),
            );
        }
        let _watch = server.opens();
        let informer = Informer::<ConfigMap>::new(Api::all(server.client()), pages().page_size(10));
        let store = informer.store();
        let driver = tokio::spawn(informer.run());
        store.wait_until_ready().await.unwrap();
        assert_eq!(store.len(), 30);
        pass(Duration::from_secs(200)).await;
        let asked = server.asked();
        assert_eq!(asked.len(), 4, "three pages and a watch: {asked:?}");
        assert!(
            asked[1].contains("continue=page-0") && asked[3].contains("resourceVersion=10"),
            "{asked:?}"
        );
        driver.abort();
    }
}

/// A token that expires on the second page: the list begins again, in one piece, and what it found before stays readable.
#[tokio::test(start_paused = true)]
async fn an_expired_token_begins_the_list_again_in_one_piece() {
    let mut world = World::new(pages().page_size(2)).await;
    world
        .server
        .faults()
        .inject(super::server::asked(Verb::List).times(1), Fault::ExpireContinue);
    world.start();
    world.until_level(SOON).await;
    let journal = world.server.journal();
    let lists: Vec<_> = journal
        .entries()
        .iter()
        .filter(|entry| entry.verb == "list" && entry.user_agent == "informer")
        .collect();
    assert!(
        lists.iter().any(|entry| !entry.query.contains("limit=")) || lists.len() == 3,
        "{lists:?}"
    );
}

/// dotnet/dotnet-operator-sdk#675: what was deleted while the watch was down stayed in the store for ever, and nobody was
/// told.
#[tokio::test(start_paused = true)]
async fn a_relist_tells_what_vanished_with_its_last_known_copy() {
    for config in [Config::default(), pages()] {
        let mut world = World::new(config).await;
        world.start();
        world.until_level(SOON).await;
        let last_copies = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&last_copies);
        let subscription = world.informer.subscribe(move |delta| {
            if let (Some(old), None) = (&delta.old, &delta.new) {
                heard.lock().unwrap().push((old.name_any(), old.uid().is_some()));
            }
        });
        world.fail(Verb::Watch, Fault::status(503));
        world.server.close_watches();
        let before = world.deltas().len();
        world.delete("first-1").await;
        world.change("first-2").await;
        world.create("new").await;
        world.delete("first-3").await;
        world.server.compact();
        pass(SOON).await;
        assert_eq!(world.deltas().len(), before, "nothing is known yet");
        world.server.faults().clear();
        world.until_level(SOON).await;
        let mut deltas = world.deltas().split_off(before);
        deltas.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(
            deltas,
            named(&[
                ("first-1", DeltaCause::Relist, false),
                ("first-2", DeltaCause::Relist, true),
                ("first-3", DeltaCause::Relist, false),
                ("new", DeltaCause::Relist, true),
            ]),
            "what did not change yields nothing"
        );
        let mut last_copies = last_copies.lock().unwrap().clone();
        last_copies.sort();
        assert_eq!(
            last_copies,
            [("first-1".to_owned(), true), ("first-3".to_owned(), true)]
        );
        assert_eq!(world.status().relists, 1, "what failed before is no list");
        drop(subscription);
    }
}

/// While a relist goes on, every reader sees every object that is there before and after it.
#[tokio::test(start_paused = true)]
async fn no_reader_sees_a_partial_set() {
    let mut world = World::new(pages().page_size(1)).await;
    world.start();
    world.until_level(SOON).await;
    let store = world.informer.store();
    let fewest = Arc::new(Mutex::new(usize::MAX));
    let seen = Arc::clone(&fewest);
    let subscription = world.informer.subscribe(move |_| {
        let mut fewest = seen.lock().unwrap();
        *fewest = store.len().min(*fewest);
    });
    for round in 0..5 {
        world.server.close_watches();
        world.create(&format!("more-{round}")).await;
        world.server.compact();
        let store = world.informer.store();
        let end = tokio::time::Instant::now() + SOON;
        while tokio::time::Instant::now() < end {
            assert!(store.len() >= 5 + round, "{} objects", store.len());
            pass(Duration::from_millis(1)).await;
        }
        world.until_level(SOON).await;
    }
    assert!(*fewest.lock().unwrap() >= 5);
    drop(subscription);
}

/// A server that was restored from a backup: its revision is lower than what was seen.
#[tokio::test(start_paused = true)]
async fn a_revision_that_goes_back_makes_the_list_be_read_again() {
    let server = Scripted::default();
    let list = |revision: u64, names: &[(&str, u64)]| {
        let items: Vec<_> = names
            .iter()
            .map(|(name, revision)| config_map(name, *revision))
            .collect();
        json!({ "metadata": { "resourceVersion": revision.to_string() }, "items": items })
    };
    server.answers(200, &list(100, &[("a", 90), ("b", 95)]));
    let watch = server.opens();
    let informer = Informer::<ConfigMap>::new(Api::all(server.client()), pages());
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    server.answers(200, &list(50, &[("a", 40)]));
    let after = server.opens();
    let bookmark = |revision: u64| json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "resourceVersion": revision.to_string() } });
    send(&watch, "BOOKMARK", &bookmark(49));
    let store = informer.store();
    until(SOON, || format!("{:?}", informer.status()), || store.len() == 1).await;
    assert_eq!(
        store.get(("default", "a")).unwrap().resource_version().as_deref(),
        Some("40")
    );
    send(&after, "ADDED", &config_map("c", 51));
    until(SOON, || format!("{:?}", informer.status()), || store.len() == 2).await;
    driver.abort();
}

/// Some servers tell a deletion with the revision of the object's last change.
#[tokio::test(start_paused = true)]
async fn a_deletion_with_an_old_revision_is_a_deletion() {
    let server = Scripted::default();
    server.answers(
        200,
        &json!({ "metadata": { "resourceVersion": "100" }, "items": [config_map("a", 90)] }),
    );
    let watch = server.opens();
    let informer = Informer::<ConfigMap>::new(Api::all(server.client()), pages());
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    send(&watch, "DELETED", &config_map("a", 90));
    let store = informer.store();
    until(SOON, || format!("{:?}", informer.status()), || store.is_empty()).await;
    assert_eq!(server.asked().len(), 2);
    driver.abort();
}

/// One object that cannot be decoded fails a typed list of kube-rs again and again, and hides all others.
#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_decoded_hides_no_other_and_keeps_its_copy() {
    for config in [Config::default(), pages()] {
        let mut world = World::new(config).await;
        world.start();
        world.until_level(SOON).await;
        world.server.close_watches();
        let garbage = Fault::Garbage { at: 1 };
        world.fail(Verb::List, garbage.clone());
        world.fail(Verb::Watch, garbage);
        world.change("first-0").await;
        world.create("other").await;
        world.server.compact();
        until(
            SOON,
            || world.status().to_string(),
            || !world.status().undecodable.is_empty(),
        )
        .await;
        let status = world.status();
        let ((namespace, name), what) = status.undecodable.first_key_value().unwrap();
        assert_eq!(namespace.as_deref(), Some("default"));
        assert!(
            what.uid.is_some() && what.message.starts_with("data: "),
            "{name}: {what:?}"
        );
        assert!(status.synced && status.problem.is_none(), "{status}");
        if name.starts_with("first-") {
            assert!(
                world.informer.store().get(("default", &**name)).is_some(),
                "its old copy is kept"
            );
        }
        world.server.faults().clear();
        world.change(name).await;
        world.until_level(SOON).await;
    }
}

/// A line that is no JSON at all: going on from the same place would bring it again.
#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_event_makes_the_list_be_read_again() {
    let server = Scripted::default();
    let list = |names: &[&str]| {
        let items: Vec<_> = names.iter().map(|name| config_map(name, 5)).collect();
        json!({ "metadata": { "resourceVersion": "10" }, "items": items })
    };
    server.answers(200, &list(&["a"]));
    let watch = server.opens();
    server.answers(200, &list(&["a", "b"]));
    let _open = server.opens();
    let informer = Informer::<ConfigMap>::new(Api::all(server.client()), pages());
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    watch.unbounded_send("<html>Bad gateway</html>\n".into()).unwrap();
    let store = informer.store();
    until(SOON, || format!("{:?}", informer.status()), || store.len() == 2).await;
    driver.abort();
}

/// An event may come in pieces, and several in one.
#[tokio::test(start_paused = true)]
async fn pieces_of_a_stream_need_not_be_lines() {
    let server = Scripted::default();
    server.answers(
        200,
        &json!({ "metadata": { "resourceVersion": "10" }, "items": [] }),
    );
    let watch = server.opens();
    let informer = Informer::<ConfigMap>::new(Api::all(server.client()), pages());
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    let events = (0..20).map(|n| json!({ "type": "ADDED", "object": config_map(&format!("é{n}"), 11 + n) }));
    let text = events.fold(String::new(), |text, event| text + &event.to_string() + "\n\n");
    for piece in text.as_bytes().chunks(37) {
        watch.unbounded_send(piece.to_vec().into()).unwrap();
    }
    let store = informer.store();
    until(SOON, || format!("{:?}", informer.status()), || store.len() == 20).await;
    driver.abort();
}

/// Nothing of a secret's contents is in a status, which goes into logs and probes.
#[tokio::test(start_paused = true)]
async fn a_secret_that_cannot_be_decoded_is_told_without_its_contents() {
    let server = Scripted::default();
    let secret = json!({
        "metadata": { "name": "s", "namespace": "default", "uid": "u", "resourceVersion": "5" },
        "data": { "password": "hunter2: not base64" },
    });
    server.answers(
        200,
        &json!({ "metadata": { "resourceVersion": "10" }, "items": [secret] }),
    );
    let _watch = server.opens();
    let informer = Informer::<Secret>::new(Api::all(server.client()), pages());
    let driver = tokio::spawn(informer.run());
    informer.store().wait_until_ready().await.unwrap();
    let status = format!("{:?}", informer.status());
    assert!(
        status.contains("data.password: it does not fit the type") && !status.contains("hunter2"),
        "{status}"
    );
    driver.abort();
}

/// kubernetes/kubernetes#140890: it falls back to pages, says so once, and does not try for ever.
#[tokio::test(start_paused = true)]
async fn a_server_that_breaks_streaming_lists_is_asked_for_pages_after_a_bounded_try() {
    let mut world = World::new(Config::default()).await;
    world.fail(Verb::Watch, Fault::NoBookmarks);
    world.start();
    world.until_level(Duration::from_secs(45)).await;
    for _ in 0..10 {
        world.server.close_watches();
        world.change("first-0").await;
        world.server.compact();
        world.until_level(Duration::from_secs(90)).await;
    }
    let journal = world.server.journal();
    let streams = journal
        .entries()
        .iter()
        .filter(|entry| entry.query.contains("sendInitialEvents"));
    assert_eq!(streams.count(), 2);
}

/// A right that is missing is named with verb, resource, kind and namespace; kubewarden/adm-controller#1320: the wait for it
/// never ended.
#[tokio::test(start_paused = true)]
async fn a_wait_for_what_is_forbidden_ends_and_says_what() {
    let server = controller_apiserver::Server::new();
    server
        .faults()
        .inject(super::server::asked(Verb::List), Fault::status(403));
    let api = Api::<ConfigMap>::namespaced(server.client_named("informer"), "default");
    let informer = Informer::new(api, pages().ready_limit(Duration::from_secs(20)));
    let driver = tokio::spawn(informer.run());
    let error = informer.store().wait_until_ready().await.unwrap_err();
    let text = error.to_string();
    for part in [
        "20s",
        "list configmaps",
        "ConfigMap v1",
        "namespace default",
        "403",
        "forbidden",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    assert_eq!(informer.status()[0].phase, Phase::Failing);
    server.faults().clear();
    until(
        SOON,
        || format!("{:?}", informer.status()),
        || informer.store().is_synced(),
    )
    .await;
    informer.store().wait_until_ready().await.unwrap();
    driver.abort();
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_nothing_can_fill_the_store_any_more() {
    let server = Scripted::default();
    let informer = Informer::<ConfigMap>::new(Api::all(server.client()), pages());
    let store = informer.store();
    drop(informer);
    let error = store.wait_until_ready().await.unwrap_err();
    assert_eq!(error.waited, None);
    assert!(error.to_string().contains("configmaps"), "{error}");
}
