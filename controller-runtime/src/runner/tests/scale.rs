//! Limits, fairness and size.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use super::world::{Runs, World, drain, eventually, work};
use crate::{
    Action, Config, backoff,
    metrics::Metrics,
    object::ObjectRef,
    trigger::{Cause, Level, Request},
};

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("object-{number}"))
}

/// kube-rs/kube#1322: keys parked by the limit ran never again.
#[tokio::test(start_paused = true)]
async fn keys_that_waited_for_a_free_slot_run_again() {
    let mut world = World::of(names(6));
    let runs = Runs::default();
    let (pulse, pulses) = futures::channel::mpsc::unbounded();
    let controller = world
        .controller()
        .with_config(Config::default().concurrency(2))
        .reconcile_all_on(pulses);
    let gauge = controller.gauge();
    let reading = work(controller, &runs, Duration::from_secs(1));
    let mut last = Instant::now();
    for _ in 0..40 {
        last = Instant::now();
        pulse.unbounded_send(()).expect("it listens");
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(gauge.read().running <= 2);
    }
    eventually(&gauge, "all is quiet", || gauge.is_settled()).await;
    for name in names(6) {
        assert!(
            runs.of(&name).last().is_some_and(|run| *run >= last),
            "{name} ran after the last pulse"
        );
    }
    assert_eq!(runs.most_at_once(), 2);
    reading.abort();
}

/// The runner spun on its timer when a key became due while no slot was free.
#[tokio::test(start_paused = true)]
async fn a_due_that_comes_at_the_limit_waits_quietly() {
    let mut world = World::of(["slow", "other"]);
    let controller = world.controller().with_config(Config::default().concurrency(1));
    let gauge = controller.gauge();
    let mut polls = 0;
    let results = controller.run(
        |object, _| async move {
            let slow = object.metadata.name.as_deref() == Some("slow");
            tokio::time::sleep(Duration::from_secs(if slow { 60 } else { 1 })).await;
            Ok::<_, No>(Action::requeue(Duration::from_secs(2)))
        },
        backoff(),
        Arc::new(()),
    );
    let mut results = Box::pin(results);
    world.trigger("other");
    let half_an_hour = tokio::time::sleep(Duration::from_secs(1800));
    let reading = futures::future::poll_fn(|cx| {
        loop {
            polls += 1;
            assert!(polls < 2_000, "it spins; queue: {gauge:?}");
            match results.poll_next_unpin(cx) {
                std::task::Poll::Ready(Some(_)) => world.trigger("slow"),
                std::task::Poll::Ready(None) => return std::task::Poll::Ready(()),
                std::task::Poll::Pending => return std::task::Poll::Pending,
            }
        }
    });
    tokio::select! {
        () = reading => {}
        () = half_an_hour => {}
    }
}

/// kube-rs/kube#925: 2,000 objects with five children each, all asking for a short requeue, on one thread.
async fn a_busy_start_does_not_deadlock() {
    const OBJECTS: usize = 2_000;
    let mut world = World::of(names(OBJECTS));
    let children = futures::stream::iter(0..5 * OBJECTS).map(|number| {
        let mut child = ConfigMap::default();
        child.metadata.name = Some(format!("child-{number}"));
        Ok(child)
    });
    let mapper = |child: ConfigMap| {
        let number = child
            .metadata
            .name
            .as_deref()
            .and_then(|name| name["child-".len()..].parse::<usize>().ok());
        number.map(|number| ObjectRef::new(&format!("object-{}", number % OBJECTS)).within("default"))
    };
    let controller = world.controller().watches_stream(children, mapper);
    world.trigger_all();
    let done = Arc::new(AtomicUsize::new(0));
    let results = controller.run(
        |_, _| async { Ok::<_, No>(Action::requeue(Duration::from_millis(10))) },
        backoff(),
        Arc::new(()),
    );
    let counting = Arc::clone(&done);
    let ten_rounds = results.take(10 * OBJECTS).for_each(move |result| {
        assert!(result.is_ok());
        counting.fetch_add(1, Ordering::Relaxed);
        std::future::ready(())
    });
    let in_time = tokio::time::timeout(Duration::from_secs(60), ten_rounds).await;
    assert!(
        in_time.is_ok(),
        "deadlock after {} results",
        done.load(Ordering::Relaxed)
    );
}

#[tokio::test]
async fn a_busy_start_does_not_deadlock_on_one_thread() {
    a_busy_start_does_not_deadlock().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_start_does_not_deadlock_on_several_threads() {
    a_busy_start_does_not_deadlock().await;
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_keys_run_and_leave_nothing_behind() {
    const OBJECTS: usize = 100_000;
    let mut world = World::of(names(OBJECTS));
    let controller = world.controller().with_config(Config::default().concurrency(100));
    let gauge = controller.gauge();
    let shared = Arc::clone(&controller.shared);
    let done = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&done);
    let results = controller.run(
        move |_, _| {
            let counting = Arc::clone(&counting);
            async move {
                counting.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok::<_, No>(Action::await_change())
            }
        },
        backoff(),
        Arc::new(()),
    );
    world.trigger_all();
    let seen = results.take(OBJECTS).count().await;
    assert_eq!((seen, done.load(Ordering::Relaxed)), (OBJECTS, OBJECTS));
    assert!(gauge.is_settled(), "{gauge:?}");
    assert_eq!(shared.lock().queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_steady_flow_of_urgent_keys_does_not_starve_the_first_list() {
    let mut world = World::of(names(300));
    let controller = world.controller().with_config(Config::default().concurrency(1));
    let inlet = crate::runner::Inlet::new(&controller.shared);
    let gauge = controller.gauge();
    let push = |name: &str, level| {
        inlet.push(Request {
            key: super::world::key(name),
            level,
            cause: Cause::Updated,
            uid: None,
            gone: false,
        });
    };
    for number in 0..100 {
        push(&format!("object-{number}"), Level::Initial);
    }
    let runs = Runs::default();
    let reading = work(controller, &runs, Duration::from_millis(10));
    // More urgent work comes than can be done, for three minutes.
    for tick in 0..36_000 {
        push(&format!("object-{}", 100 + tick % 200), Level::Deletion);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let ran = names(100).filter(|name| runs.count(name) > 0).count();
    assert_eq!(ran, 100, "queue: {gauge:?}");
    reading.abort();
}

/// Two keys for one cluster-scoped object must not run at the same time.
#[tokio::test(start_paused = true)]
async fn a_key_of_another_scope_is_taken_for_its_object() {
    let mut world = World::of(["a"]);
    let controller = world.controller().reconcile_on(futures::stream::iter([
        ObjectRef::new("a"),
        ObjectRef::new("a").within("other"),
    ]));
    let runs = Runs::default();
    let gauge = controller.gauge();
    let reading = work(controller, &runs, Duration::from_secs(1));
    world.trigger("a");
    eventually(&gauge, "all is quiet", || gauge.is_settled() && runs.total() > 0).await;
    assert!(runs.count("a") >= 1);
    reading.abort();
}

/// A stream from outside that always has something to say holds up neither other keys nor the rest of the program.
#[tokio::test]
async fn a_trigger_that_is_always_ready_holds_nobody_up() {
    let mut world = World::of(["noisy", "quiet"]);
    let noise = futures::stream::repeat(super::world::key("noisy"));
    let controller = world.controller().reconcile_on(noise);
    let runs = Runs::default();
    let seen = runs.clone();
    let reading = drain(controller.run(
        move |object, _| {
            let _running = seen.start(&object);
            async { Ok::<_, No>(Action::await_change()) }
        },
        backoff(),
        Arc::new(()),
    ));
    for round in 1..=20 {
        world.trigger("quiet");
        let ran = async {
            while runs.count("quiet") < round {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ran)
            .await
            .expect("the quiet key runs");
    }
    assert!(runs.count("noisy") > 0);
    reading.abort();
}

/// operator-framework/java-operator-sdk#1803: state for every name that ever lived.
#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_names_that_come_fail_and_go_leave_nothing_behind() {
    const ROUNDS: usize = 20;
    const AT_ONCE: usize = 5_000;
    let mut world = World::unready();
    world.shelf.set_ready();
    let metrics = Arc::new(Metrics::new("test", "0"));
    let series = |metrics: &Metrics| metrics.encode().lines().count();
    let controller = world
        .controller()
        .named("churn")
        .observe(Arc::clone(&metrics) as _);
    let (gauge, shared) = (controller.gauge(), Arc::clone(&controller.shared));
    let inlet = crate::runner::Inlet::new(&controller.shared);
    let reading = drain(controller.run(
        |object: Arc<ConfigMap>, _| async move {
            let fails = object
                .metadata
                .name
                .as_deref()
                .is_some_and(|name| name.ends_with('7'));
            if fails {
                Err(No)
            } else {
                Ok(Action::requeue(Duration::from_secs(3600)))
            }
        },
        backoff(),
        Arc::new(()),
    ));
    let mut before = None;
    for round in 0..ROUNDS {
        let names: Vec<_> = (0..AT_ONCE).map(|number| format!("{round}-{number}")).collect();
        let request = |name: &str, gone| Request {
            key: super::world::key(name),
            level: Level::Spec,
            cause: Cause::Updated,
            uid: Some("uid".to_owned()),
            gone,
        };
        for name in &names {
            world.shelf.put(name);
        }
        inlet.push_all(names.iter().map(|name| request(name, false)));
        eventually(&gauge, "all ran", || gauge.is_settled()).await;
        assert_eq!(gauge.read().waiting, AT_ONCE, "requeues and retries");
        for name in &names {
            world.shelf.remove(name);
        }
        inlet.push_all(names.iter().map(|name| request(name, true)));
        eventually(&gauge, "all is quiet", || gauge.is_settled()).await;
        let depth = gauge.read();
        assert_eq!(
            (depth.ready, depth.running, depth.waiting, depth.again),
            (0, 0, 0, 0)
        );
        assert_eq!(shared.lock().queue.len(), 0);
        assert_eq!(*before.get_or_insert_with(|| series(&metrics)), series(&metrics));
    }
    reading.abort();
}
