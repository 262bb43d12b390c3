//! Requeues of any length.

use std::time::Duration;

use controller_runtime::{Action, Config};
use kube::ResourceExt;

use crate::world::World;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// kube-rs/kube#1772: a requeue far in the future ended the controller.
#[tokio::test(start_paused = true)]
async fn no_requeue_is_too_far_or_too_near() {
    let world = World::new();
    for name in ["three-years", "for-ever", "at-once", "plain"] {
        world.map(name).await;
    }
    let controller = world
        .controller()
        .with_config(Config::default().debounce(Duration::from_millis(500)));
    let running = world.run(controller, |map| async move {
        Ok(match map.name_any().as_str() {
            "three-years" => Action::requeue(3 * YEAR),
            "for-ever" => Action::requeue(Duration::MAX),
            "at-once" => Action::requeue(Duration::ZERO),
            _ => Action::await_change(),
        })
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!running.task.is_finished());
    for name in ["three-years", "for-ever", "plain"] {
        assert_eq!(world.seen.of(name).len(), 1, "{name}");
    }
    // A requeue of zero is a run each millisecond at most, and does not keep others from running.
    let at_once = world.seen.of("at-once").len();
    assert!((2..=1_001).contains(&at_once), "{at_once} runs in a second");
    world.touch("for-ever", "changed").await;
    world.touch("plain", "changed").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        world.seen.of("for-ever").len(),
        2,
        "an event pulls a far key forward"
    );
    assert_eq!(world.seen.of("plain").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_requeue_comes_at_its_time_and_an_event_does_not_double_it() {
    let world = World::new();
    world.map("a").await;
    let _running = world.run(world.controller(), |_| async {
        Ok(Action::requeue(Duration::from_secs(60)))
    });
    world.advance(Duration::from_secs(30)).await;
    world.touch("a", "changed").await;
    world.advance(Duration::from_secs(60 + 60 + 30)).await;
    let at: Vec<_> = world.seen.of("a").iter().map(|run| run.at.as_secs()).collect();
    assert_eq!(at, [0, 30, 90, 150]);
}
