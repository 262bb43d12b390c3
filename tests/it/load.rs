//! Many objects at once.

use std::time::Duration;

use controller_runtime::{Action, Config};

use crate::world::{World, same};

/// kube-rs/kube#925: with many objects and short requeues a controller waited for itself, and nothing ran any more.
#[tokio::test(start_paused = true)]
async fn many_objects_that_ask_to_run_again_all_keep_running() {
    const MAPS: usize = 2_000;
    const CHILDREN: usize = 5;
    let world = World::new();
    for index in 0..MAPS {
        let map = world.map(&format!("m{index}")).await;
        for child in 0..CHILDREN {
            world.secret_of(&map, &format!("m{index}-{child}")).await;
        }
    }
    let controller = world
        .with_secrets()
        .with_config(Config::default().concurrency(64));
    let running = world.run(controller, |_| async {
        Ok(Action::requeue(Duration::from_secs(1)))
    });
    for round in 1..=5 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let runs = world.seen.count();
        assert!(runs >= MAPS * round, "{runs} runs after {round} s");
    }
    assert_eq!(world.seen.last().len(), MAPS);
    let depth = running.gauge.read();
    let keys = depth.ready + depth.running + depth.waiting;
    assert_eq!(same(keys, MAPS), Ok(()), "{depth:?}");
}
