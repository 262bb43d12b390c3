//! The list/watch core: what a source does next, as a state machine without I/O, clock and randomness.
//!
//! The shell asks for an [`Order`], carries it out, and reports what came of it. The core knows nothing of
//! objects: only revisions, marks and failures. Rules:
//!
//! - A watch goes on from the last revision seen. When that is worth nothing any more (compacted history, a kind that
//!   is not served, a revision that went back), the set is read again.
//! - Every failure waits for this source's own backoff. It is forgotten only after a healthy spell, so a list that
//!   succeeds before a watch that fails does not make a hot loop.
//! - A watch that told nothing in all its life, not even a bookmark, may be at a revision that the server has lost (a backup was
//!   restored): such a one is silent until the server comes to that revision again. So the set is read again.
//! - Such a server comes to that revision soon if much is written, and what it tells from then on leaves out what was lost. So a watch that ended
//!   before its time goes on only when the server says that it has come to the revision. Not noticed is a loss that was written over before.
//! - A streaming list that is refused, or that ends without its end mark, is followed by a list by pages. One that goes
//!   on without its end mark counts as ended when its watch was to end.

mod order;

use std::{cmp::Ordering, time::Duration};

use super::{Config, Phase, Problem, StreamingLists, Verb, failure::Failure};
use crate::{clock::Instant, revision::compare};

use order::Reading;
pub(crate) use order::{Event, Order, Step};

/// A watch that is ended by the server sooner than this has failed.
const SHORT: Duration = Duration::from_secs(10);
/// A watch that lives for so long tells a bookmark at least: servers send them each minute.
const MUTE: Duration = Duration::from_secs(150);
/// A watch that ends no sooner than this before its time has ended in time.
const PRECISE: Duration = Duration::from_secs(2);
/// No server's wish to be left alone is followed for longer.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);
/// A server that broke so many streaming lists is asked for pages from then on.
const STRIKES: u32 = 2;
/// After so many failures in a row, of whatever kind, a list goes by pages once.
const PATIENCE: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// The whole set is to be read, not before `at`.
    Relist { at: Instant },
    /// A page is being read.
    Paging { token: Option<String> },
    /// A streaming list is open or being opened, and its end mark has not come. It is over at `until`, whatever it says.
    Streaming { until: Instant },
    /// A watch is to be opened, not before `at`.
    Reopen { revision: String, at: Instant },
    /// A watch is being opened (`opened` is `None`) or open; it has told something or not.
    Watching {
        revision: String,
        opened: Option<Instant>,
        told: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct ListWatch {
    state: State,
    /// Failures without a healthy spell between, and since when.
    failures: u32,
    failing_since: Option<Instant>,
    /// Watches have been open since then, with no failure.
    healthy_since: Option<Instant>,
    /// Streaming lists are tried.
    streaming: bool,
    /// Streaming lists that broke.
    strikes: u32,
    /// How the list that goes on, or comes next, is read.
    reading: Reading,
    /// Why the last request failed; `None` once one of its kind succeeds.
    problem: Option<Problem>,
    /// The last watch was silent for too long, and this one has not said anything either.
    silent: bool,
    /// After how long the server is to end the watch that is open.
    seconds: u32,
    /// The last watch ended before its time: the server that is back may be one that has lost the revision.
    doubted: bool,
    config: Config,
}

impl ListWatch {
    pub(crate) fn new(config: &Config, now: Instant) -> Self {
        Self {
            state: State::Relist { at: now },
            failures: 0,
            failing_since: None,
            healthy_since: None,
            streaming: config.streaming_lists == StreamingLists::Auto,
            strikes: 0,
            reading: Reading::usual(config.streaming_lists == StreamingLists::Auto),
            problem: None,
            silent: false,
            seconds: config.watch_seconds,
            doubted: false,
            config: config.clone(),
        }
    }

    /// What to do now. A request that is ordered counts as begun.
    pub(crate) fn order(&mut self, now: Instant, rng: &mut fastrand::Rng) -> Order<'_> {
        match &self.state {
            State::Relist { at } | State::Reopen { at, .. } if *at > now => return Order::Wait(*at),
            State::Relist { .. } if self.reading == Reading::Stream => {
                self.seconds = self.lifetime(rng);
                let until = now + self.watch_limit();
                self.state = State::Streaming { until };
            }
            State::Relist { .. } => self.state = State::Paging { token: None },
            State::Reopen { revision, .. } => {
                let revision = revision.clone();
                self.state = State::Watching {
                    revision,
                    opened: None,
                    told: false,
                };
                self.seconds = self.lifetime(rng);
            }
            State::Paging { .. } | State::Streaming { .. } | State::Watching { .. } => {}
        }
        let (seconds, doubted) = (self.seconds, self.doubted);
        match &self.state {
            State::Relist { at } | State::Reopen { at, .. } => Order::Wait(*at),
            State::Paging { token } => Order::List {
                token: token.as_deref(),
                paged: self.reading == Reading::Pages,
            },
            State::Streaming { .. } => Order::Watch {
                revision: None,
                seconds,
                doubted: false,
            },
            State::Watching { revision, .. } => Order::Watch {
                revision: Some(revision),
                seconds,
                doubted,
            },
        }
    }

    /// A page was read; its objects are in the store. True when it was the last one.
    pub(crate) fn page(&mut self, now: Instant, revision: &str, token: Option<&str>) -> bool {
        let token = token.filter(|token| !token.is_empty());
        if let Some(token) = token {
            self.state = State::Paging {
                token: Some(token.to_owned()),
            };
            return false;
        }
        self.listed();
        self.state = State::Reopen {
            revision: revision.to_owned(),
            at: now,
        };
        true
    }

    /// The headers of a watch came.
    pub(crate) fn opened(&mut self, now: Instant) {
        if let State::Watching { opened, .. } = &mut self.state {
            *opened = Some(now);
            self.doubted = false;
            self.healthy_since.get_or_insert(now);
            // That the server answers tells nothing about a watch that was silent.
            if !self.silent {
                self.problem = None;
            }
        }
    }

    /// An event of the open watch came.
    pub(crate) fn event(
        &mut self,
        now: Instant,
        rng: &mut fastrand::Rng,
        event: Event,
        at: Option<&str>,
    ) -> Step {
        self.heard();
        match (&mut self.state, event) {
            (State::Watching { revision, told, .. }, event) => {
                *told = true;
                let known = at.and_then(|at| Some((at, compare(at, revision)?)));
                match (known, event) {
                    // Some servers tell a deletion with the revision of the object's last change.
                    (Some((_, Ordering::Less)), Event::Delete) => {}
                    (Some((at, Ordering::Less)), _) => {
                        let (from, to) = (revision.clone(), at.to_owned());
                        self.failed(now, rng, &Failure::WentBack { from, to });
                        return Step::Close;
                    }
                    _ => {
                        if let Some(at) = at {
                            at.clone_into(revision);
                        }
                    }
                }
                match event {
                    Event::Bookmark { .. } => Step::Pass,
                    Event::Put | Event::Delete => Step::Take,
                }
            }
            (_, Event::Bookmark { end: true }) => {
                let Some(revision) = at.map(str::to_owned) else {
                    let failure = Failure::Malformed("an end mark without a resourceVersion".into());
                    self.failed(now, rng, &failure);
                    return Step::Close;
                };
                self.state = State::Watching {
                    revision,
                    opened: Some(now),
                    told: true,
                };
                self.healthy_since.get_or_insert(now);
                self.strikes = 0;
                self.listed();
                Step::Synced
            }
            (_, Event::Bookmark { end: false }) => Step::Pass,
            (_, Event::Put | Event::Delete) => Step::List,
        }
    }

    /// For how long the open watch may be silent from now on.
    pub(crate) fn silence_limit(&self, now: Instant) -> Duration {
        match self.state {
            State::Streaming { until } => self.config.answer_limit.min(until.saturating_duration_since(now)),
            _ => self.watch_limit(),
        }
    }

    /// The open watch was silent for that long.
    pub(crate) fn silent(&mut self, now: Instant, rng: &mut fastrand::Rng) {
        let failure = match self.state {
            State::Streaming { .. } => Failure::NoEndMark,
            _ => Failure::Silent(self.watch_limit()),
        };
        self.failed(now, rng, &failure);
    }

    /// The server ended the watch in good order.
    pub(crate) fn ended(&mut self, now: Instant, rng: &mut fastrand::Rng) {
        self.heard();
        match &self.state {
            State::Watching {
                revision,
                opened: Some(opened),
                told,
            } => {
                let lived = now.saturating_duration_since(*opened);
                self.doubted = lived + PRECISE < Duration::from_secs(self.seconds.into());
                if lived < SHORT {
                    return self.failed(now, rng, &Failure::TooShort(lived));
                }
                let revision = revision.clone();
                self.state = if *told || lived < MUTE {
                    State::Reopen { revision, at: now }
                } else {
                    State::Relist { at: now }
                };
            }
            State::Streaming { .. } => self.failed(now, rng, &Failure::NoEndMark),
            _ => {}
        }
    }

    /// A request failed, or a stream broke.
    pub(crate) fn failed(&mut self, now: Instant, rng: &mut fastrand::Rng, failure: &Failure) {
        self.silent = matches!(failure, Failure::Silent(_));
        self.doubted = true;
        let healthy = self.healthy_since.take().filter(|_| !self.silent);
        if healthy.is_some_and(|since| now.saturating_duration_since(since) >= self.config.healthy_after) {
            self.failures = 0;
            self.failing_since = None;
        }
        self.failures = self.failures.saturating_add(1);
        self.note(now, failure);
        let mut at = now + self.delay(rng, failure);
        self.state = match std::mem::replace(&mut self.state, State::Relist { at: now }) {
            State::Streaming { .. } => {
                if self.streaming_broke(failure) {
                    at = now;
                }
                State::Relist { at }
            }
            State::Paging { token } => {
                let expired = token.is_some() && failure.loses_place();
                self.reading = if expired { Reading::Whole } else { Reading::Pages };
                State::Relist { at }
            }
            State::Relist { .. } => State::Relist { at },
            State::Watching { .. } | State::Reopen { .. } if failure.loses_place() => State::Relist { at },
            State::Watching { revision, .. } | State::Reopen { revision, .. } => {
                State::Reopen { revision, at }
            }
        };
    }

    /// The revision up to which the open watch has told everything.
    pub(crate) fn revision(&self) -> Option<&str> {
        match &self.state {
            State::Watching { revision, .. } | State::Reopen { revision, .. } => Some(revision),
            State::Relist { .. } | State::Paging { .. } | State::Streaming { .. } => None,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.state {
            _ if self.problem.is_some() => Phase::Failing,
            State::Relist { .. } | State::Paging { .. } | State::Streaming { .. } => Phase::Listing,
            State::Reopen { .. } | State::Watching { .. } => Phase::Watching,
        }
    }

    pub(crate) fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    fn verb(&self) -> Verb {
        match self.state {
            State::Relist { .. } | State::Paging { .. } => Verb::List,
            State::Streaming { .. } | State::Reopen { .. } | State::Watching { .. } => Verb::Watch,
        }
    }

    /// When a watch that began now would have ended by itself, if the server kept to it.
    fn watch_limit(&self) -> Duration {
        Duration::from_secs(self.seconds.into()) + self.config.idle_margin
    }

    /// A moment between three quarters of the configured lifetime and all of it: watches that were opened together
    /// do not end together.
    fn lifetime(&self, rng: &mut fastrand::Rng) -> u32 {
        let whole = self.config.watch_seconds;
        whole - rng.u32(0..=whole / 4)
    }

    fn delay(&self, rng: &mut fastrand::Rng, failure: &Failure) -> Duration {
        let backoff = &self.config.backoff;
        let own = backoff.delay(self.failures, rng.f64());
        match failure.retry_after() {
            // Not all of those who were told the same come back at the same moment.
            Some(wish) if wish > own => wish.min(LONGEST_RETRY_AFTER) + backoff.delay(1, rng.f64()),
            _ => own,
        }
    }

    fn note(&mut self, now: Instant, failure: &Failure) {
        let since = *self.failing_since.get_or_insert(now);
        self.problem = Some(Problem {
            verb: self.verb(),
            message: failure.to_string(),
            code: failure.code(),
            since,
            failures: self.failures,
        });
    }

    /// Takes note of a streaming list that broke; true when the list goes on by pages at once.
    fn streaming_broke(&mut self, failure: &Failure) -> bool {
        let Some(refused) = failure.breaks_streaming() else {
            if self.failures >= PATIENCE {
                self.reading = Reading::Pages;
            }
            return false;
        };
        self.strikes += 1;
        self.streaming = !refused && self.strikes < STRIKES;
        self.reading = Reading::Pages;
        true
    }

    /// The open watch said something.
    fn heard(&mut self) {
        if std::mem::take(&mut self.silent) {
            self.problem = None;
        }
    }

    fn listed(&mut self) {
        self.doubted = false;
        self.reading = Reading::usual(self.streaming);
        let settled =
            |problem: &Problem| problem.verb == Verb::List || matches!(self.state, State::Watching { .. });
        if self.problem.as_ref().is_some_and(settled) {
            self.problem = None;
        }
    }
}

#[cfg(test)]
mod tests;
