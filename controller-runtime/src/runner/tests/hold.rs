//! A controller that is held back: a standby.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::world::{Log, Runs, World, drain, eventually};
use crate::{Action, backoff, runner::Gauge};

struct Standby {
    gauge: Gauge,
    runs: Runs,
    log: Arc<Log>,
    lead: oneshot::Sender<()>,
    stop: oneshot::Sender<()>,
    reading: tokio::task::JoinHandle<Vec<String>>,
    /// What it is woken by ends with it.
    _world: World,
}

fn standby() -> Standby {
    let mut world = World::of(["a", "b"]);
    let (runs, log) = (Runs::default(), Arc::new(Log::default()));
    let ((lead, leading), (stop, stopped)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
    let controller = world
        .controller()
        .observe(Arc::clone(&log) as _)
        .hold_until(async { leading.await.unwrap_or(()) })
        .graceful_shutdown_on(async { stopped.await.unwrap_or(()) });
    let (gauge, seen) = (controller.gauge(), runs.clone());
    let reconcile = move |object: Arc<_>, _| {
        drop(seen.start(&object));
        async { Ok::<_, std::io::Error>(Action::await_change()) }
    };
    let reading = drain(controller.run(reconcile, backoff(), Arc::new(())));
    world.trigger_all();
    Standby {
        gauge,
        runs,
        log,
        lead,
        stop,
        reading,
        _world: world,
    }
}

#[tokio::test(start_paused = true)]
async fn caches_fill_while_it_waits_and_reconciles_begin_when_it_leads() {
    let standby = standby();
    eventually(&standby.gauge, "caches in sync", || {
        standby.log.count("Synced") == 1
    })
    .await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(standby.runs.total(), 0);
    standby.lead.send(()).expect("it listens");
    eventually(&standby.gauge, "both ran", || standby.runs.total() == 2).await;
}

/// kubernetes-sigs/controller-runtime#2719: stopping a standby started the work of a leader.
#[tokio::test(start_paused = true)]
async fn a_standby_that_is_stopped_reconciles_nothing_and_ends_at_once() {
    let standby = standby();
    eventually(&standby.gauge, "caches in sync", || {
        standby.log.count("Synced") == 1
    })
    .await;
    let asked = Instant::now();
    standby.stop.send(()).expect("it listens");
    assert!(standby.reading.await.expect("no panic").is_empty());
    assert_eq!(standby.runs.total(), 0);
    assert!(asked.elapsed() < Duration::from_secs(1));
}

/// kubernetes-sigs/controller-runtime#3066: a depth that went below zero, or counted what was not ready.
#[tokio::test(start_paused = true)]
async fn the_depth_by_level_is_what_could_run() {
    let standby = standby();
    eventually(&standby.gauge, "caches in sync", || {
        standby.log.count("Synced") == 1
    })
    .await;
    let depth = standby.gauge.read();
    assert_eq!((depth.ready, depth.running, depth.waiting), (2, 0, 0));
    assert_eq!(standby.gauge.ready_by_level().iter().sum::<usize>(), depth.ready);
    standby.lead.send(()).expect("it listens");
    eventually(&standby.gauge, "both ran", || standby.runs.total() == 2).await;
    eventually(&standby.gauge, "at rest", || standby.gauge.is_settled()).await;
    assert_eq!(standby.gauge.ready_by_level(), [0; 9]);
    assert_eq!(standby.gauge.read().adds, 2, "each key became ready once");
}
