//! No reconcile before every store is in sync.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use controller_apiserver::{Fault, Verb, When};
use controller_runtime::Action;

use crate::world::{World, done};

#[tokio::test(start_paused = true)]
async fn no_reconcile_before_every_store_is_in_sync() {
    let world = World::new();
    world.map("a").await;
    for fault in [
        Fault::Delay(Duration::from_secs(60)),
        Fault::status(403),
        Fault::Hang,
    ] {
        world.seen.clear();
        let slow = world
            .server
            .faults()
            .inject(When::any().resource("secrets").agent("controller"), fault.clone());
        let running = world.run(world.with_secrets(), done);
        tokio::time::sleep(Duration::from_secs(50)).await;
        assert_eq!(world.seen.count(), 0, "{fault:?}");
        assert!(!running.gauge.read().synced, "{fault:?}");
        world.server.faults().remove(slow);
        let seen = || {
            if world.seen.count() == 1 {
                Ok(())
            } else {
                Err(world.seen.all())
            }
        };
        world
            .until("it is reconciled once the stores are in sync", seen)
            .await;
        drop(running);
        world.settle().await;
    }
}

/// A reconciler that reads the store sees what the server has.
#[tokio::test(start_paused = true)]
async fn the_first_reconcile_sees_the_whole_store() {
    let world = World::new();
    for index in 0..100 {
        world.map(&format!("m{index}")).await;
    }
    // A page at a time.
    world
        .server
        .faults()
        .inject(When::verb(Verb::List).agent("controller"), Fault::SmallPages(7));
    let controller = world.controller();
    let store = controller.store();
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let noted = sizes.clone();
    let _running = world.run(controller, move |_| {
        noted.lock().unwrap().push(store.len());
        async { Ok(Action::await_change()) }
    });
    world.settle().await;
    assert_eq!(*sizes.lock().unwrap(), vec![100; 100]);
}
