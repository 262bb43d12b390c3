//! The election core, answer by answer.

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use tokio::time::Instant;

use super::{Answer, Change, Election, LeaseRequest, Loss, Timing, Turn};

const WALL: Timestamp = Timestamp::UNIX_EPOCH;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn election(now: Instant) -> Election {
    Election::new("lease", "me", Timing::default(), now, fastrand::Rng::with_seed(1))
}

fn lease(holder: Option<&str>, duration: Option<i32>, renewed: Option<i64>) -> Lease {
    Lease {
        spec: Some(LeaseSpec {
            holder_identity: holder.map(str::to_owned),
            lease_duration_seconds: duration,
            renew_time: renewed.map(|at| MicroTime(Timestamp::from_second(at).expect("in range"))),
            ..LeaseSpec::default()
        }),
        ..Lease::default()
    }
}

/// The next request at or after `now`, skipping what there is to wait for, and when it leaves.
fn next_request(election: &mut Election, mut now: Instant) -> (Instant, LeaseRequest) {
    for _ in 0..3 {
        match election.turn(now, WALL) {
            Turn::Send { request, .. } => return (now, request),
            Turn::Wait(until) => now = until,
            Turn::Over(loss) => panic!("over: {loss}"),
        }
    }
    panic!("waits without end");
}

/// An election that leads since `now`.
fn leading(now: Instant) -> Election {
    let mut election = election(now);
    assert_eq!(election.answered(now, now, Answer::NotFound), None);
    let LeaseRequest::Create(record) = next_request(&mut election, now).1 else {
        panic!("creates the first record")
    };
    assert_eq!(
        election.answered(now, now, Answer::Written(record)),
        Some(Change::Acquired)
    );
    election
}

/// When a standby that sees `record` again and again, without a change, tries to take it; `None` for not within ten minutes.
fn takes_after(record: &Lease) -> Option<Duration> {
    let start = Instant::now();
    let mut election = election(start);
    let mut now = start;
    while now < start + secs(600) {
        let (at, request) = next_request(&mut election, now);
        now = at;
        match request {
            LeaseRequest::Get => assert_eq!(election.answered(now, now, Answer::Found(record.clone())), None),
            LeaseRequest::Update(_) => return Some(now - start),
            LeaseRequest::Create(_) => panic!("there is a record"),
        }
    }
    None
}

/// Project-HAMi/HAMi#1603, ray-project/ray#63773: a record with missing fields made a panic, or was stolen while it was live.
#[test]
fn odd_records_are_neither_stolen_nor_waited_for_without_end() {
    let free = [
        Lease::default(),
        lease(None, Some(15), Some(0)),
        lease(Some(""), Some(15), Some(0)),
    ];
    for record in free {
        assert_eq!(takes_after(&record), Some(Duration::ZERO), "{record:?} is free");
    }
    for duration in [None, Some(0), Some(-5), Some(i32::MIN), Some(15)] {
        for renewed in [None, Some(0), Some(-100_000), Some(4_000_000_000)] {
            let record = lease(Some("other"), duration, renewed);
            let taken =
                takes_after(&record).unwrap_or_else(|| panic!("{record:?} is waited for without end"));
            assert!(
                taken >= secs(15) && taken <= secs(15 + 5),
                "{record:?} was taken after {taken:?}"
            );
        }
    }
}

/// kubernetes/kubernetes#114872, kubernetes/client-go#448: whose duration counts, and by which clock.
#[test]
fn the_duration_in_the_record_counts_from_when_it_was_first_seen() {
    // What the holder's clock shows does not matter: the epoch, or a day in the far future.
    for renewed in [0, 4_000_000_000] {
        let taken = takes_after(&lease(Some("other"), Some(60), Some(renewed))).expect("it expires");
        assert!(taken >= secs(60) && taken <= secs(65), "taken after {taken:?}");
    }
}

#[test]
fn a_record_that_changes_is_live() {
    let start = Instant::now();
    let mut election = election(start);
    let mut now = start;
    for renewed in 0..300 {
        let (at, request) = next_request(&mut election, now);
        now = at;
        assert_eq!(request, LeaseRequest::Get, "after {:?}", now - start);
        assert_eq!(
            election.answered(
                now,
                now,
                Answer::Found(lease(Some("other"), Some(15), Some(renewed)))
            ),
            None
        );
    }
    assert_eq!(election.holder(), Some("other"));
}

/// operator-framework/java-operator-sdk#2056: the path out of leadership was not taken for each kind of failure.
#[test]
fn every_failure_to_renew_ends_the_leadership_at_the_deadline() {
    let failures: [fn() -> Answer; 3] = [
        || Answer::Conflict,
        || Answer::Failed("500".to_owned()),
        || Answer::Failed("no answer in time".to_owned()),
    ];
    for failure in failures {
        let start = Instant::now();
        let mut election = leading(start);
        let mut now = start;
        let ended = loop {
            match election.turn(now, WALL) {
                Turn::Wait(until) => now = until,
                Turn::Over(Loss::NotRenewed { .. }) => break now,
                Turn::Over(other) => panic!("{other}"),
                Turn::Send {
                    request: LeaseRequest::Get,
                    until,
                } => {
                    now = (now + Duration::from_millis(10)).min(until);
                    election.answered(now, now, Answer::Found(lease(Some("me"), Some(15), Some(0))));
                }
                Turn::Send { until, .. } => {
                    now = (now + Duration::from_millis(10)).min(until);
                    election.answered(now, now, failure());
                }
            }
        };
        assert_eq!(ended - start, secs(10), "{:?}", failure());
    }
}

#[test]
fn the_deadline_counts_from_the_start_of_the_renewal() {
    let start = Instant::now();
    let mut election = leading(start);
    let (sent, request) = next_request(&mut election, start);
    assert_eq!(sent - start, secs(2));
    let LeaseRequest::Update(record) = request else {
        panic!("renews")
    };
    assert_eq!(
        election.answered(sent, sent + secs(4), Answer::Written(record)),
        None
    );
    assert_eq!(election.write_deadline(), Some(sent + secs(12)));
}

#[test]
fn a_lease_seen_in_other_hands_ends_the_leadership_at_once() {
    let start = Instant::now();
    let mut election = leading(start);
    assert_eq!(election.answered(start, start, Answer::Conflict), None);
    let found = Answer::Found(lease(Some("other"), Some(15), Some(1)));
    let lost = election.answered(start, start + secs(1), found);
    assert_eq!(
        lost,
        Some(Change::Lost(Loss::Taken {
            holder: "other".to_owned()
        }))
    );
    assert_eq!(election.write_deadline(), None);
}

#[test]
fn a_deleted_lease_is_made_again_by_its_holder_and_left_alone_by_others() {
    let start = Instant::now();
    let mut holder = leading(start);
    assert_eq!(holder.answered(start, start, Answer::NotFound), None);
    assert!(matches!(
        next_request(&mut holder, start),
        (_, LeaseRequest::Create(_))
    ));

    let mut other = election(start);
    assert_eq!(
        other.answered(
            start,
            start,
            Answer::Found(lease(Some("holder"), Some(15), Some(0)))
        ),
        None
    );
    let mut now = start;
    let created = loop {
        let (at, request) = next_request(&mut other, now);
        now = at;
        match request {
            LeaseRequest::Get => assert_eq!(other.answered(now, now, Answer::NotFound), None),
            _ => break now - start,
        }
    };
    assert!(
        created >= secs(15),
        "created after {created:?}, while its holder could still write"
    );
}

#[test]
fn only_a_leader_in_time_releases() {
    let start = Instant::now();
    assert_eq!(election(start).release(start, WALL), None);
    assert_eq!(
        leading(start).release(start + secs(12), WALL),
        None,
        "the record may be another's by now"
    );
    let Some(LeaseRequest::Update(record)) = leading(start).release(start + secs(1), WALL) else {
        panic!("gives it up");
    };
    let spec = record.spec.expect("a spec");
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_duration_seconds),
        (Some(""), Some(1))
    );
}
