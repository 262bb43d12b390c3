//! The queue's rules, one by one and under random operations.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{
    After, Outcome, Popped, Queue, Seen, Settings, Wish,
    history::{OUTCOMES, Op, Stage, play},
};
use crate::{
    Backoff,
    clock::{self, Instant},
    fuzz::fuzz,
    trigger::{Cause, Level},
    uid::Uid,
};
use std::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn wish(level: Level) -> Wish {
    Wish {
        level,
        cause: Cause::Updated,
        uid: None,
        gone: false,
        not_before: None,
    }
}

fn of(uid: &str) -> Wish {
    Wish {
        uid: Some(Uid::of(uid)),
        ..wish(Level::Spec)
    }
}

fn seen(uid: Option<&str>) -> Seen {
    Seen {
        uid: uid.map(Uid::of),
        seat: None,
    }
}

fn gone() -> Wish {
    Wish {
        gone: true,
        not_before: None,
        ..wish(Level::Deletion)
    }
}

const RETRY: Outcome = Outcome::Failed(After::Backoff(0.0));

/// A queue on a clock of its own.
struct Bench {
    queue: Queue<&'static str>,
    start: Instant,
    now: Instant,
}

impl Bench {
    fn new(settings: Settings) -> Self {
        let now = clock::now();
        Self {
            queue: Queue::new(settings),
            start: now,
            now,
        }
    }

    fn plain() -> Self {
        Self::new(Settings::default())
    }

    fn debounced(debounce: Duration) -> Self {
        Self::new(Settings {
            debounce,
            ..Settings::default()
        })
    }

    fn at(&mut self, since_start: Duration) -> &mut Self {
        self.now = self.start + since_start;
        self
    }

    fn trigger(&mut self, key: &'static str, wish: Wish) {
        self.queue.trigger(key, wish, self.now);
        self.queue.assert_invariants();
    }

    fn pop(&mut self) -> Option<Popped<&'static str>> {
        let popped = self.queue.pop(self.now);
        self.queue.assert_invariants();
        popped
    }

    fn pop_key(&mut self) -> Option<&'static str> {
        self.pop().map(|popped| popped.key)
    }

    /// Runs the next key, whatever it is, with this outcome; tells when it runs next, and its failures.
    fn run(&mut self, uid: Option<&str>, outcome: Outcome) -> (Option<Duration>, u32) {
        let popped = self.pop().expect("a key is ready");
        let next = self.queue.finish(popped.slot, seen(uid), outcome, self.now);
        self.queue.assert_invariants();
        (
            next.due.map(|due| due.saturating_duration_since(self.now)),
            next.failures,
        )
    }

    fn next_due(&self) -> Option<Duration> {
        self.queue.next_due().map(|due| due - self.start)
    }
}

/// t=0 opens the window to t=1; t=0.3 changes nothing; the run at t=1; t=1.2 opens the window to t=2.2.
#[test]
fn a_debounce_window_is_opened_by_the_first_wish_and_never_postponed() {
    let mut bench = Bench::debounced(secs(1));
    bench.at(ms(0)).trigger("a", wish(Level::Spec));
    bench.at(ms(300)).trigger("a", wish(Level::Spec));
    assert_eq!(bench.next_due(), Some(secs(1)));
    assert!(bench.at(ms(999)).pop().is_none());
    bench.at(ms(1000)).run(None, Outcome::Done);
    bench.at(ms(1200)).trigger("a", wish(Level::Spec));
    assert_eq!(bench.next_due(), Some(ms(2200)));
}

/// kube-rs/kube#1265: (c) a change every 300 ms for a minute must not push the run back for ever.
#[test]
fn a_steady_flow_of_changes_runs_once_per_window() {
    let mut bench = Bench::debounced(secs(1));
    let mut runs = 0;
    for tick in 0..200 {
        bench.at(ms(tick * 300)).trigger("a", wish(Level::Spec));
        while let Some(popped) = bench.pop() {
            bench
                .queue
                .finish(popped.slot, seen(None), Outcome::Done, bench.now);
            runs += 1;
        }
    }
    assert!((40..=60).contains(&runs), "{runs} runs in a minute");
}

/// kube-rs/kube#1265: a short requeue or retry is not made longer by the debounce.
#[test]
fn requeues_and_retries_do_not_wait_for_the_debounce() {
    let mut bench = Bench::new(Settings {
        debounce: secs(10),
        backoff: Backoff::default().initial(secs(1)).jitter(0.0),
        ..Settings::default()
    });
    bench.trigger("a", wish(Level::Spec));
    assert_eq!(
        bench.at(secs(10)).run(None, Outcome::Requeue(ms(50))).0,
        Some(ms(50))
    );
    assert_eq!(bench.at(ms(10_050)).run(None, RETRY).0, Some(secs(1)));
}

/// kube-rs/kube#1772: a requeue too far in the future killed the scheduler; zero must not spin.
#[test]
fn extreme_requeues_are_clamped_and_pulled_forward_by_an_event() {
    let mut bench = Bench::plain();
    for wait in [secs(3 * 365 * 86_400), Duration::MAX, Duration::ZERO] {
        bench.trigger("a", wish(Level::Spec));
        let (next, _) = bench.run(None, Outcome::Requeue(wait));
        assert!(next >= Some(ms(1)), "{next:?}");
        assert!(bench.pop().is_none(), "{wait:?} does not run at once");
        bench.trigger("a", wish(Level::Spec));
        assert_eq!(bench.pop_key(), Some("a"), "an event pulls {wait:?} forward");
        let slot = bench.queue.slots.find(&"a").expect("it runs");
        bench.queue.finish(slot, seen(None), Outcome::Done, bench.now);
    }
    assert_eq!(bench.queue.len(), 0);
    let mut bench = Bench::debounced(Duration::MAX);
    bench.trigger("a", wish(Level::Spec));
    assert!(bench.next_due() > Some(secs(86_400)));
}

#[test]
fn a_wish_during_a_run_makes_another_run() {
    let mut bench = Bench::plain();
    bench.trigger("a", wish(Level::Spec));
    let first = bench.pop().expect("ready");
    bench.trigger("a", wish(Level::Related));
    assert!(bench.pop().is_none(), "a key never runs twice at once");
    assert_eq!(bench.queue.again(), 1);
    bench
        .queue
        .finish(first.slot, seen(None), Outcome::Requeue(secs(60)), bench.now);
    assert_eq!(bench.pop_key(), Some("a"), "the earlier of both, at once if past");
}

/// kubernetes-sigs/controller-runtime#392: a success with a requeue did not forget the failures.
#[test]
fn any_success_forgets_failures() {
    let mut bench = Bench::new(Settings {
        backoff: Backoff::default().initial(secs(1)).max(secs(64)).jitter(0.0),
        ..Settings::default()
    });
    bench.trigger("a", wish(Level::Spec));
    let mut at = secs(0);
    for step in [1, 2, 4, 8, 16, 32, 64, 64] {
        let (next, _) = bench.at(at).run(None, RETRY);
        assert_eq!(next, Some(secs(step)));
        at += secs(step);
    }
    assert_eq!(
        bench.at(at).run(None, Outcome::Requeue(secs(5))),
        (Some(secs(5)), 0)
    );
    assert_eq!(bench.at(at + secs(5)).run(None, RETRY), (Some(secs(1)), 1));
}

/// kube-rs/kube#1916: a recreated object must not inherit its predecessor's failures.
#[test]
fn a_new_uid_forgets_failures_and_what_was_scheduled() {
    let mut bench = Bench::plain();
    bench.trigger("a", of("1"));
    for _ in 0..6 {
        bench.run(Some("1"), RETRY);
        let due = bench.next_due().expect("a retry is scheduled");
        bench.at(due);
    }
    bench.trigger("a", of("2"));
    let (next, failures) = bench.run(Some("2"), Outcome::Failed(After::Backoff(0.0)));
    assert_eq!((next, failures), (Some(secs(1)), 1));
}

#[test]
fn the_outcome_of_a_replaced_object_is_discarded() {
    let mut bench = Bench::plain();
    bench.trigger("a", of("1"));
    let run = bench.pop().expect("ready");
    bench.trigger("a", of("2"));
    let next = bench.queue.finish(run.slot, seen(Some("1")), RETRY, bench.now);
    assert_eq!(next.failures, 0);
    bench.run(Some("2"), Outcome::Done);
    assert_eq!(bench.queue.len(), 0);
}

#[test]
fn deletion_cancels_requeue_retry_and_count() {
    let mut bench = Bench::plain();
    for outcome in [Outcome::Requeue(secs(1)), RETRY, Outcome::Failed(After::Await)] {
        bench.trigger("a", of("1"));
        bench.run(Some("1"), outcome);
        assert_eq!(bench.queue.len(), 1);
        bench.trigger("a", gone());
        assert_eq!((bench.queue.len(), bench.next_due()), (0, None), "{outcome:?}");
    }
    bench.trigger("a", of("1"));
    let run = bench.pop().expect("ready");
    bench.trigger("a", of("1"));
    bench.trigger("a", gone());
    bench
        .queue
        .finish(run.slot, seen(Some("1")), Outcome::Requeue(secs(1)), bench.now);
    assert_eq!(bench.queue.len(), 0, "also while it runs");
}

/// A missing Secret that appears is seen at once; noise cannot turn the backoff into a hot loop.
#[test]
fn a_change_in_the_retry_window_runs_early_but_at_most_once_per_first_step() {
    let mut bench = Bench::new(Settings {
        backoff: Backoff::default().initial(secs(1)).max(secs(300)).jitter(0.0),
        ..Settings::default()
    });
    bench.trigger("a", wish(Level::Spec));
    for failures in 1..=7 {
        assert_eq!(bench.run(None, RETRY).1, failures);
        let due = bench.next_due().expect("a retry is scheduled");
        bench.at(due);
    }
    bench.run(None, RETRY);
    let (failed, retry) = (bench.now - bench.start, bench.next_due().expect("scheduled"));
    assert_eq!(retry, failed + secs(128));
    let mut runs = 0;
    for tick in 1..=100 {
        bench
            .at(failed + ms(tick * 100))
            .trigger("a", wish(Level::Related));
        while let Some(popped) = bench.pop() {
            let next = bench.queue.finish(popped.slot, seen(None), RETRY, bench.now);
            runs += 1;
            assert_eq!(next.failures, 8, "an early failure does not count");
            assert_eq!(
                next.due.map(|due| due - bench.start),
                Some(retry),
                "nor does it move the schedule"
            );
        }
    }
    assert_eq!(runs, 10, "ten seconds of noise, one run a second");
    assert_eq!(bench.at(retry).run(None, RETRY), (Some(secs(256)), 9));
}

#[test]
fn a_plain_error_policy_makes_an_ordinary_requeue() {
    let mut bench = Bench::plain();
    bench.trigger("a", wish(Level::Spec));
    assert_eq!(
        bench.run(None, Outcome::Failed(After::Requeue(secs(5)))),
        (Some(secs(5)), 1)
    );
    bench.at(ms(10)).trigger("a", wish(Level::Related));
    assert_eq!(
        bench.run(None, Outcome::Failed(After::Requeue(secs(5)))),
        (Some(secs(5)), 2)
    );
    bench.at(secs(9)).trigger("a", wish(Level::Related));
    assert_eq!(bench.run(None, Outcome::Done), (None, 0));
    assert_eq!(bench.queue.len(), 0);
}

#[test]
fn every_object_runs_at_least_once_per_resync() {
    let mut bench = Bench::new(Settings {
        resync: Some(secs(60)),
        ..Settings::default()
    });
    bench.trigger("a", wish(Level::Spec));
    assert_eq!(bench.run(None, Outcome::Done).0, Some(secs(60)));
    assert_eq!(
        bench.at(secs(60)).run(None, Outcome::Requeue(secs(3600))).0,
        Some(secs(60))
    );
    assert_eq!(
        bench.at(secs(120)).run(None, Outcome::Requeue(secs(5))).0,
        Some(secs(5))
    );
    assert_eq!(
        bench.at(secs(125)).run(None, Outcome::Failed(After::Await)).0,
        Some(secs(60))
    );
    assert_eq!(bench.at(secs(185)).run(None, Outcome::Missing).0, None);
}

#[test]
fn a_steady_flow_of_urgent_keys_does_not_starve_the_first_list() {
    let mut queue = Queue::new(Settings::default());
    let start = clock::now();
    for key in 0..50_u64 {
        queue.trigger(key, wish(Level::Initial), start);
    }
    // Two urgent keys come for each that can run.
    let mut listed = BTreeMap::new();
    for tick in 0..4_000_u64 {
        let now = start + ms(10 * tick);
        for key in 0..2 {
            queue.trigger(1_000 + 2 * tick + key, wish(Level::Deletion), now);
        }
        let popped = queue.pop(now).expect("keys are ready");
        queue.finish(popped.slot, seen(None), Outcome::Done, now);
        if popped.key < 1_000 {
            listed.insert(popped.key, now - start);
        }
    }
    assert_eq!(listed.len(), 50, "every key of the first list ran");
    // A key is overtaken only by those that came within its penalty (ten seconds): 2,000 keys, twenty seconds.
    assert!(listed.values().all(|ran| *ran <= secs(21)), "{listed:?}");
}

#[test]
fn urgent_keys_run_first_and_equals_in_order() {
    let mut bench = Bench::plain();
    for (key, level) in [
        ("list", Level::Initial),
        ("other", Level::Initial),
        ("spec", Level::Spec),
        ("del", Level::Deletion),
    ] {
        bench.trigger(key, wish(level));
    }
    bench.trigger("other", wish(Level::Explicit));
    let order: Vec<_> = std::iter::from_fn(|| bench.pop_key()).collect();
    assert_eq!(order, ["del", "other", "spec", "list"]);
}

#[test]
fn a_raise_never_makes_a_key_wait_longer() {
    let mut bench = Bench::plain();
    bench.trigger("listed", wish(Level::Initial));
    bench.at(ms(9_900)).trigger("other", wish(Level::Related));
    // In a moment it is its turn; at the end of the other list it would be behind.
    bench.trigger("listed", wish(Level::Related));
    assert_eq!(bench.pop_key(), Some("listed"));
}

/// Whoever reads why it ran must not look for a timer that was not due.
#[test]
fn a_requeue_that_a_change_overtakes_is_no_cause() {
    const HOUR: Duration = secs(3600);
    fn run(bench: &mut Bench, meanwhile: bool) -> Vec<Cause> {
        let popped = bench.pop().expect("it is due");
        let causes = bench.queue.causes(popped.slot);
        if meanwhile {
            bench.trigger("a", wish(Level::Spec));
        }
        bench
            .queue
            .finish(popped.slot, seen(None), Outcome::Requeue(HOUR), bench.now);
        causes
    }
    let mut bench = Bench::debounced(secs(1));
    bench.at(secs(0)).trigger("a", wish(Level::Spec));
    run(bench.at(secs(1)), false);
    bench.at(secs(10)).trigger("a", wish(Level::Spec));
    assert_eq!(
        run(bench.at(secs(11)), true),
        [Cause::Updated],
        "long before its time"
    );
    assert_eq!(
        run(bench.at(secs(12)), false),
        [Cause::Updated],
        "it came while it ran"
    );
    assert_eq!(
        run(bench.at(secs(12) + HOUR), false),
        [Cause::Requeue],
        "at its time"
    );
}

#[test]
fn the_last_few_causes_are_kept() {
    let mut bench = Bench::plain();
    for number in 0..9 {
        let cause = Cause::External(number.to_string());
        bench.trigger(
            "a",
            Wish {
                cause: cause.clone(),
                ..wish(Level::Spec)
            },
        );
        bench.trigger(
            "a",
            Wish {
                cause,
                ..wish(Level::Spec)
            },
        );
    }
    let kept: Vec<_> = (5..9).map(|number| Cause::External(number.to_string())).collect();
    let slot = bench.pop().expect("ready").slot;
    assert_eq!(bench.queue.causes(slot), kept);
}

#[test]
fn churn_returns_every_map_to_the_live_set() {
    let mut queue = Queue::new(Settings::default());
    let now = clock::now();
    for name in 0..100_000_u32 {
        queue.trigger(name, of("uid"), now);
    }
    while let Some(popped) = queue.pop(now) {
        queue.finish(popped.slot, seen(Some("uid")), RETRY, now);
    }
    assert_eq!(queue.len(), 100_000, "failures are remembered");
    for name in 0..100_000_u32 {
        queue.trigger(name, gone(), now);
    }
    assert_eq!(
        (queue.len(), queue.waiting(), queue.ready(), queue.running()),
        (0, 0, 0, 0)
    );
    queue.assert_invariants();
    assert!(
        queue.slots.capacity() < 5_000,
        "memory is given back: {}",
        queue.slots.capacity()
    );
}

fn op() -> impl Strategy<Value = Op> {
    let levels = prop::sample::select(Level::ALL.to_vec());
    let uid = || prop::option::of(0..3_u8);
    let trigger = (0..6_u8, levels, uid(), prop::option::weighted(0.1, 0..3_000_u16));
    let outcomes = prop::sample::select(OUTCOMES.to_vec());
    prop_oneof![
        4 => trigger.prop_map(|(key, level, uid, not_before)| Op::Trigger { key, level, uid, not_before }),
        1 => (0..6_u8).prop_map(Op::Gone),
        3 => prop_oneof![0..1_500_u16, 0..12_000_u16].prop_map(Op::Sleep),
        4 => Just(Op::Pop),
        4 => (0..6_u8, uid(), outcomes).prop_map(|(which, saw, outcome)| Op::Finish { which, saw, outcome }),
        1 => (0..6_u8, 0..3_000_u16).prop_map(|(which, by)| Op::Postpone { which, by }),
    ]
}

/// The same as a long run: `FUZZ_SECONDS=600 cargo test --workspace --lib -- no_wish_is_lost`; guided by coverage: the fuzz target `queue`.
#[test]
fn no_wish_is_lost_and_no_key_runs_twice_at_once() {
    let histories = (
        prop::collection::vec(op(), 1..120),
        prop::sample::select(vec![0_u64, 400]),
        prop::sample::select(vec![None, Some(secs(5))]),
    );
    fuzz(600, &histories, |(ops, debounce, resync)| {
        let debounce = ms(debounce);
        play(Stage { debounce, resync }, &ops);
        Ok(())
    });
}
