//! The same promises where tasks really run at the same time. Time is real here, so it is short.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::{sync::oneshot, time::Instant};

use super::world::{Runs, World, drain, key};
use crate::{
    Action, Config, backoff,
    runner::{Gauge, Inlet},
    trigger::external,
};

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

/// Far longer than anything takes; only a failure waits for it.
const LIMIT: Duration = Duration::from_secs(60);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

async fn until(gauge: &Gauge, what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}; queue: {gauge:?}");
        tokio::time::sleep(ms(2)).await;
    }
}

/// kube-rs/kube#372: an error, and a due requeue, showed up only when unrelated I/O woke the task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_and_timers_come_with_the_world_still() {
    for pause in [ms(0), ms(30)] {
        let mut world = World::of(["a"]);
        let start = Instant::now();
        let results = world.controller().run(
            |_, _| async { Err::<Action, _>(No) },
            |_, _, _| Action::requeue(ms(20)),
            Arc::new(()),
        );
        world.trigger("a");
        let reading = async {
            let mut results = Box::pin(results);
            for round in 0..5 {
                assert!(results.next().await.is_some_and(|result| result.is_err()));
                assert!(Instant::now() - start >= ms(20 * round), "too early");
                tokio::time::sleep(pause).await;
            }
        };
        tokio::time::timeout(LIMIT, reading).await.expect("it hangs");
    }
}

/// kube-rs/kube#1322 with several threads: no key runs twice at once, and the last of its triggers is never lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_trigger_of_every_key_is_seen() {
    const KEYS: usize = 40;
    let names: Vec<_> = (0..KEYS).map(|number| number.to_string()).collect();
    let mut world = World::of(&names);
    let controller = world.controller().with_config(Config::default().concurrency(7));
    let (gauge, inlet) = (controller.gauge(), Inlet::new(&controller.shared));
    let counters = || -> Arc<Vec<AtomicU64>> { Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect()) };
    let (versions, seen) = (counters(), counters());
    let (runs, now, saw) = (Runs::default(), Arc::clone(&versions), Arc::clone(&seen));
    let reading = drain(controller.run(
        move |object: Arc<ConfigMap>, _| {
            let running = runs.start(&object);
            let number: usize = object
                .metadata
                .name
                .as_deref()
                .unwrap_or_default()
                .parse()
                .unwrap();
            let version = now[number].load(Ordering::SeqCst);
            let saw = Arc::clone(&saw);
            async move {
                let _running = running;
                tokio::task::yield_now().await;
                saw[number].store(version, Ordering::SeqCst);
                if version % 5 == 1 {
                    Err(No)
                } else {
                    Ok(Action::await_change())
                }
            }
        },
        |_, _, _| Action::requeue(ms(1)),
        Arc::new(()),
    ));
    let pushers: Vec<_> = (0..4)
        .map(|pusher| {
            let (inlet, versions) = (inlet.clone(), Arc::clone(&versions));
            tokio::spawn(async move {
                let mut rng = fastrand::Rng::with_seed(pusher);
                for _ in 0..5_000 {
                    let number = rng.usize(0..KEYS);
                    versions[number].fetch_add(1, Ordering::SeqCst);
                    inlet.push(external(key(&number.to_string()), "test"));
                    if rng.u8(0..50) == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for pusher in pushers {
        pusher.await.expect("no panic");
    }
    let level =
        || (0..KEYS).all(|key| seen[key].load(Ordering::SeqCst) == versions[key].load(Ordering::SeqCst));
    until(&gauge, "every last trigger was seen", level).await;
    assert!(!reading.is_finished(), "no key ran twice at once");
    reading.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_keys_run() {
    const OBJECTS: usize = 100_000;
    let mut world = World::of((0..OBJECTS).map(|number| number.to_string()));
    let controller = world.controller().with_config(Config::default().concurrency(100));
    let (gauge, shared) = (controller.gauge(), Arc::clone(&controller.shared));
    let done = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&done);
    let results = controller.run(
        move |_, _| {
            counting.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, No>(Action::await_change()) }
        },
        backoff(),
        Arc::new(()),
    );
    world.trigger_all();
    let reading = tokio::spawn(results.for_each(|_| std::future::ready(())));
    until(&gauge, "all ran", || {
        done.load(Ordering::Relaxed) == OBJECTS && gauge.is_settled()
    })
    .await;
    assert_eq!(shared.lock().queue.len(), 0);
    reading.abort();
}

/// Stops a controller whose runs take `work`; tells how long that took, and the results.
async fn stop(work: Duration, grace: Duration, again: Option<Duration>) -> (Duration, Vec<String>, usize) {
    let mut world = World::of(["a", "b"]);
    let ((first, on_first), (second, on_second)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
    let told = |receiver: oneshot::Receiver<()>| async {
        if receiver.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let runs = Runs::default();
    let controller = world
        .controller()
        .with_config(Config::default().shutdown_grace(grace))
        .graceful_shutdown_on(told(on_first))
        .forceful_shutdown_on(told(on_second));
    let (gauge, seen) = (controller.gauge(), runs.clone());
    let reading = drain(controller.run(
        move |object, _| {
            let running = seen.start(&object);
            async move {
                let _running = running;
                tokio::time::sleep(work).await;
                Ok::<_, No>(Action::await_change())
            }
        },
        backoff(),
        Arc::new(()),
    ));
    world.trigger_all();
    until(&gauge, "both began", || runs.total() == 2).await;
    let asked = Instant::now();
    first.send(()).expect("it listens");
    if let Some(again) = again {
        tokio::time::sleep(again).await;
        second.send(()).expect("it listens");
    }
    world.trigger_all();
    let results = tokio::time::timeout(LIMIT, reading)
        .await
        .expect("it ends")
        .expect("no panic");
    let took = asked.elapsed();
    until(&gauge, "what was dropped is gone", || runs.active() == 0).await;
    (took, results, runs.total())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_may_finish_and_nothing_new_begins() {
    let (took, results, runs) = stop(ms(100), LIMIT, None).await;
    assert!(took < LIMIT, "it did not wait for the limit: {took:?}");
    assert_eq!(runs, 2);
    assert!(
        results.iter().all(|result| !result.contains("dropped")),
        "{results:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_never_ends_is_dropped_at_the_limit_or_at_the_second_wish() {
    let (took, results, runs) = stop(LIMIT, ms(300), None).await;
    assert!((ms(300)..LIMIT).contains(&took), "{took:?}");
    assert_eq!(
        (
            runs,
            results.iter().filter(|result| result.contains("dropped")).count()
        ),
        (2, 2)
    );
    let (took, results, _) = stop(LIMIT, LIMIT, Some(ms(20))).await;
    assert!(took < LIMIT, "{took:?}");
    assert_eq!(
        results.iter().filter(|result| result.contains("dropped")).count(),
        2
    );
}
