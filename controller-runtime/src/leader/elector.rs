//! The shell around the election core: sends its requests, sets the gate, tells the rest of the process.

use std::time::Duration;

use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};
use kube::{Api, Client, api::PostParams};
use tokio::{
    sync::watch,
    time::{sleep_until, timeout_at},
};

use super::{Answer, Change, Election, LeaseRequest, Loss, Timing, Turn, WriteGate};
use crate::clock;

/// Where this process stands in the election.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElectionStatus {
    /// It waits; `holder` is whose record it last saw.
    Standby {
        /// The identity in the record, if there is one.
        holder: Option<String>,
    },
    /// It leads.
    Leading,
    /// It has led, or waited, and does not any more.
    Over(Loss),
}

/// Which lease, and who asks for it.
#[derive(Clone, Debug)]
pub struct ElectorOptions {
    /// Name of the Lease.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// An identity that no other process has, such as `pod-name_uuid`.
    pub identity: String,
    /// Durations.
    pub timing: Timing,
    /// Seed of the jitter; `None` for a random one.
    pub seed: Option<u64>,
    /// What the clock on the wall shows at the start; `None` to look. Only people read the times made from it.
    pub epoch: Option<Timestamp>,
}

/// Takes part in one election until it is lost or released.
#[derive(Debug)]
pub struct Elector {
    leases: Api<Lease>,
    election: Election,
    gate: WriteGate,
    timing: Timing,
    name: String,
    started: clock::Instant,
    epoch: Timestamp,
    status: watch::Sender<ElectionStatus>,
    /// Why the last request failed, if it did: it is said once.
    failure: Option<String>,
}

impl Elector {
    /// Prepares to take part. `client` must not retry by itself and must not pass through `gate`.
    pub fn new(client: Client, options: &ElectorOptions, gate: WriteGate) -> Self {
        let now = clock::now();
        let rng = clock::rng(options.seed);
        Self {
            leases: Api::namespaced(client, &options.namespace),
            election: Election::new(&options.name, &options.identity, options.timing, now, rng),
            gate,
            timing: options.timing,
            name: options.name.clone(),
            started: now,
            epoch: options.epoch.unwrap_or_else(clock::wall),
            status: watch::Sender::new(ElectionStatus::Standby { holder: None }),
            failure: None,
        }
    }

    /// The status, now and at each change.
    pub fn status(&self) -> watch::Receiver<ElectionStatus> {
        self.status.subscribe()
    }

    /// Takes part until the leadership is lost, or `released` resolves, upon which the lease is given up.
    ///
    /// Resolve `released` only when nothing that could write is still running.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the gate and leaves the lease to expire.
    pub async fn run(mut self, released: impl Future<Output = ()>) -> Loss {
        let mut closing = Closing {
            gate: self.gate.clone(),
            at_once: true,
        };
        tokio::pin!(released);
        let loss = loop {
            match self.election.turn(clock::now(), self.wall()) {
                Turn::Over(loss) => break loss,
                Turn::Wait(until) => tokio::select! {
                    biased;
                    () = &mut released => break self.give_up().await,
                    () = sleep_until(until) => {}
                },
                Turn::Send { request, until } => {
                    let sent = clock::now();
                    let answer = tokio::select! {
                        biased;
                        () = &mut released => break self.give_up().await,
                        answer = timeout_at(until, ask(&self.leases, &self.name, request)) => {
                            answer.unwrap_or_else(|_| Answer::Failed("no answer in time".to_owned()))
                        }
                    };
                    self.take_in(sent, answer);
                }
            }
        };
        // What still runs may finish until the deadline that the gate holds; a lease seen in other hands ends it at once.
        closing.at_once = !matches!(loss, Loss::NotRenewed { .. });
        if loss == Loss::Released {
            tracing::info!(lease = %self.name, reason = %loss, "leadership ended");
        } else {
            tracing::warn!(lease = %self.name, reason = %loss, "leadership ended");
        }
        self.status.send_replace(ElectionStatus::Over(loss.clone()));
        loss
    }

    fn take_in(&mut self, sent: clock::Instant, answer: Answer) {
        self.say(&answer);
        let change = self.election.answered(sent, clock::now(), answer);
        if let Some(deadline) = self.election.write_deadline() {
            self.gate.pass_until(deadline);
        }
        if let Some(Change::Acquired) = change {
            tracing::info!(lease = %self.name, "this process leads");
        }
        let status = if self.election.is_leading() {
            ElectionStatus::Leading
        } else {
            ElectionStatus::Standby {
                holder: self.election.holder().map(str::to_owned),
            }
        };
        self.status.send_if_modified(|before| {
            let changed = *before != status;
            *before = status;
            changed
        });
    }

    /// Says that requests fail when they begin to, or do for another reason; and when they do not any more.
    fn say(&mut self, answer: &Answer) {
        let failure = match answer {
            Answer::Failed(error) => Some(error.clone()),
            _ => None,
        };
        match (&self.failure, &failure) {
            (before, now) if before == now => {}
            (_, Some(error)) => {
                tracing::warn!(lease = %self.name, %error, "request for the lease failed; it is tried again");
            }
            (_, None) => tracing::info!(lease = %self.name, "requests for the lease are answered again"),
        }
        self.failure = failure;
    }

    fn wall(&self) -> Timestamp {
        self.epoch
            .saturating_add(clock::now() - self.started)
            .unwrap_or(Timestamp::MAX)
    }

    async fn give_up(&mut self) -> Loss {
        self.gate.close();
        let now = clock::now();
        if let Some(request) = self.election.release(now, self.wall()) {
            let limit = now + self.timing.request_timeout().min(Duration::from_secs(2));
            match timeout_at(limit, ask(&self.leases, &self.name, request)).await {
                Ok(Answer::Written(_)) => tracing::info!(lease = %self.name, "the lease was released"),
                other => {
                    tracing::warn!(lease = %self.name, ?other, "the lease could not be released; it will expire");
                }
            }
        }
        Loss::Released
    }
}

/// Closes the gate when an election ends in whatever way, unless what runs may use up its deadline.
struct Closing {
    gate: WriteGate,
    at_once: bool,
}

impl Drop for Closing {
    fn drop(&mut self) {
        if self.at_once {
            self.gate.close();
        }
    }
}

async fn ask(leases: &Api<Lease>, name: &str, request: LeaseRequest) -> Answer {
    let params = PostParams::default();
    let answer = match &request {
        LeaseRequest::Get => leases.get(name).await.map(Answer::Found),
        LeaseRequest::Create(lease) => leases.create(&params, lease).await.map(Answer::Written),
        LeaseRequest::Update(lease) => leases.replace(name, &params, lease).await.map(Answer::Written),
    };
    match answer {
        Ok(answer) => answer,
        Err(kube::Error::Api(status)) if status.code == 404 && request == LeaseRequest::Get => {
            Answer::NotFound
        }
        Err(kube::Error::Api(status)) if status.code == 409 => Answer::Conflict,
        Err(error) => Answer::Failed(error.to_string()),
    }
}
