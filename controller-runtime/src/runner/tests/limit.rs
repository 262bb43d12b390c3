//! A limit that several controllers share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::task::JoinHandle;

use super::world::{World, drain, eventually};
use crate::{
    Action, Config, backoff,
    runner::{Gauge, Limit},
};

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

/// How many reconciles of all controllers run, and the most that ever did.
#[derive(Clone, Default)]
struct Crowd {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

struct Member {
    gauge: Gauge,
    done: Arc<AtomicUsize>,
    reading: JoinHandle<Vec<String>>,
    _world: World,
}

/// A controller of so many objects, each of which takes a second.
fn member(objects: usize, limit: &Limit, config: Config, crowd: &Crowd) -> Member {
    let mut world = World::of((0..objects).map(|number| number.to_string()));
    let controller = world.controller().with_config(config).share_limit(limit);
    let (gauge, done) = (controller.gauge(), Arc::new(AtomicUsize::new(0)));
    let (crowd, counting) = (crowd.clone(), Arc::clone(&done));
    let reading = drain(controller.run(
        move |_, _| {
            let (crowd, counting) = (crowd.clone(), Arc::clone(&counting));
            async move {
                let now = crowd.now.fetch_add(1, Ordering::SeqCst) + 1;
                crowd.most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                crowd.now.fetch_sub(1, Ordering::SeqCst);
                counting.fetch_add(1, Ordering::SeqCst);
                Ok::<_, No>(Action::await_change())
            }
        },
        backoff(),
        Arc::new(()),
    ));
    world.trigger_all();
    Member {
        gauge,
        done,
        reading,
        _world: world,
    }
}

impl Member {
    fn done(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn controllers_together_keep_to_it_and_take_turns() {
    let (limit, crowd) = (Limit::new(3), Crowd::default());
    let many = member(300, &limit, Config::default(), &crowd);
    let few = member(10, &limit, Config::default().concurrency(1), &crowd);
    eventually(&few.gauge, "the small one is through", || few.done() == 10).await;
    assert!(
        many.done() < 60,
        "the large one did {} meanwhile: it held the small one back",
        many.done()
    );
    eventually(&many.gauge, "the large one is through", || many.done() == 300).await;
    assert_eq!(crowd.most.load(Ordering::SeqCst), 3);
}

/// More at once than one turn gives out.
#[tokio::test(start_paused = true)]
async fn a_large_limit_is_used_in_full() {
    let (limit, crowd) = (Limit::new(2_500), Crowd::default());
    let member = member(4_000, &limit, Config::default(), &crowd);
    eventually(&member.gauge, "all ran", || member.done() == 4_000).await;
    assert_eq!(crowd.most.load(Ordering::SeqCst), 2_500);
}

/// What a controller held when it went is free for the others.
#[tokio::test(start_paused = true)]
async fn a_controller_that_ends_gives_back_what_it_held() {
    let (limit, crowd) = (Limit::new(2), Crowd::default());
    let first = member(50, &limit, Config::default(), &crowd);
    let second = member(50, &limit, Config::default(), &crowd);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    first.reading.abort();
    eventually(&second.gauge, "the other one is through", || second.done() == 50).await;
    eventually(&second.gauge, "nothing is held", || {
        format!("{limit:?}").contains("free: 2")
    })
    .await;
}
