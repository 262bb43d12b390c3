//! The guard in small worlds: circles that it must find, and convergence that it must leave alone.

use std::time::Duration;

use proptest::prelude::*;

use super::{Accusation, Guard, HotLoop};
use crate::clock::{self, Instant};

const KEY: u64 = 1;
const OWN: u64 = 10;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A key, its queue of one, and changes that are to come.
struct World {
    guard: Guard,
    start: Instant,
    now: Instant,
    /// Changes that will come, by time.
    coming: Vec<(Instant, u64)>,
    /// When the key is due to run.
    due: Option<Instant>,
    /// How long a run takes.
    takes: Duration,
    /// When runs began, in order.
    runs: Vec<Duration>,
    accused: Vec<(Duration, Accusation)>,
    /// The longest that a change waited for its run.
    longest_wait: Duration,
    waiting_since: Option<Instant>,
}

impl World {
    fn new(limits: HotLoop) -> Self {
        let now = clock::now();
        Self {
            guard: Guard::new(limits),
            start: now,
            now,
            coming: Vec::new(),
            due: None,
            takes: ms(20),
            runs: Vec::new(),
            accused: Vec::new(),
            longest_wait: Duration::ZERO,
            waiting_since: None,
        }
    }

    fn at(&mut self, at: Duration, object: u64) {
        self.coming.push((self.start + at, object));
        self.coming.sort_unstable();
    }

    fn deliver_until(&mut self, until: Instant) {
        while let Some((at, object)) = self.coming.first().copied()
            && at <= until
        {
            self.coming.remove(0);
            self.now = at;
            let hold = self.guard.changed(KEY, object, at).unwrap_or(at);
            self.due = Some(self.due.map_or(hold, |due| due.min(hold)));
            self.waiting_since.get_or_insert(at);
        }
    }

    /// Lives until `end`. Each run leaves the answers `(after the end of the run, object)`; negative ones come within it.
    fn live(&mut self, end: Duration, mut answers: impl FnMut(usize) -> Vec<(i64, u64)>) {
        let end = self.start + end;
        loop {
            let next_change = self.coming.first().map(|(at, _)| *at);
            let next = match (self.due, next_change) {
                (Some(due), Some(change)) => due.max(self.now).min(change),
                (Some(due), None) => due.max(self.now),
                (None, Some(change)) => change,
                (None, None) => break,
            };
            if next >= end {
                break;
            }
            self.deliver_until(next);
            self.now = self.now.max(next);
            if self.due.is_some_and(|due| due <= self.now) {
                self.run(&mut answers);
            }
        }
        self.now = self.now.max(end);
    }

    fn run(&mut self, answers: &mut impl FnMut(usize) -> Vec<(i64, u64)>) {
        self.due = None;
        let since = self.waiting_since.take().unwrap_or(self.now);
        self.longest_wait = self.longest_wait.max(self.now - since);
        self.runs.push(self.now - self.start);
        if let Some(accusation) = self.guard.started(KEY, self.now) {
            self.accused.push((self.now - self.start, accusation));
        }
        let ended = self.now + self.takes;
        for (after, object) in answers(self.runs.len()) {
            let at = if after < 0 {
                ended - ms(after.unsigned_abs())
            } else {
                ended + ms(after.unsigned_abs())
            };
            self.coming.push((at, object));
        }
        self.coming.sort_unstable();
        self.deliver_until(ended);
        self.now = ended;
        if let Some(hold) = self.guard.finished(KEY, ended) {
            self.due = self.due.map(|due| due.max(hold));
        }
    }

    fn runs_between(&self, from: Duration, to: Duration) -> usize {
        self.runs.iter().filter(|at| **at >= from && **at < to).count()
    }
}

/// Two writers, a plain write in the middle of a run, a webhook: the same circle with another time to answer.
#[test]
fn a_circle_is_found_and_slowed_more_and_more() {
    for (answer, takes) in [(5, 20), (-10, 20), (300, 20), (900, 100), (-1500, 3000)] {
        let mut world = World::new(HotLoop::default());
        world.takes = ms(takes);
        world.at(Duration::ZERO, OWN);
        world.live(secs(3600), |_| vec![(answer, OWN)]);
        assert_eq!(
            world.accused.len(),
            1,
            "answer after {answer} ms: {:?}",
            world.accused
        );
        let (at, accusation) = world.accused[0];
        assert!((20..40).contains(&accusation.cycles), "{accusation:?}");
        let circle = ms(takes + answer.unsigned_abs());
        assert!(at < circle * 30 + secs(20), "{at:?} for a circle of {circle:?}");
        let last_hour = world.runs_between(secs(1800), secs(3600));
        assert!((5..=8).contains(&last_hour), "one in five minutes: {last_hour}");
    }
}

#[test]
fn the_limits_hold() {
    let circle = |limits: HotLoop| {
        let mut world = World::new(limits);
        world.at(Duration::ZERO, OWN);
        world.live(secs(600), |_| vec![(10, OWN)]);
        world
    };
    let off = circle(HotLoop::off());
    assert!(
        off.accused.is_empty() && off.runs.len() > 10_000,
        "{}",
        off.runs.len()
    );
    let patient = circle(HotLoop::default().cycles(200).max_delay(secs(8)));
    assert!(patient.accused[0].1.cycles > 200);
    let runs = patient.runs_between(secs(300), secs(600));
    assert!((36..=39).contains(&runs), "one in eight seconds: {runs}");
    assert!(patient.longest_wait <= secs(8));
}

/// What ends: the key runs at once again, and nothing is kept of it.
#[test]
fn a_circle_that_ends_is_forgotten() {
    let mut world = World::new(HotLoop::default());
    world.at(Duration::ZERO, OWN);
    world.live(
        secs(600),
        |run| if run < 30 { vec![(10, OWN)] } else { Vec::new() },
    );
    assert_eq!(world.accused.len(), 1);
    assert_eq!(world.guard.count(world.now), 0);
    let at = world.now - world.start;
    world.at(at, OWN);
    world.live(at + secs(1), |_| Vec::new());
    assert_eq!(world.runs.last(), Some(&at), "at once");
}

/// A user who mends what is wrong does not wait for minutes.
#[test]
fn a_change_that_does_not_depend_on_the_key_runs_it_early() {
    let mut world = World::new(HotLoop::default());
    world.at(Duration::ZERO, OWN);
    world.live(secs(1000), |_| vec![(10, OWN)]);
    let slowed = world.guard.slowed(KEY, world.now).unwrap();
    assert_eq!(slowed.delay, secs(300));
    let edit = world.now - world.start;
    world.at(edit, OWN + 1);
    world.live(edit + secs(2), |_| Vec::new());
    let next = world.runs.iter().find(|at| **at >= edit).unwrap();
    assert!(*next <= edit + secs(1), "{next:?} after {edit:?}");
    assert!(
        world.guard.slowed(KEY, world.now).unwrap().delay < slowed.delay,
        "and it is trusted more"
    );
}

/// A deployment of a hundred pods, whatever their pace: the parent follows, and is never slowed once they are ready.
#[test]
fn a_rollout_is_no_circle() {
    for pace in [1, 10, 50, 200, 700, 1500] {
        let mut world = World::new(HotLoop::default());
        for pod in 0..300 {
            world.at(ms(pod * pace), OWN);
        }
        world.live(secs(3600), |_| Vec::new());
        assert!(
            world.accused.is_empty(),
            "a pod each {pace} ms: {:?}",
            world.accused
        );
        assert!(world.longest_wait <= secs(6), "{:?}", world.longest_wait);
    }
}

/// Each run makes the next child, whose readiness wakes it: a circle in time, but about another object each time.
#[test]
fn one_child_after_the_other_is_no_circle() {
    let mut world = World::new(HotLoop::default());
    world.at(Duration::ZERO, OWN);
    world.live(secs(600), |run| {
        let child = 100 + run as u64;
        if run < 200 {
            vec![(5, child), (30, child)]
        } else {
            Vec::new()
        }
    });
    assert!(world.accused.is_empty(), "{:?}", world.accused);
    assert!(world.longest_wait <= ms(50), "{:?}", world.longest_wait);
}

#[test]
fn what_is_acquitted_has_to_do_more_to_be_tested_again() {
    let mut world = World::new(HotLoop::default());
    world.at(Duration::ZERO, OWN);
    let mut last = 0;
    for round in 0..4 {
        let end = world.now - world.start + secs(100);
        while world.accused.len() == round && world.now - world.start < end {
            let at = world.now - world.start + ms(50);
            world.live(at, |_| vec![(10, OWN)]);
        }
        let cycles = world.accused[round].1.cycles;
        assert!(cycles >= last * 2, "{cycles} after {last}");
        last = cycles;
        world.guard.acquit(KEY);
    }
}

#[test]
fn memory_returns_to_the_keys_of_the_last_seconds() {
    let start = clock::now();
    let mut guard = Guard::new(HotLoop::default());
    for key in 0..200_000_u64 {
        let now = start + ms(key);
        guard.changed(key, OWN, now);
        guard.started(key, now);
        guard.finished(key, now);
    }
    assert!(guard.len() <= 4096, "{}", guard.len());
    for key in 0..200_000 {
        guard.gone(key);
    }
    assert!(guard.is_idle());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Changes that come whether or not the key runs never condemn it, and each is followed soon.
    #[test]
    fn changes_of_their_own_pace_are_no_circle(
        gaps in prop::collection::vec(1..1200_u64, 50..300), takes in 1..400_u64, objects in 1..3_u64,
    ) {
        let mut world = World::new(HotLoop::default());
        world.takes = ms(takes);
        let mut at = 0;
        for (index, gap) in gaps.iter().enumerate() {
            at += gap;
            world.at(ms(at), OWN + index as u64 % objects);
        }
        world.live(secs(3600), |_| Vec::new());
        prop_assert!(world.accused.is_empty(), "{:?}", world.accused);
        prop_assert!(world.longest_wait <= secs(7), "{:?}", world.longest_wait);
        let last = world.runs.last().copied().unwrap_or_default();
        prop_assert!(last + ms(takes) >= ms(at), "the last change is followed");
    }

    /// A circle is found whatever its pace, as long as it is hot; and then runs less and less often.
    #[test]
    fn a_hot_circle_is_always_found(answers in prop::collection::vec(0..900_i64, 1..5), takes in 1..2000_u64) {
        let mut world = World::new(HotLoop::default());
        world.takes = ms(takes);
        world.at(Duration::ZERO, OWN);
        world.live(secs(7200), |run| vec![(answers[run % answers.len()], OWN)]);
        prop_assert_eq!(world.accused.len(), 1);
        prop_assert!(world.accused[0].0 < secs(120), "{:?}", world.accused);
        prop_assert!(world.runs_between(secs(5400), secs(7200)) <= 8);
        prop_assert!(world.longest_wait <= secs(300) + ms(takes));
    }
}
