//! stackabletech/secret-operator#45: a stop took the full grace, or cut off what ran.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, task::JoinHandle, time::Instant};

use super::world::{Log, Runs, World, drain};
use crate::{Action, Config, backoff};

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

/// A controller whose reconciles take `work`, and what stops it.
struct Stoppable {
    world: World,
    runs: Runs,
    log: Arc<Log>,
    reading: JoinHandle<Vec<String>>,
    first: oneshot::Sender<()>,
    second: oneshot::Sender<()>,
}

fn start(mut world: World, work: Duration, fails: bool) -> Stoppable {
    let (runs, log) = (Runs::default(), Arc::new(Log::default()));
    let ((first, on_first), (second, on_second)) = (oneshot::channel(), oneshot::channel());
    let resolved = |receiver: oneshot::Receiver<()>| async {
        if receiver.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let seen = runs.clone();
    let results = world
        .controller()
        .observe(Arc::clone(&log) as _)
        .with_config(Config::default().shutdown_grace(Duration::from_secs(20)))
        .graceful_shutdown_on(resolved(on_first))
        .forceful_shutdown_on(resolved(on_second))
        .run(
            move |object, _| {
                let running = seen.start(&object);
                async move {
                    let _running = running;
                    tokio::time::sleep(work).await;
                    if fails {
                        Err(No)
                    } else {
                        Ok(Action::requeue(Duration::from_secs(3600)))
                    }
                }
            },
            backoff(),
            Arc::new(()),
        );
    world.trigger_all();
    Stoppable {
        world,
        runs,
        log,
        reading: drain(results),
        first,
        second,
    }
}

/// Stops it after `after`, again after `again` more; tells how long that took and the results.
async fn stop(
    it: Stoppable,
    after: Duration,
    again: Option<Duration>,
) -> (Duration, Vec<String>, Runs, Arc<Log>) {
    tokio::time::sleep(after).await;
    let (asked, runs_before) = (Instant::now(), it.runs.total());
    it.first.send(()).expect("it listens");
    tokio::task::yield_now().await;
    it.world.trigger_all();
    if let Some(again) = again {
        tokio::time::sleep(again).await;
        it.second.send(()).expect("it listens");
    }
    let results = it.reading.await.expect("no panic");
    assert_eq!(it.runs.total(), runs_before, "nothing new is started");
    assert_eq!(it.runs.active(), 0, "nothing runs on");
    (asked.elapsed(), results, it.runs, it.log)
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn idle() {
    let it = start(World::of(["a", "b"]), Duration::ZERO, false);
    let (took, results, ..) = stop(it, 5 * SECOND, None).await;
    assert!(took < Duration::from_millis(100), "{took:?}");
    assert_eq!(results.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn during_backoff() {
    let it = start(World::of(["a", "b"]), Duration::ZERO, true);
    let (took, ..) = stop(it, 90 * SECOND, None).await;
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_runs_for_three_seconds_finishes() {
    let it = start(World::of(["a", "b"]), 3 * SECOND, false);
    let (took, results, _, log) = stop(it, SECOND, None).await;
    assert_eq!(took, 2 * SECOND);
    assert_eq!(
        results.iter().filter(|result| result.contains("Requeue")).count(),
        2,
        "{results:?}"
    );
    assert_eq!(log.count("interrupted"), 0);
    assert_eq!(log.lines().last().map(String::as_str), Some("Stopped"));
}

#[tokio::test(start_paused = true)]
async fn what_never_ends_is_dropped_at_the_limit_and_named() {
    let it = start(World::of(["endless"]), Duration::MAX, false);
    let (took, results, _, log) = stop(it, SECOND, None).await;
    assert_eq!(took, 20 * SECOND);
    assert!(
        results[0].contains("endless") && results[0].contains("dropped"),
        "{results:?}"
    );
    assert_eq!(log.count("finished endless interrupted"), 1);
}

#[tokio::test(start_paused = true)]
async fn while_stores_are_not_in_sync() {
    let it = start(World::unready(), Duration::ZERO, false);
    let (took, results, ..) = stop(it, 5 * SECOND, None).await;
    assert!(took < Duration::from_millis(100), "{took:?}");
    assert!(results.is_empty());
}

#[tokio::test(start_paused = true)]
async fn twice() {
    let it = start(World::of(["a"]), 10 * SECOND, false);
    let (took, results, ..) = stop(it, SECOND, Some(SECOND)).await;
    assert_eq!(took, SECOND);
    assert!(results[0].contains("dropped"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_drops_what_runs() {
    let it = start(World::of(["a"]), 10 * SECOND, false);
    tokio::time::sleep(SECOND).await;
    assert_eq!(it.runs.active(), 1);
    it.reading.abort();
    tokio::time::sleep(SECOND).await;
    assert_eq!(it.runs.active(), 0);
}
