//! No lost last event: after quiescence every object's last version was reconciled, and the owner of everything that
//! vanished has run.

use std::{collections::BTreeMap, time::Duration};

use controller_runtime::{Action, Config};
use kube::ResourceExt;

use crate::world::{World, same};

/// kube-rs/kube#1322: keys parked by the concurrency limit ran never again.
#[tokio::test(start_paused = true)]
async fn changes_under_a_full_house_are_all_seen() {
    let world = World::new();
    for index in 0..100 {
        world.map(&format!("m{index}")).await;
    }
    let config = Config::default().concurrency(3);
    let _running = world.run(world.controller().with_config(config), |_| async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok(Action::await_change())
    });
    let mut last = BTreeMap::new();
    for round in 0..5 {
        for index in 0..100 {
            let name = format!("m{index}");
            let map = world.touch(&name, &format!("{round}")).await;
            last.insert(name, map.resource_version().unwrap());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    world
        .until("each last version was reconciled", || {
            same(world.seen.last(), last.clone())
        })
        .await;
}
