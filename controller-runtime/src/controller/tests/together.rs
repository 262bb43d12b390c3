//! Several controllers in one program.

use std::time::Duration;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use tokio::{sync::oneshot, time::timeout};

use super::world::{Seen, World, a_while, noting, until};
use crate::Controller;

const LIMIT: Duration = Duration::from_secs(600);

/// Runs two controllers: the first until the first signal, the second until the second one.
struct Pair {
    world: World,
    maps: Seen,
    secrets: Seen,
    ends: [oneshot::Sender<()>; 2],
    both: [futures::future::BoxFuture<'static, ()>; 2],
}

fn pair() -> Pair {
    let world = World::new();
    let (maps, secrets) = (Seen::default(), Seen::default());
    let ((first, on_first), (second, on_second)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
    let client = world.controllers_client();
    let one = Controller::new(Api::<ConfigMap>::all(client.clone()), Default::default())
        .graceful_shutdown_on(on_first.map(drop));
    let two = Controller::new(Api::<Secret>::all(client), Default::default())
        .graceful_shutdown_on(on_second.map(drop));
    let all = |()| std::future::ready(());
    Pair {
        both: [
            noting(one, &maps).map(drop).for_each(all).boxed(),
            noting(two, &secrets).map(drop).for_each(all).boxed(),
        ],
        world,
        maps,
        secrets,
        ends: [first, second],
    }
}

#[tokio::test(start_paused = true)]
async fn joined_ones_go_on_when_one_of_them_ends() {
    let Pair {
        world,
        maps,
        secrets,
        ends: [first, second],
        both: [one, two],
    } = pair();
    let running = tokio::spawn(async { tokio::join!(one, two) });
    world.map("a").await;
    until(&maps, "the first one runs", || maps.len() == 1).await;
    drop(first);
    a_while().await;
    maps.take();
    world.map("b").await;
    world.create::<Secret>("default", "s", Vec::new()).await;
    until(&secrets, "the second one goes on", || secrets.len() == 1).await;
    a_while().await;
    assert_eq!(maps.len(), 0, "the first one has ended");
    assert!(!running.is_finished());
    drop(second);
    timeout(LIMIT, running)
        .await
        .expect("both have ended")
        .expect("no panic");
}

#[tokio::test(start_paused = true)]
async fn selected_ones_end_with_the_first_of_them() {
    let Pair {
        world,
        maps,
        secrets,
        ends: [first, _second],
        both: [one, two],
    } = pair();
    let running = tokio::spawn(async {
        tokio::select! {
            () = one => {}
            () = two => {}
        }
    });
    world.create::<Secret>("default", "s", Vec::new()).await;
    until(&secrets, "the second one runs", || secrets.len() == 1).await;
    drop(first);
    timeout(LIMIT, running)
        .await
        .expect("both have ended")
        .expect("no panic");
    let requests = world.requests_for("secrets");
    world.create::<Secret>("default", "late", Vec::new()).await;
    tokio::time::sleep(LIMIT).await;
    assert_eq!((secrets.len(), maps.len()), (1, 0));
    assert_eq!(world.requests_for("secrets"), requests, "its watch is gone");
}

#[tokio::test(start_paused = true)]
async fn one_signal_stops_all_of_them() {
    let world = World::new();
    let seen = Seen::default();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = stopped.map(drop).shared();
    let client = world.controllers_client();
    let one = Controller::new(Api::<ConfigMap>::all(client.clone()), Default::default());
    let two = Controller::new(Api::<Secret>::all(client), Default::default());
    let one = noting(one.graceful_shutdown_on(stopped.clone()), &seen).collect::<Vec<_>>();
    let two = noting(two.graceful_shutdown_on(stopped), &seen).collect::<Vec<_>>();
    let running = tokio::spawn(async { tokio::join!(one, two) });
    world.map("a").await;
    until(&seen, "it runs", || seen.len() == 1).await;
    drop(stop);
    let ended = timeout(Duration::from_secs(1), running).await;
    ended.expect("at once, as nothing runs").expect("no panic");
}
