//! The stream of a watch.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use super::frame::{self, Frames};
use super::{Opening, Start};
use crate::clock::{Instant, instant};
use crate::codec::accept::Accept;
use crate::fault::StreamFault;
use crate::registry::Resource;
use crate::server::Inner;
use crate::state::State;
use crate::status::ApiError;
use crate::storage::{Event, Stored};

/// How many events are taken from the log at once.
const BATCH: usize = 256;

/// How often a quiet watch tells its revision.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// How long a watch without `timeoutSeconds` stays open, as on a real server (there it is 30 to 60
/// minutes, by chance).
const LONGEST: Duration = Duration::from_secs(45 * 60);

/// How long a streaming list waits for a revision that is not there yet.
pub(crate) const REVISION_PATIENCE: Duration = Duration::from_secs(3);

/// How far a watch has come; shared with those who ask whether the server is at rest.
#[derive(Debug)]
pub(crate) struct Progress {
    /// What is watched, for people.
    pub(crate) what: String,
    pub(crate) collection: Arc<str>,
    /// Every event up to this revision was handed out, or is in hand.
    pub(crate) cursor: AtomicU64,
    /// Lines in hand that were not read yet.
    pub(crate) in_hand: AtomicUsize,
    /// A fault holds the stream: it will not move by itself.
    pub(crate) held: AtomicBool,
}

/// How far a watch is.
enum Phase {
    /// The revision it asks for is not there yet.
    Waiting { at_least: u64, until: Instant },
    /// It sends the objects that were there when it began.
    Initial(VecDeque<Arc<Stored>>),
    /// It follows the log.
    Following,
}

/// A running watch.
pub(crate) struct WatchStream {
    server: Arc<Inner>,
    id: u64,
    resource: Arc<Resource>,
    prefix: String,
    opening: Opening,
    frames: Frames,
    progress: Arc<Progress>,
    head: Arc<Notify>,
    /// The watch lives while the server counts so.
    epoch: u64,
    deadline: Instant,
    bookmark_due: Instant,
    lines: VecDeque<Bytes>,
    phase: Phase,
    /// After the lines in hand the stream ends.
    ending: bool,
    fault: StreamFault,
}

impl fmt::Debug for WatchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchStream")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl WatchStream {
    /// Opens a watch; from here on it misses nothing.
    pub(crate) fn open(
        server: &Arc<Inner>,
        state: &mut State,
        resource: &Arc<Resource>,
        namespace: &str,
        accept: Accept,
        opening: Opening,
        fault: StreamFault,
    ) -> Self {
        let now = instant();
        let progress = Arc::new(Progress {
            what: format!(
                "watch of {} in {}",
                resource.named(),
                if namespace.is_empty() {
                    "all namespaces"
                } else {
                    namespace
                }
            ),
            collection: Arc::clone(&resource.collection),
            cursor: AtomicU64::new(state.store.revision()),
            in_hand: AtomicUsize::new(0),
            held: AtomicBool::new(false),
        });
        let mut stream = Self {
            id: server.watches.add(Arc::clone(&progress)),
            server: Arc::clone(server),
            prefix: resource.prefix(namespace),
            head: state.subscribe(&resource.collection),
            epoch: server.watches.epoch(),
            deadline: now + opening.timeout.unwrap_or(LONGEST),
            bookmark_due: now + BOOKMARK_EVERY,
            resource: Arc::clone(resource),
            frames: Frames {
                accept,
                now: state.clock.now(),
                columns_sent: false,
            },
            progress,
            lines: VecDeque::new(),
            phase: Phase::Following,
            ending: false,
            opening,
            fault,
        };
        stream.begin(state, now);
        stream
    }

    /// Takes its place in the log; what was there before is kept at hand.
    fn begin(&mut self, state: &State, now: Instant) {
        let revision = state.store.revision();
        match self.opening.start {
            Start::Present { at_least } if at_least > revision => {
                self.phase = Phase::Waiting {
                    at_least,
                    until: now + REVISION_PATIENCE,
                };
            }
            Start::Present { .. } => self.take_present(state),
            Start::After(after) if !state.store.remembers(after) => {
                self.fail(&ApiError::expired(format!(
                    "too old resource version: {after} ({revision})"
                )));
            }
            Start::After(after) => self.progress.cursor.store(after, Ordering::Relaxed),
        }
    }

    fn take_present(&mut self, state: &State) {
        let selected = state
            .store
            .scan(&self.resource.collection, &self.prefix)
            .filter(|(key, object)| self.opening.selection.matches(key, object))
            .map(|(_, object)| Arc::clone(object))
            .collect();
        self.progress
            .cursor
            .store(state.store.revision(), Ordering::Relaxed);
        self.phase = Phase::Initial(selected);
    }

    /// The next line; `None` when the stream ends.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if self.fault.silent {
            return self.hold().await;
        }
        loop {
            // Also while there is something in hand: behind a steady writer there always is.
            self.on_time();
            if let Some(line) = self.lines.pop_front() {
                self.count();
                if let Some(delay) = self.fault.delay {
                    tokio::time::sleep(delay).await;
                }
                return self.tampered(line);
            }
            if self.ending {
                return None;
            }
            // Both are armed before the look at the store, so that no change slips in between.
            let (head, closing) = (Arc::clone(&self.head), self.server.watches.closing());
            let (changed, closed) = (head.notified(), closing.notified());
            tokio::pin!(changed, closed);
            changed.as_mut().enable();
            closed.as_mut().enable();
            if self.server.watches.epoch() != self.epoch {
                return None;
            }
            let seen_all = self.fill();
            self.count();
            if seen_all && self.lines.is_empty() && !self.ending {
                tokio::select! {
                    biased;
                    () = closed => return None,
                    () = changed => {}
                    () = tokio::time::sleep_until(self.quiet_until()) => {}
                }
            }
        }
    }

    /// Tells how much is in hand.
    fn count(&self) {
        let initial = match &self.phase {
            Phase::Initial(objects) => objects.len() + 1,
            Phase::Waiting { .. } | Phase::Following => 0,
        };
        self.progress
            .in_hand
            .store(self.lines.len() + initial, Ordering::Relaxed);
    }

    /// What a fault makes of a line.
    fn tampered(&mut self, line: Bytes) -> Option<Bytes> {
        let (line, ends) = self.fault.tamper(line)?;
        if ends {
            self.lines.clear();
            self.ending = true;
        }
        Some(line)
    }

    /// A silent stream: open, and nothing comes, not even its end.
    async fn hold(&mut self) -> Option<Bytes> {
        self.progress.held.store(true, Ordering::Relaxed);
        let closing = self.server.watches.closing();
        let closed = closing.notified();
        tokio::pin!(closed);
        closed.as_mut().enable();
        if self.server.watches.epoch() == self.epoch {
            closed.await;
        }
        None
    }

    /// When to look again even if nothing changes.
    fn quiet_until(&self) -> Instant {
        match self.phase {
            Phase::Waiting { until, .. } => until,
            _ if self.opening.bookmarks && !self.fault.no_bookmarks => self.bookmark_due.min(self.deadline),
            _ => self.deadline,
        }
    }

    /// Ends the stream at its deadline, whatever is in hand, and tells the revision when that is due.
    fn on_time(&mut self) {
        let now = instant();
        if self.ending
            || matches!(self.phase, Phase::Waiting { .. })
            || now < self.deadline.min(self.bookmark_due)
        {
            return;
        }
        if now >= self.deadline && !self.fault.no_timeout {
            self.lines.clear();
            self.ending = true;
            return;
        }
        if now >= self.deadline {
            self.deadline = now + LONGEST;
        }
        if now >= self.bookmark_due && matches!(self.phase, Phase::Following) {
            self.bookmark_due = now + BOOKMARK_EVERY;
            let revision = self.progress.cursor.load(Ordering::Relaxed);
            // A watch from a revision of the future is told nothing before that has come.
            let has_come = revision <= self.server.state().store.revision();
            if self.opening.bookmarks && !self.fault.no_bookmarks && has_come {
                let line = self.frames.bookmark(&self.resource, revision, false);
                self.lines.push_back(line);
            }
        }
    }

    /// Takes what is new from the store; tells whether that was all there is.
    fn fill(&mut self) -> bool {
        let server = Arc::clone(&self.server);
        self.frames.now = server.state().clock.now();
        match &mut self.phase {
            Phase::Waiting { at_least, until } => {
                let (asked, until) = (*at_least, *until);
                let state = server.state();
                let revision = state.store.revision();
                if revision >= asked {
                    self.take_present(&state);
                    return false;
                }
                if instant() >= until {
                    self.fail(&ApiError::too_large_revision(asked, revision));
                }
                true
            }
            Phase::Initial(objects) => {
                if let Some(object) = objects.pop_front() {
                    let line = self.frames.object("ADDED", &self.resource, &object);
                    self.lines.push_back(line);
                    return false;
                }
                self.phase = Phase::Following;
                if self.opening.marks_initial_end && !self.fault.no_bookmarks {
                    let revision = self.progress.cursor.load(Ordering::Relaxed);
                    let line = self.frames.bookmark(&self.resource, revision, true);
                    self.lines.push_back(line);
                }
                false
            }
            Phase::Following => self.events(&server.state()),
        }
    }

    fn fail(&mut self, why: &ApiError) {
        self.lines.push_back(frame::error(why));
        self.ending = true;
    }

    fn events(&mut self, state: &State) -> bool {
        let cursor = self.progress.cursor.load(Ordering::Relaxed);
        let Ok(events) = state.store.following(&self.resource.collection, cursor) else {
            // Too far behind: what was missed is no longer known.
            self.ending = true;
            return true;
        };
        let events: Vec<Arc<Event>> = events.take(BATCH).cloned().collect();
        for event in &events {
            let line = event
                .key
                .starts_with(&self.prefix)
                .then(|| self.frames.event(&self.resource, &self.opening.selection, event))
                .flatten();
            self.lines.extend(line);
            self.progress.cursor.store(event.revision(), Ordering::Relaxed);
        }
        if events.is_empty() {
            // What a bookmark tells: everything up to here was seen.
            let revision = state.store.revision().max(cursor);
            self.progress.cursor.store(revision, Ordering::Relaxed);
            self.ending |= !self.is_served(state);
        }
        events.len() < BATCH
    }

    /// The resource is still the one that was asked for; a changed definition ends its watches.
    fn is_served(&self, state: &State) -> bool {
        let stamp = |resource: &Resource| resource.custom.as_ref().map(|custom| custom.stamp);
        let resource = &self.resource;
        state
            .registry
            .get(&resource.group, &resource.version, &resource.plural)
            .is_some_and(|served| stamp(served) == stamp(resource))
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        self.server.watches.remove(self.id);
    }
}
