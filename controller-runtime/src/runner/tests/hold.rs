//! A controller that is held back: a standby.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::{sync::oneshot, time::Instant};

use super::world::{Log, Runs, World, drain, eventually, work};
use crate::{
    Action, backoff,
    declare::{Declaration, Namespaces, Watched},
    manager::Board,
    runner::Gauge,
};

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
async fn what_is_held_back_is_no_depth_and_runs_when_the_hold_ends() {
    let standby = standby();
    eventually(&standby.gauge, "caches in sync", || {
        standby.log.count("Synced") == 1
    })
    .await;
    let depth = standby.gauge.read();
    assert_eq!((depth.ready, depth.running, depth.waiting), (0, 0, 0));
    assert_eq!(standby.gauge.ready_by_level(), [0; 9], "nobody can run");
    assert!(!standby.gauge.is_settled(), "there is work for a leader");
    standby.lead.send(()).expect("it listens");
    eventually(&standby.gauge, "both ran", || standby.runs.total() == 2).await;
    eventually(&standby.gauge, "at rest", || standby.gauge.is_settled()).await;
    assert_eq!(standby.gauge.read().adds, 2, "each key became ready once");
}

/// An hour as a standby is no hour that a key waited for a worker.
#[tokio::test(start_paused = true)]
async fn keys_wait_from_the_moment_when_the_hold_ended() {
    let standby = standby();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    standby.lead.send(()).expect("it listens");
    eventually(&standby.gauge, "both ran", || standby.runs.total() == 2).await;
    for waited in standby.log.waits() {
        assert!(waited < Duration::from_secs(1), "{waited:?}");
    }
}

/// Keys for which nothing lives are freed by a run, and a standby runs none.
#[tokio::test(start_paused = true)]
async fn a_standby_keeps_nothing_of_names_that_are_not_there() {
    for synced_late in [false, true] {
        let (mut world, board) = (World::unready(), Board::new("documents"));
        let declaration = Declaration::new("configmap", Watched::new::<ConfigMap>(&()));
        board.expect(&declaration, &Namespaces::All);
        world.shelf.put("a");
        let (lead, leading) = oneshot::channel::<()>();
        let runs = Runs::default();
        let controller = world
            .controller()
            .observe(Arc::new(board.clone()))
            .hold_until(async { leading.await.unwrap_or(()) });
        let gauge = controller.gauge();
        let reading = work(controller, &runs, Duration::ZERO);
        if !synced_late {
            world.shelf.set_ready();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        for number in 0..10_000 {
            world.trigger(&format!("ghost-{number}"));
            tokio::task::yield_now().await;
        }
        world.trigger("a");
        world.trigger("late");
        world.shelf.set_ready();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let held: usize = board.census()["configmap"].iter().map(|(_, count)| count).sum();
        assert_eq!(held, 1, "the key that lives: {:?}", board.census());
        world.shelf.put("late");
        world.trigger("late");
        lead.send(()).expect("it listens");
        eventually(&gauge, "what lives ran", || runs.total() == 2).await;
        assert_eq!((runs.count("a"), runs.count("late")), (1, 1));
        reading.abort();
    }
}
