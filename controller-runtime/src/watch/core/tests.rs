//! The core alone, against servers that do anything.

use kube::core::Status;
use proptest::prelude::*;

use super::*;
use crate::{clock, fuzz::fuzz};

fn refused(code: u16) -> Failure {
    Failure::Refused {
        status: Box::new(Status::failure("no", "Reason").with_code(code)),
        retry_after: None,
    }
}

/// How the server treats one request.
#[derive(Clone, Debug)]
enum Treatment {
    /// It fails after so many seconds.
    Fails(Failure, u64),
    /// A list succeeds, with so many pages to come; a watch sends so many events, then ends well after so many seconds.
    Goes(u8, u8, u64),
    /// A watch sends so many events and then fails.
    Breaks(u8, Failure),
    /// A watch is silent.
    Silent,
    /// A streaming list is complete, and breaks soon after.
    Streams(Failure),
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        prop::sample::select(vec![400, 401, 403, 404, 410, 422, 429, 500, 503]).prop_map(refused),
        (1..u64::MAX).prop_map(|seconds| Failure::Refused {
            status: Box::new(Status::failure("later", "TooManyRequests").with_code(429)),
            retry_after: Some(Duration::from_secs(seconds)),
        }),
        Just(Failure::NoAnswer(Duration::from_secs(30))),
        Just(Failure::Connection("reset".into())),
        Just(Failure::Malformed("no json".into())),
    ]
}

fn treatment() -> impl Strategy<Value = Treatment> {
    prop_oneof![
        (failure(), 0..3_u64).prop_map(|(failure, seconds)| Treatment::Fails(failure, seconds)),
        (0..3_u8, 0..3_u8, 0..20_u64)
            .prop_map(|(pages, events, seconds)| Treatment::Goes(pages, events, seconds)),
        (0..3_u8, failure()).prop_map(|(events, failure)| Treatment::Breaks(events, failure)),
        Just(Treatment::Silent),
        failure().prop_map(Treatment::Streams),
    ]
}

struct Simulation {
    core: ListWatch,
    rng: fastrand::Rng,
    now: Instant,
    revision: u64,
    requests: u32,
    waits: Vec<Duration>,
}

impl Simulation {
    fn new(streaming: StreamingLists) -> Self {
        let now = clock::now();
        let config = Config {
            streaming_lists: streaming,
            ..Config::default()
        };
        Self {
            core: ListWatch::new(&config, now),
            rng: fastrand::Rng::with_seed(5),
            now,
            revision: 1,
            requests: 0,
            waits: Vec::new(),
        }
    }

    /// Carries out orders until a request is due, and tells which.
    fn request(&mut self) -> (bool, bool) {
        loop {
            match self.core.order(self.now, &mut self.rng) {
                Order::Wait(until) => {
                    assert!(until > self.now, "a wait that is over");
                    self.waits.push(until - self.now);
                    self.now = until;
                }
                Order::List { token, .. } => {
                    self.requests += u32::from(token.is_none());
                    return (true, false);
                }
                Order::Watch { revision, .. } => {
                    self.requests += 1;
                    return (false, revision.is_none());
                }
            }
        }
    }

    /// Whether the watch that is due is of a revision in doubt.
    fn doubts(&mut self) -> bool {
        assert_eq!(self.request(), (false, false));
        let order = self.core.order(self.now, &mut self.rng);
        matches!(order, Order::Watch { doubted: true, .. })
    }

    fn step(&mut self, treatment: &Treatment) {
        let (is_list, is_stream) = self.request();
        match treatment {
            Treatment::Fails(failure, seconds) => {
                self.now += Duration::from_secs(*seconds);
                self.core.failed(self.now, &mut self.rng, failure);
            }
            Treatment::Goes(pages, ..) if is_list => {
                for page in 0..*pages {
                    assert!(!self.core.page(self.now, "5", Some(&format!("token-{page}"))));
                    assert_eq!(self.request(), (true, false));
                }
                assert!(self.core.page(self.now, &self.revision.to_string(), Some("")));
                assert!(self.core.revision().is_some());
            }
            Treatment::Goes(_, events, seconds) => {
                self.open(*events, is_stream);
                self.now += Duration::from_secs(*seconds);
                self.core.ended(self.now, &mut self.rng);
            }
            Treatment::Breaks(events, failure) => {
                if !is_list {
                    self.open(*events, is_stream);
                }
                self.core.failed(self.now, &mut self.rng, failure);
            }
            Treatment::Silent if is_list => {
                self.core
                    .failed(self.now, &mut self.rng, &Failure::NoAnswer(Duration::ZERO));
            }
            Treatment::Silent => {
                self.core.opened(self.now);
                self.now += self.core.silence_limit(self.now);
                self.core.silent(self.now, &mut self.rng);
            }
            Treatment::Streams(failure) => {
                if is_stream {
                    self.core.opened(self.now);
                    let end = Event::Bookmark { end: true };
                    let revision = self.revision.to_string();
                    let step = self.core.event(self.now, &mut self.rng, end, Some(&revision));
                    assert_eq!(step, Step::Synced);
                    assert_eq!(self.core.problem(), None);
                }
                self.core.failed(self.now, &mut self.rng, failure);
            }
        }
    }

    fn open(&mut self, events: u8, is_stream: bool) {
        self.core.opened(self.now);
        for _ in 0..events {
            self.revision += 1;
            let revision = self.revision.to_string();
            let step = self
                .core
                .event(self.now, &mut self.rng, Event::Put, Some(&revision));
            assert_eq!(step, if is_stream { Step::List } else { Step::Take });
        }
    }
}

/// bitdriftlabs/pulse#52, vectordotdev/vector#17009, EmbarkStudios/quilkin#731: whatever the server does again and again, there is
/// no hot loop and no endless wait.
#[test]
fn no_server_makes_a_hot_loop_or_an_endless_wait() {
    let servers = (prop::collection::vec(treatment(), 1..6), any::<bool>());
    fuzz(256, &servers, |(cycle, streaming)| {
        let streaming = if streaming {
            StreamingLists::Auto
        } else {
            StreamingLists::Off
        };
        let mut simulation = Simulation::new(streaming);
        let begin = simulation.now;
        for treatment in cycle.iter().cycle().take(400) {
            simulation.step(treatment);
            prop_assert!(simulation.core.failures < 1 || simulation.core.failing_since.is_some());
        }
        prop_assert!(
            simulation
                .waits
                .iter()
                .all(|wait| *wait <= Duration::from_secs(300 + 1)),
            "{:?}",
            simulation.waits
        );
        let minutes = (simulation.now - begin).as_secs_f64() / 60.0;
        // Ten short ones while the backoff grows; then, at the worst, a list and a watch for each 15 seconds or
        // a watch that ends well after ten.
        let allowed = 20.0 + minutes * 8.0;
        prop_assert!(
            f64::from(simulation.requests) <= allowed,
            "{} requests in {minutes} minutes",
            simulation.requests
        );
        Ok(())
    });
}

/// A server that is well again is watched again, after one more wait at most.
#[test]
fn a_server_that_is_well_again_is_watched() {
    let servers = (prop::collection::vec(treatment(), 0..40), any::<bool>());
    fuzz(256, &servers, |(cycle, streaming)| {
        let streaming = if streaming {
            StreamingLists::Auto
        } else {
            StreamingLists::Off
        };
        let mut simulation = Simulation::new(streaming);
        for treatment in &cycle {
            simulation.step(treatment);
        }
        let mut steps = 0;
        loop {
            let (is_list, is_stream) = simulation.request();
            let now = simulation.now;
            if is_list {
                simulation.core.page(now, "100000", None);
            } else {
                simulation.core.opened(now);
                if is_stream {
                    simulation.core.event(
                        now,
                        &mut simulation.rng,
                        Event::Bookmark { end: true },
                        Some("100000"),
                    );
                }
                simulation.core.event(
                    now,
                    &mut simulation.rng,
                    Event::Bookmark { end: false },
                    Some("100001"),
                );
                break;
            }
            steps += 1;
            prop_assert!(steps < 3);
        }
        prop_assert_eq!(simulation.core.phase(), Phase::Watching);
        prop_assert_eq!(simulation.core.problem(), None);
        prop_assert_eq!(simulation.core.revision(), Some("100001"));
        Ok(())
    });
}

/// kubernetes/kubernetes#140890: a busy server that does not know the parameter never marks the end, is never silent, and
/// need not keep to its own time limit.
#[test]
fn a_streaming_list_that_goes_on_for_ever_is_followed_by_pages() {
    let mut simulation = Simulation::new(StreamingLists::Auto);
    assert_eq!(simulation.request(), (false, true));
    simulation.core.opened(simulation.now);
    let begin = simulation.now;
    loop {
        let limit = simulation.core.silence_limit(simulation.now);
        if limit < Duration::from_secs(1) {
            break;
        }
        simulation.now += Duration::from_secs(1);
        simulation.revision += 1;
        let revision = simulation.revision.to_string();
        let (now, rng) = (simulation.now, &mut simulation.rng);
        assert_eq!(
            simulation.core.event(now, rng, Event::Put, Some(&revision)),
            Step::List
        );
        assert!(
            now - begin < Duration::from_secs(400),
            "it is waited for for ever"
        );
    }
    simulation.core.silent(simulation.now, &mut simulation.rng);
    assert_eq!(simulation.request(), (true, false), "by pages, at once");
    assert!(simulation.waits.is_empty());
}

/// A server that lost its history is silent about everything below the revision that it is asked for.
#[test]
fn a_watch_that_tells_nothing_in_all_its_life_makes_the_list_be_read_again() {
    for (told, seconds, list) in [(0, 250, true), (1, 250, false), (0, 60, false)] {
        let mut simulation = Simulation::new(StreamingLists::Off);
        simulation.step(&Treatment::Goes(0, 0, 0));
        simulation.step(&Treatment::Goes(0, told, seconds));
        assert_eq!(
            simulation.request(),
            (list, false),
            "{told} events in {seconds} s"
        );
        assert!(simulation.waits.is_empty());
    }
}

/// What is back after a watch broke may be a server that was restored from a backup.
#[test]
fn a_watch_that_ends_before_its_time_leaves_its_revision_in_doubt() {
    for (end, expected) in [
        (Treatment::Goes(0, 1, 290), false),
        (Treatment::Goes(0, 1, 60), true),
        (Treatment::Goes(0, 1, 1), true),
        (Treatment::Breaks(1, refused(500)), true),
        (Treatment::Silent, true),
    ] {
        let mut simulation = Simulation::new(StreamingLists::Off);
        simulation.step(&Treatment::Goes(0, 0, 0));
        assert!(!simulation.doubts(), "a list is no older than itself");
        simulation.step(&end);
        assert_eq!(simulation.doubts(), expected, "{end:?}");
        simulation.step(&Treatment::Goes(0, 1, 290));
        assert!(!simulation.doubts(), "the server had it");
    }
}

/// EmbarkStudios/quilkin#734: a list that succeeds before each watch that fails must not reset the backoff.
#[test]
fn only_a_healthy_spell_resets_the_backoff() {
    let mut simulation = Simulation::new(StreamingLists::Off);
    for _ in 0..50 {
        simulation.step(&Treatment::Goes(0, 0, 0));
        simulation.step(&Treatment::Fails(refused(410), 0));
    }
    assert!(
        simulation
            .waits
            .last()
            .is_some_and(|wait| *wait >= Duration::from_secs(15)),
        "{:?}",
        simulation.waits
    );
    simulation.step(&Treatment::Goes(0, 0, 0));
    simulation.step(&Treatment::Goes(0, 1, 300));
    simulation.step(&Treatment::Fails(refused(500), 0));
    simulation.request();
    assert!(
        simulation
            .waits
            .last()
            .is_some_and(|wait| *wait <= Duration::from_millis(800)),
        "{:?}",
        simulation.waits
    );
}

/// A server that ends every watch after a minute is well, though no single watch lives for long.
#[test]
fn a_healthy_spell_may_be_of_several_watches() {
    let mut simulation = Simulation::new(StreamingLists::Off);
    for _ in 0..5 {
        simulation.step(&Treatment::Fails(refused(500), 0));
    }
    simulation.step(&Treatment::Goes(0, 0, 0));
    for _ in 0..3 {
        simulation.step(&Treatment::Goes(0, 0, 60));
    }
    simulation.step(&Treatment::Fails(refused(500), 0));
    assert_eq!(simulation.core.failures, 1);
}

#[test]
fn a_wish_to_be_left_alone_is_not_followed_by_all_at_the_same_moment() {
    let moments: std::collections::BTreeSet<_> = (0..100)
        .map(|seed| {
            let mut simulation = Simulation::new(StreamingLists::Off);
            simulation.rng = fastrand::Rng::with_seed(seed);
            let failure = Failure::Refused {
                status: Box::new(Status::failure("later", "TooManyRequests").with_code(429)),
                retry_after: Some(Duration::from_secs(10)),
            };
            simulation.step(&Treatment::Fails(failure, 0));
            simulation.request();
            simulation.waits[0]
        })
        .collect();
    assert_eq!(moments.len(), 100);
    assert!(moments.iter().all(|wait| *wait >= Duration::from_secs(10)));
}
