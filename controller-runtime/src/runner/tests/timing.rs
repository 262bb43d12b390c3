//! When things run: at their time, with the rest of the world still.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use tokio::time::Instant;

use super::world::{Runs, World, drain, eventually};
use crate::{Action, Backoff, Config, backoff};

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// kube-rs/kube#372: an error, and a due requeue, showed up only when unrelated I/O woke the task.
#[tokio::test(start_paused = true)]
async fn results_and_timers_come_at_their_time_with_the_world_still() {
    let mut world = World::of(["a"]);
    let start = Instant::now();
    let mut results = Box::pin(world.controller().run(
        |_, _| async { Err::<Action, _>(No) },
        |_, _, _| Action::requeue(secs(5)),
        Arc::new(()),
    ));
    world.trigger("a");
    for round in 0..4 {
        assert!(results.next().await.is_some_and(|result| result.is_err()));
        assert_eq!(Instant::now() - start, secs(5 * round));
    }
}

/// The same with a consumer that is slow, and with one task for each poll.
#[tokio::test(start_paused = true)]
async fn a_slow_consumer_does_not_delay_runs() {
    let mut world = World::of(["a", "b"]);
    let (runs, start) = (Runs::default(), Instant::now());
    let controller = world.controller();
    let seen = runs.clone();
    let results = controller.run(
        move |object, _| {
            let _running = seen.start(&object);
            async { Ok::<_, No>(Action::requeue(secs(10))) }
        },
        backoff(),
        Arc::new(()),
    );
    world.trigger_all();
    let mut results = Box::pin(results);
    while Instant::now() - start < secs(60) {
        results.next().await;
        tokio::time::sleep(secs(4)).await;
    }
    assert!(runs.count("a") >= 4, "{} runs in a minute", runs.count("a"));
    assert!(runs.count("b") >= 4, "{} runs in a minute", runs.count("b"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timers_ring_on_a_multi_thread_runtime() {
    let mut world = World::of(["a"]);
    let results = world.controller().run(
        |_, _| async { Ok::<_, No>(Action::requeue(Duration::from_millis(5))) },
        backoff(),
        Arc::new(()),
    );
    world.trigger("a");
    let ten = tokio::time::timeout(secs(20), results.take(10).count());
    assert_eq!(ten.await.expect("it does not hang"), 10);
}

/// The seed's timeline: t=0 opens the window; t=0.3 is ignored; the run at t=1; t=1.2 is due at t=2.2.
#[tokio::test(start_paused = true)]
async fn a_debounce_window_is_not_postponed() {
    let mut world = World::of(["a"]);
    let (runs, start) = (Runs::default(), Instant::now());
    let seen = runs.clone();
    let results = world
        .controller()
        .with_config(Config::default().debounce(secs(1)))
        .run(
            move |object, _| {
                let _running = seen.start(&object);
                async { Ok::<_, No>(Action::await_change()) }
            },
            backoff(),
            Arc::new(()),
        );
    let reading = drain(results);
    for at in [0, 300, 1200] {
        tokio::time::sleep_until(start + Duration::from_millis(at)).await;
        world.trigger("a");
    }
    tokio::time::sleep(secs(10)).await;
    let at: Vec<_> = runs
        .of("a")
        .iter()
        .map(|run| (*run - start).as_millis())
        .collect();
    assert_eq!(at, [1000, 2200]);
    reading.abort();
}

/// kube-rs/kube#1265: five changes within 400 ms are one run, and it sees the fifth.
#[tokio::test(start_paused = true)]
async fn a_run_sees_the_last_change_of_its_window() {
    let mut world = World::of(["a"]);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let controller = world
        .controller()
        .with_config(Config::default().debounce(secs(1)));
    let results = controller.run(
        move |object, _| {
            sender.send(object.metadata.uid.clone()).ok();
            async { Ok::<_, No>(Action::await_change()) }
        },
        backoff(),
        Arc::new(()),
    );
    let reading = drain(results);
    for change in 0..5 {
        world.shelf.put_uid("a", &change.to_string());
        world.trigger("a");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(secs(10)).await;
    assert_eq!(receiver.try_recv().ok().flatten().as_deref(), Some("4"));
    assert!(receiver.try_recv().is_err(), "exactly one run");
    reading.abort();
}

/// kube-rs/kube#1772: three years, for ever and zero; the controller must live, other keys go on, zero must not spin.
#[tokio::test(start_paused = true)]
async fn extreme_requeues_harm_nobody() {
    let mut world = World::of(["years", "ever", "zero", "other"]);
    let runs = Runs::default();
    let seen = runs.clone();
    let controller = world.controller();
    let gauge = controller.gauge();
    let results = controller.run(
        move |object, _| {
            let running = seen.start(&object);
            let wait = match object.metadata.name.as_deref() {
                Some("years") => secs(3 * 365 * 86_400),
                Some("ever") => Duration::MAX,
                Some("zero") => Duration::ZERO,
                _ => secs(1),
            };
            async move {
                let _running = running;
                Ok::<_, No>(Action::requeue(wait))
            }
        },
        backoff(),
        Arc::new(()),
    );
    let reading = drain(results);
    world.trigger_all();
    tokio::time::sleep(secs(10)).await;
    assert!(runs.count("other") >= 10);
    assert!(
        (100..=11_000).contains(&runs.count("zero")),
        "{} runs of zero in ten seconds",
        runs.count("zero")
    );
    assert_eq!((runs.count("years"), runs.count("ever")), (1, 1));
    world.trigger("years");
    world.trigger("ever");
    eventually(&gauge, "events pull far keys forward", || {
        runs.count("years") == 2 && runs.count("ever") == 2
    })
    .await;
    reading.abort();
}

/// kubernetes-sigs/controller-runtime#392: six failures, a success with a requeue, a failure: the first step again.
#[tokio::test(start_paused = true)]
async fn backoff_starts_over_after_any_success() {
    let mut world = World::of(["a"]);
    let runs = Runs::default();
    let seen = runs.clone();
    let config = Config::default().backoff(Backoff::default().initial(secs(1)).max(secs(64)).jitter(0.0));
    let results = world.controller().with_config(config).run(
        move |object, _| {
            let running = seen.start(&object);
            let run = seen.count("a");
            async move {
                let _running = running;
                if run == 7 {
                    Ok(Action::requeue(secs(3)))
                } else {
                    Err(No)
                }
            }
        },
        backoff(),
        Arc::new(()),
    );
    let reading = drain(results);
    world.trigger("a");
    tokio::time::sleep(secs(90)).await;
    let times = runs.of("a");
    let waits: Vec<_> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs())
        .collect();
    assert_eq!(waits[..9], [1, 2, 4, 8, 16, 32, 3, 1, 2]);
    reading.abort();
}

/// A change during a long backoff runs at once, without resetting the count.
#[tokio::test(start_paused = true)]
async fn a_change_in_a_long_backoff_is_seen_at_once() {
    let mut world = World::of(["a"]);
    let runs = Runs::default();
    let seen = runs.clone();
    let results = world.controller().run(
        move |object, _| {
            let _running = seen.start(&object);
            async { Err::<Action, _>(No) }
        },
        backoff(),
        Arc::new(()),
    );
    let reading = drain(results);
    world.trigger("a");
    tokio::time::sleep(secs(100)).await;
    let before = runs.count("a");
    let changed = Instant::now();
    world.trigger("a");
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(runs.count("a"), before + 1);
    assert!(*runs.of("a").last().expect("it ran") - changed < Duration::from_millis(1));
    tokio::time::sleep(secs(5)).await;
    assert_eq!(runs.count("a"), before + 1, "the failure count was not reset");
    reading.abort();
}
