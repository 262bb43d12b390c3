//! A limit that several controllers share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use tokio::task::JoinHandle;

use super::world::{World, drain, eventually};
use crate::{
    Action, Config, backoff,
    runner::{
        Gauge, Limit,
        limit::{Permit, Permits},
    },
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
    member_that(objects, limit, config, crowd, Duration::from_secs(1))
}

/// As [`member`], of objects that each take so long.
fn member_that(objects: usize, limit: &Limit, config: Config, crowd: &Crowd, takes: Duration) -> Member {
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
                tokio::time::sleep(takes).await;
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

/// Turns alone would give the slow one a place for good with each of its turns, until it has all of them.
#[tokio::test(start_paused = true)]
async fn a_slow_controller_gets_no_more_than_its_share_while_another_waits() {
    let (limit, crowd) = (Limit::new(4), Crowd::default());
    let ms = Duration::from_millis;
    let quick = member_that(300, &limit, Config::default(), &crowd, ms(100));
    let hour = Duration::from_secs(3600);
    let slow = member_that(30, &limit, Config::default(), &crowd, hour);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let running = slow.gauge.read().running;
    assert_eq!(running, 2, "half of the places are the other one's");
    assert!(quick.done() > 150, "the quick one did {}", quick.done());
    eventually(&quick.gauge, "the quick one is through", || quick.done() == 300).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(slow.gauge.read().running, 4, "then nobody else wants them");
}

/// Whoever does not come for its places keeps its share from the others, and no more.
#[test]
fn a_controller_that_is_not_polled_stalls_no_other() {
    let limit = Limit::new(2);
    let cx = Context::from_waker(Waker::noop());
    let (mut first, mut asleep) = (Permits::of(limit.clone()), Permits::of(limit.clone()));
    let mut held = first.take(2, &cx);
    assert_eq!((held.len(), asleep.take(5, &cx).len()), (2, 0));
    for _ in 0..10 {
        held.pop();
        held.extend(first.take(1, &cx));
    }
    assert_eq!(held.len(), 1, "its share is kept for it, and the other goes on");
    assert_eq!(first.take(1, &cx).len(), 0);
    drop((held, first));
    assert_eq!(asleep.take(5, &cx).len(), 2, "its own, and the one that is free");
    drop(asleep);
    assert!(format!("{limit:?}").contains("free: 2"), "{limit:?}");
}

/// What becomes free at one moment goes to who holds fewest, also before that one comes for the first of it.
#[test]
fn places_that_become_free_at_once_go_to_who_holds_fewest() {
    let limit = Limit::new(4);
    let cx = Context::from_waker(Waker::noop());
    let (mut quick, mut slow) = (Permits::of(limit.clone()), Permits::of(limit.clone()));
    let (mut of_quick, mut of_slow) = (quick.take(300, &cx), slow.take(30, &cx));
    assert_eq!((of_quick.len(), of_slow.len()), (4, 0));
    for _ in 0..50 {
        of_quick.clear();
        of_quick.extend(quick.take(300, &cx));
        of_slow.extend(slow.take(30, &cx));
        of_quick.extend(quick.take(300, &cx));
    }
    assert_eq!((of_quick.len(), of_slow.len()), (2, 2));
}

/// Any wishes, in any order: never more than the limit, nothing lost, and nobody waits while a place is free.
#[test]
fn places_are_neither_lost_nor_made() {
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let total = rng.usize(1..5);
        let limit = Limit::new(u16::try_from(total).unwrap());
        let cx = Context::from_waker(Waker::noop());
        let mut members: Vec<(Permits, Vec<Permit>)> = Vec::new();
        for _ in 0..200 {
            let which = rng.usize(..members.len().max(1));
            match (rng.u8(..8), members.get_mut(which)) {
                (0, _) | (_, None) => members.push((Permits::of(limit.clone()), Vec::new())),
                (1, _) => drop(members.swap_remove(which)),
                (2, Some((permits, _))) => permits.leave(),
                (3..6, Some((_, held))) => _ = held.pop(),
                (_, Some((permits, held))) => held.extend(permits.take(rng.usize(..4), &cx)),
            }
            let held: usize = members.iter().map(|(_, held)| held.len()).sum();
            assert!(held <= total, "seed {seed}: {held} of {total}");
        }
        let kept: Vec<_> = members.into_iter().map(|(permits, _)| permits).collect();
        drop(kept);
        let all = format!("free: {total}");
        assert!(format!("{limit:?}").contains(&all), "seed {seed}: {limit:?}");
    }
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
