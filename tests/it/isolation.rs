//! One object's panic, hang or failure is its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use controller_runtime::{Action, Config, object::ObjectRef};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt};

use crate::world::{Failure, World, done, same};

/// How and where the one object misbehaves.
#[derive(Clone, Copy, Debug)]
enum Panic {
    BeforeTheFirstAwait,
    AfterAnAwait,
    InTheErrorPolicy,
}

/// kubernetes-sigs/controller-runtime#797: one panicking object took the process down.
#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_of_its_own_object_wherever_it_happens() {
    for place in [
        Panic::BeforeTheFirstAwait,
        Panic::AfterAnAwait,
        Panic::InTheErrorPolicy,
    ] {
        let world = World::new();
        for index in 0..20 {
            world.map(&format!("m{index}")).await;
        }
        let reconcile = move |map: Arc<ConfigMap>| {
            let bad = map.name_any() == "m7";
            assert!(!(bad && matches!(place, Panic::BeforeTheFirstAwait)), "before");
            async move {
                if bad {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    assert!(!matches!(place, Panic::AfterAnAwait), "after");
                    return Err(Failure("ask the policy".to_owned()));
                }
                Ok(Action::await_change())
            }
        };
        let running = world.run_with(world.controller(), reconcile, |_, error, _| panic!("{error}"));
        world
            .until("the panicking key is tried again", || {
                same(world.seen.of("m7").len().min(3), 3)
            })
            .await;
        assert!(!running.task.is_finished(), "{place:?}");
        world.touch("m3", "changed").await;
        world.settle().await;
        for index in (0..20).filter(|index| *index != 7) {
            let runs = world.seen.of(&format!("m{index}")).len();
            assert_eq!(runs, if index == 3 { 2 } else { 1 }, "{place:?}: m{index}");
        }
        let depth = running.gauge.read();
        assert_eq!(
            (depth.running, depth.ready, depth.waiting),
            (0, 0, 1),
            "{place:?}: {depth:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_mapper_does_not_stop_the_watch() {
    let world = World::new();
    let map = world.map("a").await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let controller = world.controller().watches(
        Api::<Secret>::all(world.controllers_client()),
        Default::default(),
        move |secret: Secret| {
            counted.fetch_add(1, Ordering::Relaxed);
            assert_ne!(secret.name_any(), "bad", "this mapper panics");
            vec![ObjectRef::<ConfigMap>::new("a").within("default")]
        },
    );
    let running = world.run(controller, done);
    world.settle().await;
    world.seen.clear();
    world.secret_of(&map, "bad").await;
    world.settle().await;
    assert!(calls.load(Ordering::Relaxed) > 0, "the mapper was asked");
    world.secret_of(&map, "good").await;
    world.settle().await;
    assert!(!running.task.is_finished());
    assert_eq!(world.seen.of("a").len(), 1, "the good one wakes its target");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_never_ends_is_dropped_at_its_timeout_and_others_go_on() {
    let world = World::new();
    for name in ["hangs", "works"] {
        world.map(name).await;
    }
    let config = Config::default().timeout(Duration::from_secs(30)).concurrency(2);
    let running = world.run(world.controller().with_config(config), |map| async move {
        if map.name_any() == "hangs" {
            std::future::pending::<()>().await;
        }
        Ok(Action::await_change())
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.seen.of("works").len(), 1);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(world.seen.of("hangs").len() >= 2, "it is tried again");
    assert!(!running.task.is_finished());
}
