//! What has come and gone leaves nothing behind: no entry in a map, no series, no key in the queue.

use std::sync::Arc;

use controller_runtime::{
    Action,
    declare::{Declaration, Namespaces, RelationDeclaration, RelationKind, Watched},
    manager::Board,
    metrics::Metrics,
    runner::Observer,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;

use crate::world::{Failure, World, same};

/// So many at a time.
const BATCH: usize = 250;

/// How many names come and go; `CHURN` chooses.
fn names() -> usize {
    let chosen = std::env::var("CHURN").ok().and_then(|names| names.parse().ok());
    chosen.unwrap_or(2_000)
}

/// operator-framework/java-operator-sdk#1803, kubernetes-sigs/controller-runtime#3396, kube-rs/kube#1837: state and series per name that ever lived.
#[tokio::test(start_paused = true)]
async fn names_that_come_and_go_leave_nothing_behind() {
    let world = World::new();
    let mut declaration = Declaration::new("maps", Watched::new::<ConfigMap>(&()));
    declaration.relations = vec![RelationDeclaration::new(
        RelationKind::Owns,
        Watched::new::<Secret>(&()),
    )];
    let (board, metrics) = (Board::new("test"), Metrics::new("test", "0"));
    board.expect(&declaration, &Namespaces::All);
    metrics.expect(&declaration);
    let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(board.clone()), Arc::new(metrics.clone())];
    let controller = world.with_secrets().named("maps").observe(Arc::new(observers));
    let store = controller.store();
    // Some fail and are in backoff, some ask to run again, when they are deleted.
    let running = world.run(controller, |map| async move {
        match map.name_any().bytes().last() {
            Some(b'3') => Err(Failure("three".to_owned())),
            Some(b'7') => Ok(Action::requeue(std::time::Duration::from_secs(3600))),
            _ => Ok(Action::await_change()),
        }
    });
    world.map("stays").await;
    world.settle().await;
    let series = || {
        metrics
            .encode()
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count()
    };
    let mut settled = None;
    for first in (0..names()).step_by(BATCH) {
        for number in first..first + BATCH {
            let map = world.map(&format!("m{number}")).await;
            if number % 10 == 0 {
                world.secret_of(&map, &format!("s{number}")).await;
            }
        }
        world.settle().await;
        assert_eq!(board.status().controllers[0].objects.len(), BATCH + 1);
        for number in first..first + BATCH {
            world.delete_map(&format!("m{number}")).await;
        }
        world.seen.clear();
        // The first batch shows which series there are.
        let now = series();
        assert_eq!(*settled.get_or_insert(now), now, "after {first} names");
    }
    let left = || {
        let status = &board.status().controllers[0];
        let depth = running.gauge.read();
        let objects: Vec<_> = status
            .objects
            .iter()
            .map(|object| object.object.name.clone())
            .collect();
        (objects, depth.ready + depth.running + depth.waiting, store.len())
    };
    world
        .until("only what lives is known", || {
            same(left(), (vec!["stays".to_owned()], 0, 1))
        })
        .await;
    assert!(board.running().is_empty());
    assert!(!running.task.is_finished());
}
