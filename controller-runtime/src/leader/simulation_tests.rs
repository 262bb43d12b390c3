//! The election under faults: several processes with clocks that disagree, a network that loses, delays and cuts off, one lease.
//!
//! Everything runs in simulated time from one seed, which a failure prints. Set `ELECTION_RUNS` to try more seeds.

use std::{
    collections::{BTreeSet, BinaryHeap},
    time::Duration,
};

use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};
use tokio::time::Instant;

use super::{Answer, Change, Election, LeaseRequest, Loss, Timing, Turn, gate::Passage, record};

/// How far each clock may run off, and how long a message may take.
const SKEW: f64 = 0.1;
const DELAY: Duration = Duration::from_millis(150);
/// Faults happen in the first part, then the network heals.
const FAULTS_END: Duration = Duration::from_secs(300);
const END: Duration = Duration::from_secs(400);

/// The server: one lease and its revision.
#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    revision: u64,
}

impl Server {
    fn handle(&mut self, request: &LeaseRequest) -> Answer {
        match (request, &self.lease) {
            (LeaseRequest::Get | LeaseRequest::Update(_), None) => Answer::NotFound,
            (LeaseRequest::Get, Some(lease)) => Answer::Found(lease.clone()),
            (LeaseRequest::Create(_), Some(_)) => Answer::Conflict,
            (LeaseRequest::Update(new), Some(old))
                if new.metadata.resource_version != old.metadata.resource_version =>
            {
                Answer::Conflict
            }
            (LeaseRequest::Create(lease) | LeaseRequest::Update(lease), _) => self.store(lease.clone()),
        }
    }

    fn store(&mut self, mut lease: Lease) -> Answer {
        self.revision += 1;
        lease.metadata.resource_version = Some(self.revision.to_string());
        self.lease = Some(lease.clone());
        Answer::Written(lease)
    }

    fn holder(&self) -> Option<&str> {
        self.lease.as_ref().and_then(record::holder)
    }
}

/// One process. Its clock runs at `rate`, from its own origin.
struct Process {
    election: Option<Election>,
    restarts: u32,
    rate: f64,
    origin: Instant,
    timing: Timing,
    /// What the write gate lets pass.
    passage: Passage,
    /// It was asked to stop, and nothing writes any more.
    stopping: bool,
    /// The number of the request that it waits for; answers to others are of no use any more.
    pending: Option<u64>,
}

#[derive(Clone, Debug)]
enum Step {
    /// The process looks at its clock.
    Wake,
    /// A request reaches the server; the answer comes after the given delay, if at all.
    Arrive {
        number: u64,
        sent: Instant,
        request: LeaseRequest,
        back: Option<Duration>,
    },
    /// An answer reaches the process.
    Answer {
        number: u64,
        sent: Instant,
        answer: Answer,
    },
    /// The process gives up waiting for this request.
    GiveUp { number: u64, sent: Instant },
    /// The reconciler of the process tries to write; a write that leaves commits after the given delay.
    Write,
    /// A write of this identity commits at the server.
    Commit(String),
    /// A process starts, in the place of one that has ended.
    Restart,
    /// The process dies at work, whatever it was doing.
    Crash,
    /// The process stops in good order: nothing new is written, what is under way commits, and then …
    Stop,
    /// … the lease is given up.
    Release,
    /// Someone deletes the lease.
    DeleteLease,
}

/// Steps ordered by time, then by when they were planned, so that a run depends on its seed only.
struct Planned {
    at: Duration,
    order: u64,
    process: usize,
    step: Step,
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Planned {}
impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Planned {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

struct Simulation {
    rng: fastrand::Rng,
    now: Duration,
    plan: BinaryHeap<Planned>,
    order: u64,
    number: u64,
    server: Server,
    processes: Vec<Process>,
    /// Cut off from the server until then.
    cut_until: Vec<Duration>,
    /// Every identity that ever led, in the order in which their first record was committed.
    leaders: Vec<String>,
    commits: u64,
    deleted: Option<Duration>,
    /// When nobody led for the last time.
    leaderless: Duration,
}

/// Durations that processes of one operator may have, as a rollout changes them.
fn timings() -> [Timing; 3] {
    let timing = |lease, renew, retry| {
        let seconds = Duration::from_secs;
        Timing::new(seconds(lease), seconds(renew), seconds(retry)).expect("they fit together")
    };
    [Timing::default(), timing(30, 20, 4), timing(8, 5, 1)]
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let base = Instant::now();
        let mut simulation = Self {
            now: Duration::ZERO,
            plan: BinaryHeap::new(),
            order: 0,
            number: 0,
            server: Server::default(),
            processes: Vec::new(),
            cut_until: Vec::new(),
            leaders: Vec::new(),
            commits: 0,
            deleted: None,
            leaderless: Duration::ZERO,
            rng: rng.fork(),
        };
        let mixed = rng.bool();
        for process in 0..rng.usize(2..=4) {
            let rate = 1.0 - SKEW + 2.0 * SKEW * rng.f64();
            let origin = base + Duration::from_secs(rng.u64(0..100_000));
            simulation.processes.push(Process {
                election: None,
                restarts: 0,
                rate,
                origin,
                pending: None,
                timing: timings()[if mixed { rng.usize(..3) } else { 0 }],
                passage: Passage::Closed,
                stopping: false,
            });
            simulation.cut_until.push(Duration::ZERO);
            simulation.at(Duration::from_millis(rng.u64(0..5000)), process, Step::Restart);
            simulation.at(Duration::from_secs(1), process, Step::Write);
        }
        if rng.bool() {
            simulation.at(Duration::from_secs(rng.u64(20..290)), 0, Step::DeleteLease);
        }
        for _ in 0..rng.usize(..6) {
            let (at, process) = (rng.u64(20_000..290_000), rng.usize(..simulation.processes.len()));
            let end = if rng.bool() { Step::Crash } else { Step::Stop };
            simulation.at(Duration::from_millis(at), process, end);
        }
        simulation
    }

    fn at(&mut self, at: Duration, process: usize, step: Step) {
        self.order += 1;
        self.plan.push(Planned {
            at,
            order: self.order,
            process,
            step,
        });
    }

    fn local(&self, process: usize) -> Instant {
        let process = &self.processes[process];
        process.origin + self.now.mul_f64(process.rate)
    }

    /// When the clock of a process will show `moment`.
    fn global(&self, process: usize, moment: Instant) -> Duration {
        let process = &self.processes[process];
        let due = moment
            .saturating_duration_since(process.origin)
            .div_f64(process.rate);
        // Rounding must not wake it a nanosecond early, again and again.
        due.max(self.now) + Duration::from_nanos(2)
    }

    fn identity(&self, process: usize) -> String {
        format!("{process}-{}", self.processes[process].restarts)
    }

    fn run(&mut self) {
        let mut turns = 0;
        while let Some(Planned {
            at, process, step, ..
        }) = self.plan.pop()
        {
            if at > END {
                break;
            }
            turns += 1;
            assert!(turns < 1_000_000, "the election spins");
            self.now = at;
            self.step(process, step);
            if !self.any_leader() {
                self.leaderless = self.now;
            }
        }
    }

    fn any_leader(&self) -> bool {
        self.processes
            .iter()
            .any(|process| process.election.as_ref().is_some_and(Election::is_leading))
    }

    fn step(&mut self, process: usize, step: Step) {
        match step {
            Step::Wake => self.wake(process),
            Step::Arrive {
                number,
                sent,
                request,
                back,
            } => {
                let before = self.server.revision;
                let answer = self.server.handle(&request);
                if self.server.revision > before {
                    self.note_holder();
                }
                if let Some(back) = back {
                    self.at(self.now + back, process, Step::Answer { number, sent, answer });
                }
            }
            Step::Answer { number, sent, answer } => self.answered(process, number, sent, answer),
            Step::GiveUp { number, sent } => {
                self.answered(
                    process,
                    number,
                    sent,
                    Answer::Failed("no answer in time".to_owned()),
                );
            }
            Step::Write => self.write(process),
            Step::Commit(writer) => self.commit(&writer),
            Step::Restart => self.restart(process),
            Step::Crash => self.end(process),
            Step::Stop => {
                self.processes[process].stopping = true;
                self.at(self.now + DELAY, process, Step::Release);
            }
            Step::Release => self.release(process),
            Step::DeleteLease => {
                self.server.lease = None;
                self.deleted = Some(self.now);
            }
        }
    }

    fn note_holder(&mut self) {
        let Some(holder) = self.server.holder().map(str::to_owned) else {
            return;
        };
        if self.leaders.last() != Some(&holder) {
            self.leaders.push(holder);
        }
    }

    fn wake(&mut self, process: usize) {
        if self.processes[process].pending.is_some() {
            return;
        }
        let now = self.local(process);
        let wall = self.wall();
        let Some(election) = &mut self.processes[process].election else {
            return;
        };
        match election.turn(now, wall) {
            Turn::Over(loss) => {
                // As the elector does: who could not renew may finish until the deadline, who sees another holder may not.
                if !matches!(loss, Loss::NotRenewed { .. }) {
                    self.processes[process].passage = Passage::Closed;
                }
                let pause = Duration::from_millis(self.rng.u64(100..3000));
                self.at(self.now + pause, process, Step::Restart);
                self.processes[process].election = None;
            }
            Turn::Wait(until) => self.at(self.global(process, until), process, Step::Wake),
            Turn::Send { request, until } => self.send(process, now, request, until),
        }
    }

    fn send(&mut self, process: usize, sent: Instant, request: LeaseRequest, until: Instant) {
        self.number += 1;
        let number = self.number;
        self.processes[process].pending = Some(number);
        self.at(
            self.global(process, until),
            process,
            Step::GiveUp { number, sent },
        );
        let faulty = self.now < FAULTS_END;
        if self.now < self.cut_until[process] {
            return;
        }
        if faulty && self.rng.f64() < 0.02 {
            self.cut_until[process] = self.now + Duration::from_millis(self.rng.u64(100..40_000));
            return;
        }
        let slow = if faulty && self.rng.f64() < 0.1 { 40 } else { 1 };
        let there = self.delay() * slow;
        let back = (!faulty || self.rng.f64() > 0.05).then(|| self.delay() * slow);
        self.at(
            self.now + there,
            process,
            Step::Arrive {
                number,
                sent,
                request,
                back,
            },
        );
    }

    fn delay(&mut self) -> Duration {
        DELAY.mul_f64(self.rng.f64())
    }

    fn answered(&mut self, process: usize, number: u64, sent: Instant, answer: Answer) {
        if self.processes[process].pending != Some(number) {
            return;
        }
        self.processes[process].pending = None;
        let now = self.local(process);
        let Some(election) = &mut self.processes[process].election else {
            return;
        };
        if election.answered(sent, now, answer) == Some(Change::Acquired) {
            assert!(
                election.write_deadline().is_some_and(|deadline| deadline > now),
                "leads too late to write"
            );
        }
        if let Some(deadline) = election.write_deadline() {
            self.processes[process].passage = Passage::Until(deadline);
        }
        self.wake(process);
    }

    fn write(&mut self, process: usize) {
        let now = self.local(process);
        if !self.processes[process].stopping && self.processes[process].passage.limit(now).is_ok() {
            let (delay, writer) = (self.delay(), self.identity(process));
            self.at(self.now + delay, process, Step::Commit(writer));
        }
        let pause = Duration::from_millis(self.rng.u64(5..200));
        self.at(self.now + pause, process, Step::Write);
    }

    /// A write commits while the lease is its writer's, or in nobody's hands: no other process has led since the writer did.
    fn commit(&mut self, writer: &str) {
        self.commits += 1;
        // Whoever deletes the lease of a living leader lets a process that starts just then lead too; nothing in the API prevents it.
        let lease = longest(|timing| timing.lease_duration()) * 2;
        if self.deleted.is_some_and(|deleted| self.now < deleted + lease) {
            return;
        }
        let last = self.leaders.last().expect("someone led");
        assert_eq!(
            *last, writer,
            "at {:?} a write of {writer} committed when {last} already led",
            self.now
        );
    }

    /// The process is gone, and another starts in its place.
    fn end(&mut self, process: usize) {
        let ended = &mut self.processes[process];
        (ended.election, ended.pending, ended.passage) = (None, None, Passage::Closed);
        let pause = Duration::from_millis(self.rng.u64(100..3000));
        self.at(self.now + pause, process, Step::Restart);
    }

    fn release(&mut self, process: usize) {
        let now = self.local(process);
        let wall = self.wall();
        let Some(election) = &mut self.processes[process].election else {
            return;
        };
        if let Some(request) = election.release(now, wall) {
            self.send(process, now, request, now + Duration::from_secs(1));
        }
        self.end(process);
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
            .saturating_add(self.now)
            .expect("a time soon after 1970")
    }

    fn restart(&mut self, process: usize) {
        if self.processes[process].election.is_some() {
            return;
        }
        let now = self.local(process);
        self.processes[process].restarts += 1;
        let identity = self.identity(process);
        let (rng, timing) = (self.rng.fork(), self.processes[process].timing);
        self.processes[process].election = Some(Election::new("lease", &identity, timing, now, rng));
        // Another process: what the one before might still write is cut off with it.
        self.processes[process].passage = Passage::Closed;
        self.processes[process].stopping = false;
        self.processes[process].pending = None;
        self.wake(process);
    }
}

fn runs() -> u64 {
    std::env::var("ELECTION_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(200)
}

/// The longest that any process has of it.
fn longest(of: impl Fn(Timing) -> Duration) -> Duration {
    timings().into_iter().map(of).max().unwrap_or_default()
}

/// Runs one seed, and gives how often the leader changed. `back` is how long the leadership may be vacant after the last fault.
fn run(seed: u64, back: Duration) -> usize {
    let outcome = std::panic::catch_unwind(|| {
        let mut simulation = Simulation::new(seed);
        simulation.run();
        let cuts = simulation.cut_until.iter().copied();
        (
            simulation.commits,
            simulation.leaders.len(),
            simulation.leaderless,
            cuts.fold(FAULTS_END, Duration::max),
        )
    });
    let Ok((commits, changes, leaderless, healed)) = outcome else {
        panic!("seed {seed}")
    };
    assert!(commits > 0, "seed {seed}: nobody wrote, so nothing was tested");
    assert!(
        leaderless <= healed + back,
        "seed {seed}: nobody led at {leaderless:?}, though all was well from {healed:?} on"
    );
    changes
}

/// kubernetes/kubernetes#23731, cilium/cilium#42920: two replicas wrote at the same time.
#[test]
fn no_write_commits_in_anothers_time_and_a_leader_returns() {
    let back = longest(|timing| {
        timing.lease_duration() + timing.retry_period().mul_f64(2.0 * 2.2) + timing.request_timeout()
    });
    let back = back.div_f64(1.0 - SKEW);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let leaders: BTreeSet<usize> = std::thread::scope(|scope| {
        let shares: Vec<_> = (0..threads)
            .map(|first| {
                let seeds = (first..runs()).step_by(usize::try_from(threads).expect("few"));
                scope.spawn(move || seeds.map(|seed| run(seed, back)).collect::<Vec<_>>())
            })
            .collect();
        let of_share =
            |share: std::thread::ScopedJoinHandle<'_, Vec<usize>>| share.join().expect("each seed holds");
        shares.into_iter().flat_map(of_share).collect()
    });
    assert!(
        leaders.len() > 3,
        "the runs differ too little to test anything: {leaders:?}"
    );
}
