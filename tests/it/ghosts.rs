//! What vanished while nobody looked is seen to be gone.

use controller_apiserver::{Fault, Verb, When};
use std::time::Duration;

use crate::world::{World, done, same};

/// dotnet/dotnet-operator-sdk#675: objects deleted while the watch was down stayed in the store, and the owner of a
/// vanished object never heard of it.
#[tokio::test(start_paused = true)]
async fn the_owner_of_an_object_that_vanished_during_an_outage_runs() {
    let world = World::new();
    let controller = world.with_secrets();
    let store = controller.store();
    for name in ["survivor", "ghost"] {
        let map = world.map(name).await;
        world.secret_of(&map, &format!("{name}-child")).await;
    }
    let _running = world.run(controller, done);
    world.settle().await;
    world.seen.clear();

    let outage = world
        .server
        .faults()
        .inject(When::any().agent("controller"), Fault::Disconnect);
    world.server.close_watches();
    world.settle().await;
    world.delete_map("ghost").await;
    world.delete_secret("survivor-child").await;
    // To go on from the old revision is refused, so that only a new list can tell.
    world.server.compact();
    world.advance(Duration::from_secs(10)).await;
    assert_eq!(world.seen.count(), 0, "nothing can be known yet");
    world.server.faults().remove(outage);

    world
        .until("the owner of the lost child ran", || {
            same(world.seen.of("survivor").len().min(1), 1)
        })
        .await;
    // Each source comes back in its own time: the owner may run before its own store has learned who is gone.
    let names = || -> Vec<_> {
        store
            .state()
            .iter()
            .map(|map| map.metadata.name.clone())
            .collect()
    };
    world
        .until("the ghost left the store", || {
            same(names(), vec![Some("survivor".to_owned())])
        })
        .await;
    world.seen.clear();
    world.advance(Duration::from_secs(600)).await;
    assert!(
        world.seen.of("ghost").is_empty(),
        "what is known to be gone is not reconciled"
    );
}

/// kubernetes/kubernetes#141528, end to end: a deletion, a creation and a change between list and watch are all seen.
#[tokio::test(start_paused = true)]
async fn nothing_is_lost_between_list_and_watch() {
    let world = World::new();
    let controller = world.with_secrets();
    let store = controller.store();
    world.map("kept").await;
    let map = world.map("gone").await;
    world.secret_of(&map, "gone-child").await;
    // Lists are answered, the watches behind them wait.
    let slow = world.server.faults().inject(
        When::verb(Verb::Watch).agent("controller"),
        Fault::Delay(Duration::from_secs(5)),
    );
    let _running = world.run(controller, done);
    world.advance(Duration::from_secs(1)).await;
    world.delete_map("gone").await;
    world.map("new").await;
    let changed = world.touch("kept", "changed").await;
    world.server.faults().remove(slow);

    let expected = changed.metadata.resource_version.clone();
    world
        .until(
            "the store is equal to the server, and each object was reconciled",
            || {
                let mut names: Vec<_> = store
                    .state()
                    .iter()
                    .filter_map(|map| map.metadata.name.clone())
                    .collect();
                names.sort();
                same(
                    (
                        names,
                        world.seen.last().get("kept").cloned(),
                        world.seen.of("new").len(),
                    ),
                    (vec!["kept".to_owned(), "new".to_owned()], expected.clone(), 1),
                )
            },
        )
        .await;
}
