//! Streams and stores from outside, shared ones, and consumers that do not keep up.

use std::{sync::Arc, task::Poll, time::Duration};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::{
    Api, Resource, ResourceExt,
    api::DeleteParams,
    runtime::{
        WatchStreamExt, reflector,
        watcher::{self, watcher},
    },
};

use super::world::{No, Seen, Task, World, a_while, drive, noting, until};
use crate::{
    Action, Controller, backoff,
    object::ObjectRef,
    trigger::{self, Predicate},
    watch::{Config, Informer},
};

fn config() -> watcher::Config {
    watcher::Config::default()
}

/// The store and the streams of kube, as in its own examples.
#[tokio::test(start_paused = true)]
async fn streams_and_a_store_of_kube_feed_a_controller() {
    let world = World::new();
    let (map, seen) = (world.map("a").await, Seen::default());
    world.map("b").await;
    let client = world.controllers_client();
    let (reader, writer) = reflector::store();
    let primaries = watcher(Api::<ConfigMap>::all(client.clone()), config())
        .default_backoff()
        .reflect(writer)
        .applied_objects();
    let owned = watcher(Api::<Secret>::all(client.clone()), config()).touched_objects();
    let related = watcher(Api::<ServiceAccount>::all(client), config()).touched_objects();
    let controller = Controller::for_stream(primaries, reader)
        .owns_stream(owned)
        .watches_stream(related, |account: ServiceAccount| {
            Some(ObjectRef::new(&account.name_any()).within("default"))
        });
    let store = controller.store();
    let _running = drive(noting(controller, &seen));
    a_while().await;
    assert_eq!(seen.take(), ["a", "b"]);
    assert_eq!(store.len(), 2);
    let owner = map.controller_owner_ref(&()).unwrap();
    world.create::<Secret>("default", "child", vec![owner]).await;
    a_while().await;
    assert_eq!(seen.take(), ["a"], "an owned object appears");
    world
        .secrets("default")
        .delete("child", &DeleteParams::default())
        .await
        .unwrap();
    a_while().await;
    assert_eq!(seen.take(), ["a"], "and vanishes");
    world.create::<ServiceAccount>("default", "b", Vec::new()).await;
    a_while().await;
    assert_eq!(seen.take(), ["b"], "a related one appears");
    world.label::<ConfigMap>("default", "a", "x").await;
    a_while().await;
    assert_eq!(seen.take(), ["a"]);
}

/// `store_shared`, `reflect_shared`, `subscribe`: one watch, two controllers.
#[tokio::test(start_paused = true)]
async fn a_shared_reflector_of_kube_feeds_two_controllers_by_one_watch() {
    let world = World::new();
    let (one, two) = (Seen::default(), Seen::default());
    let map = world.map("a").await;
    let client = world.controllers_client();
    let (maps, map_writer) = reflector::store_shared::<ConfigMap>(1024);
    let (_secrets, secret_writer) = reflector::store_shared::<Secret>(1024);
    let (first, second) = (map_writer.subscribe().unwrap(), map_writer.subscribe().unwrap());
    let children = secret_writer.subscribe().unwrap();
    let _filling = [
        drive(
            watcher(Api::<ConfigMap>::all(client.clone()), config())
                .default_backoff()
                .reflect_shared(map_writer),
        ),
        drive(
            watcher(Api::<Secret>::all(client), config())
                .default_backoff()
                .reflect_shared(secret_writer),
        ),
    ];
    let owning = Controller::for_shared_stream(first, maps.clone()).owns_shared_stream(children);
    let _running = [
        drive(noting(owning, &one)),
        drive(noting(Controller::for_shared_stream(second, maps), &two)),
    ];
    a_while().await;
    assert_eq!(
        (one.take(), two.take()),
        (vec!["a".to_owned()], vec!["a".to_owned()])
    );
    let owner = map.controller_owner_ref(&()).unwrap();
    world.create::<Secret>("default", "child", vec![owner]).await;
    world.map("b").await;
    a_while().await;
    assert_eq!(one.take(), ["a", "b"]);
    assert_eq!(two.take(), ["b"]);
    assert_eq!(
        world.requests_for("configmaps"),
        2,
        "one list and one watch for both"
    );
}

/// Streams that were filtered before, combined into one controller, over a store of ours.
#[tokio::test(start_paused = true)]
async fn several_filtered_streams_feed_one_controller_over_a_store_of_ours() {
    let world = World::new();
    let seen = Seen::default();
    for name in ["a", "b", "c"] {
        world.map(name).await;
    }
    world.label::<ConfigMap>("default", "a", "web").await;
    world.label::<ConfigMap>("default", "b", "db").await;
    let client = world.controllers_client();
    let of = |app: &str| {
        let selected = config().labels(&format!("app={app}"));
        watcher(Api::<ConfigMap>::all(client.clone()), selected)
            .applied_objects()
            .boxed()
    };
    let informer = Informer::<ConfigMap>::new(Api::all(client.clone()), Config::default());
    let _filling = Task(tokio::spawn(informer.run()));
    let controller = Controller::for_stream(stream::select_all([of("web"), of("db")]), informer.store());
    let _running = drive(noting(controller, &seen));
    a_while().await;
    assert_eq!(seen.take(), ["a", "b"]);
    world.label::<ConfigMap>("default", "c", "db").await;
    a_while().await;
    assert_eq!(seen.take(), ["c"]);
}

/// An informer of ours is shared: one watch, deletions included, and it goes on when the controller that drove it ends.
#[tokio::test(start_paused = true)]
async fn a_shared_informer_tells_deletions_and_outlives_the_controller_that_drove_it() {
    let world = World::new();
    let (one, two) = (Seen::default(), Seen::default());
    let map = world.map("a").await;
    let client = world.controllers_client();
    let maps = Informer::<ConfigMap>::new(Api::all(client.clone()), Config::default());
    let secrets = Informer::<Secret>::new(Api::all(client), Config::default());
    let controller = || {
        let primaries = maps.store();
        Controller::for_informer(&maps, Predicate::any([]))
            .related(&secrets, move |delta| trigger::owner(delta, &primaries, &()))
    };
    let (first, _second) = (
        drive(noting(controller(), &one)),
        drive(noting(controller(), &two)),
    );
    a_while().await;
    let owner = map.controller_owner_ref(&()).unwrap();
    world.create::<Secret>("default", "child", vec![owner]).await;
    a_while().await;
    assert_eq!(
        (one.take(), two.take()),
        (vec!["a".to_owned(); 2], vec!["a".to_owned(); 2])
    );
    assert_eq!(world.requests_for("secrets"), 1, "one streaming list for both");
    drop(first);
    world
        .secrets("default")
        .delete("child", &DeleteParams::default())
        .await
        .unwrap();
    a_while().await;
    assert_eq!(two.take(), ["a"], "the owner of what vanished runs");
    assert!(one.take().is_empty());
}

/// Nothing downstream can block a watch: a consumer that polls once and then not for an hour.
#[tokio::test(start_paused = true)]
async fn a_consumer_that_does_not_poll_holds_up_no_watch() {
    let world = World::new();
    let seen = Seen::default();
    let controller = Controller::new(Api::<ConfigMap>::all(world.controllers_client()), config());
    let store = controller.store();
    let mut results = Box::pin(noting(controller, &seen));
    assert!(futures::poll!(results.next()).is_pending());
    for number in 0..50 {
        world.map(&format!("m{number}")).await;
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.len(), 50, "the watch went on");
    assert!(seen.take().is_empty(), "and nothing ran, as documented");
    world.label::<ConfigMap>("default", "m7", "x").await;
    a_while().await;
    let mut results = results.take(50);
    while results.next().await.is_some() {}
    assert_eq!(seen.take().len(), 50, "each once, although m7 changed twice");
}

/// The reconciles of a consumer that takes a second for each result are not held back by it.
#[tokio::test(start_paused = true)]
async fn a_consumer_that_is_slow_delays_no_reconcile_by_more_than_its_own_pause() {
    let world = World::new();
    let seen = Seen::default();
    for number in 0..100 {
        world.map(&format!("m{number}")).await;
    }
    let controller = Controller::new(Api::<ConfigMap>::all(world.controllers_client()), config());
    let results = noting(controller, &seen);
    let _slow = Task(tokio::spawn(
        results.for_each(|_| tokio::time::sleep(Duration::from_secs(1))),
    ));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(seen.take().len(), 100);
    world.label::<ConfigMap>("default", "m7", "x").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(seen.take(), ["m7"], "although 93 results still wait");
}

#[tokio::test(start_paused = true)]
async fn keys_and_pulses_from_outside_wake() {
    let world = World::new();
    let seen = Seen::default();
    for name in ["a", "b"] {
        world.map(name).await;
    }
    let (keys, key_stream) = futures::channel::mpsc::unbounded();
    let (pulses, pulse_stream) = futures::channel::mpsc::unbounded();
    let controller = Controller::new(Api::<ConfigMap>::all(world.controllers_client()), config())
        .reconcile_on(key_stream)
        .reconcile_all_on(pulse_stream);
    let _running = drive(noting(controller, &seen));
    a_while().await;
    seen.take();
    keys.unbounded_send(ObjectRef::new("b").within("default"))
        .unwrap();
    a_while().await;
    assert_eq!(seen.take(), ["b"]);
    pulses.unbounded_send(()).unwrap();
    a_while().await;
    assert_eq!(seen.take(), ["a", "b"]);
}

/// Reconciler and error policy borrow locals, and what they borrow is there again when the stream is dropped.
#[tokio::test(start_paused = true)]
async fn a_reconciler_may_borrow_locals() {
    let world = World::new();
    world.map("a").await;
    let (mut names, failures) = (Vec::new(), std::cell::Cell::new(0));
    let controller = Controller::new(Api::<ConfigMap>::all(world.controllers_client()), config());
    controller
        .run(
            |map: Arc<ConfigMap>, _| {
                names.push(map.name_any());
                let fails = names.len() < 3;
                async move {
                    if fails {
                        Err(No)
                    } else {
                        Ok(Action::await_change())
                    }
                }
            },
            |map, error, context| {
                failures.set(failures.get() + 1);
                backoff()(map, error, context)
            },
            Arc::new(()),
        )
        .take(3)
        .for_each(|_| std::future::ready(()))
        .await;
    assert_eq!((names.len(), failures.get()), (3, 2));
}

/// A stream from outside that fails is polled again after its backoff, and given up when that says so.
#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_is_told_and_polled_again() {
    let world = World::new();
    let seen = Seen::default();
    world.map("a").await;
    let informer = Informer::<ConfigMap>::new(Api::all(world.controllers_client()), Config::default());
    let _filling = Task(tokio::spawn(informer.run()));
    let mut polls = 0;
    let failing = stream::poll_fn(move |_| {
        polls += 1;
        Poll::Ready(match polls {
            1..=3 => Some(Err(watcher::Error::NoResourceVersion)),
            4 => Some(Ok(world_map())),
            _ => None,
        })
    });
    let controller = Controller::for_stream(failing, informer.store());
    let results: Vec<_> = noting(controller, &seen).collect().await;
    assert_eq!(
        results.len(),
        4,
        "three errors and a run; then the stream ends, and the controller with it"
    );
    assert_eq!(seen.take(), ["a"]);
    until(&seen, "at rest", || seen.len() == 0).await;
}

fn world_map() -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".to_owned());
    map.metadata.namespace = Some("default".to_owned());
    map
}
