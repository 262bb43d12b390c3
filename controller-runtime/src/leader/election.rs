//! The election core: what to ask next, and what an answer means. No I/O, no clock; `now` is an argument.

use std::time::Duration;

use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};
use tokio::time::Instant;

use super::{Timing, record};

/// A request for the lease.
#[derive(Clone, Debug, PartialEq)]
pub enum LeaseRequest {
    /// Read it.
    Get,
    /// Write the first record.
    Create(Lease),
    /// Replace the record, guarded by its resourceVersion.
    Update(Lease),
}

/// What became of a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The record that was read.
    Found(Lease),
    /// The record as it was written.
    Written(Lease),
    /// There is no lease.
    NotFound,
    /// Someone else wrote in between, or created it first.
    Conflict,
    /// No answer in time, or an error; the text is for people.
    Failed(String),
}

/// What to do now.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one lives at a time")]
pub enum Turn {
    /// Send this, and give up on it at `until`.
    Send {
        /// The request.
        request: LeaseRequest,
        /// When to count it as failed.
        until: Instant,
    },
    /// Nothing before this moment.
    Wait(Instant),
    /// The election is over for this process.
    Over(Loss),
}

/// Why a process no longer leads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// Another process holds the lease.
    #[error("the lease is now held by {holder:?}")]
    Taken {
        /// The identity in the record.
        holder: String,
    },
    /// No renewal succeeded in time.
    #[error("the lease could not be renewed for {after:?}; last error: {last}")]
    NotRenewed {
        /// The renew deadline.
        after: Duration,
        /// The last error.
        last: String,
    },
    /// It was given up on purpose.
    #[error("the lease was released")]
    Released,
}

/// A change that the rest of the process acts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This process leads from now on.
    Acquired,
    /// It does not any more.
    Lost(Loss),
}

/// A foreign record, and when it was first seen in this form.
#[derive(Clone, Debug)]
struct Seen {
    lease: Lease,
    at: Instant,
}

/// Where this process stands.
#[derive(Clone, Debug)]
enum State {
    /// Does not lead; asks again at `next`.
    Standby {
        seen: Option<Seen>,
        plan: Plan,
        next: Instant,
    },
    /// Leads since a write that *started* at `renewed`.
    Leading {
        held: Lease,
        renewed: Instant,
        plan: Plan,
        next: Instant,
        last_error: String,
    },
    /// Lost or released; there is no way back.
    Over(Loss),
}

/// The next request.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one lives at a time")]
enum Plan {
    /// Look who holds it.
    Look,
    /// It does not exist: create it.
    Create,
    /// Replace this record by ours.
    Replace(Lease),
}

/// One process's part in an election.
#[derive(Debug)]
pub struct Election {
    name: String,
    identity: String,
    timing: Timing,
    state: State,
    rng: fastrand::Rng,
}

impl Election {
    /// Joins the election for the lease `name`. `identity` must be unique to this process, not to its host.
    pub fn new(name: &str, identity: &str, timing: Timing, now: Instant, rng: fastrand::Rng) -> Self {
        Self {
            name: name.to_owned(),
            identity: identity.to_owned(),
            timing,
            state: State::Standby {
                seen: None,
                plan: Plan::Look,
                next: now,
            },
            rng,
        }
    }

    /// The moment after which no write may leave; `None` while this process does not lead.
    pub fn write_deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Leading { renewed, .. } => {
                Some(*renewed + self.timing.lease_duration() - self.timing.margin())
            }
            State::Standby { .. } | State::Over(_) => None,
        }
    }

    /// Whether this process leads.
    pub fn is_leading(&self) -> bool {
        matches!(self.state, State::Leading { .. })
    }

    /// Who holds the lease as far as this process has seen.
    pub fn holder(&self) -> Option<&str> {
        match &self.state {
            State::Standby { seen, .. } => seen.as_ref().and_then(|seen| record::holder(&seen.lease)),
            State::Leading { .. } => Some(&self.identity),
            State::Over(_) => None,
        }
    }

    /// What to do at `now`. `wall` is written into records for people to read; nothing is decided by it.
    pub fn turn(&mut self, now: Instant, wall: Timestamp) -> Turn {
        if let Some(loss) = self.overdue(now) {
            self.state = State::Over(loss);
        }
        let (plan, next, give_up) = match &self.state {
            State::Over(loss) => return Turn::Over(loss.clone()),
            State::Standby { plan, next, .. } => (plan, *next, None),
            State::Leading {
                plan, next, renewed, ..
            } => (plan, *next, Some(*renewed + self.timing.renew_deadline())),
        };
        if now < next {
            return Turn::Wait(give_up.map_or(next, |give_up| next.min(give_up)));
        }
        let held =
            |before: Option<&Lease>| record::held_by(before, &self.name, &self.identity, &self.timing, wall);
        let request = match plan {
            Plan::Look => LeaseRequest::Get,
            Plan::Create => LeaseRequest::Create(held(None)),
            Plan::Replace(before) => LeaseRequest::Update(held(Some(before))),
        };
        let until = now + self.timing.request_timeout();
        Turn::Send {
            request,
            until: give_up.map_or(until, |give_up| until.min(give_up)),
        }
    }

    /// Takes in the answer, at `now`, to the request that left at `sent`.
    pub fn answered(&mut self, sent: Instant, now: Instant, answer: Answer) -> Option<Change> {
        match &self.state {
            State::Standby { .. } => self.standby_answered(sent, now, answer),
            State::Leading { .. } => self.leader_answered(sent, now, answer),
            State::Over(_) => None,
        }
    }

    /// Gives the lease up: the request to send, if this process may still write. The caller makes sure that nothing else can write.
    pub fn release(&mut self, now: Instant, wall: Timestamp) -> Option<LeaseRequest> {
        let may_write = self.write_deadline().is_some_and(|deadline| now < deadline);
        match std::mem::replace(&mut self.state, State::Over(Loss::Released)) {
            State::Leading { held, .. } if may_write => {
                Some(LeaseRequest::Update(record::released(&held, wall)))
            }
            State::Over(loss) => {
                self.state = State::Over(loss);
                None
            }
            State::Leading { .. } | State::Standby { .. } => None,
        }
    }

    fn overdue(&self, now: Instant) -> Option<Loss> {
        match &self.state {
            State::Leading {
                renewed, last_error, ..
            } if now >= *renewed + self.timing.renew_deadline() => Some(Loss::NotRenewed {
                after: self.timing.renew_deadline(),
                last: last_error.clone(),
            }),
            _ => None,
        }
    }

    fn lead(&mut self, held: Lease, sent: Instant) {
        let next = sent + self.timing.retry_period();
        self.state = State::Leading {
            plan: Plan::Replace(held.clone()),
            held,
            renewed: sent,
            next,
            last_error: "none".to_owned(),
        };
    }

    fn standby_answered(&mut self, sent: Instant, now: Instant, answer: Answer) -> Option<Change> {
        let later = now + self.stretched_retry();
        let usable = sent + self.timing.renew_deadline() > now;
        let State::Standby { seen, plan, next } = &mut self.state else {
            return None;
        };
        (*plan, *next) = match answer {
            Answer::Written(lease) if usable && record::holder(&lease) == Some(&self.identity) => {
                self.lead(lease, sent);
                return Some(Change::Acquired);
            }
            // Who deleted a live record has not stopped its holder.
            Answer::NotFound => match seen.as_ref().filter(|seen| record::holder(&seen.lease).is_some()) {
                Some(Seen { lease, at }) if now < *at + record::live_for(lease, &self.timing) => {
                    (Plan::Look, later)
                }
                _ => (Plan::Create, now),
            },
            // A write may be answered so late that the time to act on it is over.
            Answer::Written(_) | Answer::Failed(_) | Answer::Conflict => (Plan::Look, later),
            Answer::Found(lease) => {
                if seen.as_ref().is_none_or(|seen| seen.lease.spec != lease.spec) {
                    *seen = Some(Seen {
                        lease: lease.clone(),
                        at: now,
                    });
                }
                let first_seen = seen.as_ref().map_or(now, |seen| seen.at);
                match record::holder(&lease) {
                    Some(holder) if holder != self.identity => {
                        let expires = first_seen + record::live_for(&lease, &self.timing);
                        if now < expires {
                            (Plan::Look, later)
                        } else {
                            (Plan::Replace(lease), now)
                        }
                    }
                    // Free, or our own from a write whose answer was lost.
                    _ => (Plan::Replace(lease), now),
                }
            }
        };
        None
    }

    fn leader_answered(&mut self, sent: Instant, now: Instant, answer: Answer) -> Option<Change> {
        if let Some(loss) = self.overdue(now) {
            return Some(self.lose(loss));
        }
        let retry = now + self.timing.retry_period();
        let State::Leading {
            plan,
            next,
            last_error,
            ..
        } = &mut self.state
        else {
            return None;
        };
        (*plan, *next) = match answer {
            Answer::Written(lease) if record::holder(&lease) == Some(&self.identity) => {
                self.lead(lease, sent);
                return None;
            }
            Answer::Written(lease) | Answer::Found(lease) => match record::holder(&lease) {
                Some(holder) if holder != self.identity => {
                    let holder = holder.to_owned();
                    return Some(self.lose(Loss::Taken { holder }));
                }
                _ => (Plan::Replace(lease), now),
            },
            Answer::Conflict => {
                "the record was changed by someone else".clone_into(last_error);
                (Plan::Look, retry)
            }
            Answer::NotFound => {
                "the lease was deleted".clone_into(last_error);
                (Plan::Create, now)
            }
            Answer::Failed(error) => {
                *last_error = error;
                (Plan::Look, retry)
            }
        };
        None
    }

    fn lose(&mut self, loss: Loss) -> Change {
        self.state = State::Over(loss.clone());
        Change::Lost(loss)
    }

    fn stretched_retry(&mut self) -> Duration {
        self.timing.retry_period().mul_f64(1.0 + 1.2 * self.rng.f64())
    }
}
