//! What the runner shares with its inputs and its tasks: the queue, behind one lock.
//!
//! Inputs put their wishes straight into the queue, where they coalesce by key: however fast they come and however slow
//! the runner is, memory is bounded by the number of distinct keys, and no input ever waits.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::task::AtomicWaker;
use kube::runtime::watcher;

use super::{Depth, drive::End, gauge::Counted};
use crate::{
    RunnerError,
    clock::{self, Instant},
    explain::{KeyState, Looked, millis},
    hot_loop::{self, Accusation, Guard, HotLoop},
    name::Name,
    object::{Object, ObjectRef},
    queue::{Popped, Queue, Settings, Standing, Wish},
    shutdown::Stage,
    trigger::{Cause, Level, Request},
    uid::Uid,
};

/// How many reports one turn takes at most, and how many keys it gives out; then others get the thread.
///
/// As many tasks as a worker of tokio has room for in its own queue, and little enough that what a turn moves stays in the
/// processor's cache.
pub(super) const BUDGET: usize = 256;
/// How many errors of outside streams wait for the result stream; older ones give way.
const SOURCE_ERRORS: usize = 64;

/// The runner's state that others reach.
pub(crate) struct Shared<K: Object> {
    state: Mutex<State>,
    /// The kind of its keys.
    pub(super) kind: K::DynamicType,
    /// Wakes the runner.
    pub(super) waker: AtomicWaker,
}

/// What is behind the lock. No user code runs while it is held.
pub(super) struct State {
    pub(super) queue: Queue<Name>,
    pub(super) guard: Guard,
    pub(super) stage: Stage,
    pub(super) gate: Gate,
    /// Inputs that may still bring wishes.
    pub(super) open_inputs: usize,
    pub(super) source_errors: VecDeque<watcher::Error>,
}

/// Tells whether an object of that name lives, and forgets what was kept of it if not.
pub(super) type Lives = Box<dyn Fn(&Name) -> bool + Send + Sync>;

/// Whether reconciles may start.
pub(super) enum Gate {
    /// A store is not ready, or the controller is held back. As soon as it is known what lives, nothing is kept of other names:
    /// it would take a run to free it.
    Closed(Option<Lives>),
    /// All stores are ready, and nothing holds it back any more, since then.
    Open(Instant),
    /// A store will never be ready. Taken out when it was told.
    Broken(Option<RunnerError>),
}

impl<K: Object> Shared<K> {
    pub(crate) fn new(kind: K::DynamicType) -> Self {
        Self {
            kind,
            state: Mutex::new(State {
                queue: Queue::new(Settings::default()),
                guard: Guard::new(HotLoop::default()),
                stage: Stage::Running,
                gate: Gate::Closed(None),
                open_inputs: 0,
                source_errors: VecDeque::new(),
            }),
            waker: AtomicWaker::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // The queue keeps its own invariants at every step, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of that name.
    pub(super) fn key(&self, name: &Name) -> ObjectRef<K> {
        name.of_kind(&self.kind)
    }

    /// Gives the queue its keys back, all under one lock.
    pub(super) fn finish<E>(&self, ends: &mut [End<K, E>], now: Instant) {
        let mut state = self.lock();
        for end in ends {
            if !state.guard.is_idle()
                && let Some(until) = state.guard.finished(hot_loop::number(&end.running.key), now)
            {
                state.queue.postpone(end.slot, until);
            }
            end.next = state.queue.finish(end.slot, end.running.seen, end.outcome, now);
        }
    }

    /// Takes keys to run, all under one lock; tells whether there may be more.
    ///
    /// Keys whose due has come are made ready even if none may start, for they no longer need the timer.
    /// Those that are found to run in circles are named.
    pub(super) fn pop(
        &self,
        into: &mut Vec<Popped<Name>>,
        accused: &mut Vec<(Name, Accusation)>,
        limit: usize,
        now: Instant,
    ) -> bool {
        let mut state = self.lock();
        state.queue.advance(now);
        let Gate::Open(opened) = state.gate else {
            return false;
        };
        let free = limit.saturating_sub(state.queue.running());
        for _ in 0..free.min(BUDGET) {
            let Some(mut popped) = state.queue.pop(now) else {
                return false;
            };
            popped.since = popped.since.max(opened);
            if !state.guard.is_idle()
                && let Some(accusation) = state.guard.started(hot_loop::number(&popped.key), now)
            {
                accused.push((popped.key.clone(), accusation));
            }
            into.push(popped);
        }
        free > BUDGET
    }

    /// How many keys [`pop`](Self::pop) would give out.
    pub(super) fn could_pop(&self, limit: usize, now: Instant) -> usize {
        let mut state = self.lock();
        state.queue.advance(now);
        if !state.is_open() {
            return 0;
        }
        let free = limit.saturating_sub(state.queue.running());
        state.queue.ready().min(free).min(BUDGET)
    }

    /// The state at this moment, but for the slowed keys, which take time to count.
    pub(super) fn view(&self) -> Depth {
        self.lock().depth()
    }

    /// While the gate is closed, keeps nothing of names under which nothing lives.
    pub(super) fn keep_what_lives(&self, lives: Lives) {
        let mut state = self.lock();
        state.queue.retain(&lives);
        state.gate = Gate::Closed(Some(lives));
    }

    /// Changes the state and wakes the runner.
    pub(super) fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.waker.wake();
    }

    /// Goes on to a later stage of the shutdown, never back.
    pub(crate) fn stop(&self, stage: Stage) {
        self.update(|state| state.stage = state.stage.max(stage));
    }
}

impl State {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.gate, Gate::Open(_))
    }

    /// Whether nothing is to be kept for this name, as nothing lives under it and no run would free it.
    fn is_vain(&self, name: &Name) -> bool {
        matches!(&self.gate, Gate::Closed(Some(lives)) if !lives(name))
    }

    fn depth(&self) -> Depth {
        let (ready, synced) = (self.queue.ready(), self.is_open());
        Depth {
            ready: if synced { ready } else { 0 },
            held: if synced { 0 } else { ready },
            running: self.queue.running(),
            waiting: self.queue.waiting(),
            again: self.queue.again(),
            adds: self.queue.adds(),
            next_due: self.queue.next_due(),
            synced,
            slowed: 0,
        }
    }

    /// The moment before which a key that runs in circles shall not run for this request.
    fn watch_for_circles<K: Object>(
        &mut self,
        key: &Name,
        request: &Request<K>,
        now: Instant,
    ) -> Option<Instant> {
        if request.gone {
            if !self.guard.is_idle() {
                self.guard.gone(hot_loop::number(key));
            }
            return None;
        }
        let object = hot_loop::object_of(&request.cause, request.level)?;
        self.guard.changed(hot_loop::number(key), object, now)
    }
}

impl<K: Object> Shared<K> {
    /// How many keys the queue holds, and how many the guard against circles watches.
    pub(crate) fn held(&self) -> (usize, usize) {
        let state = self.lock();
        (state.queue.len(), state.guard.len())
    }

    /// What is known of one key at this moment.
    pub(crate) fn look(&self, key: &ObjectRef<K>, now: Instant) -> Looked {
        let key = Name::of(key);
        let state = self.lock();
        let look = state.queue.look(&key);
        let causes = || {
            look.iter()
                .flat_map(|look| &look.causes)
                .map(Cause::told)
                .collect()
        };
        Looked {
            known: look.is_some(),
            failures: look.as_ref().map_or(0, |look| look.failures),
            gate_open: state.is_open(),
            slowed: state.guard.slowed(hot_loop::number(&key), now),
            queue: match look.as_ref().map(|look| look.standing) {
                None | Some(Standing::Idle) => KeyState::Idle,
                Some(Standing::Waiting { due }) => KeyState::Waiting {
                    due_ms: millis(due.saturating_duration_since(now)),
                    causes: causes(),
                },
                Some(Standing::Ready { since }) => KeyState::Ready {
                    since_ms: millis(now.saturating_duration_since(since)),
                    causes: causes(),
                },
                Some(Standing::Running { started, again }) => KeyState::Running {
                    since_ms: millis(now.saturating_duration_since(started)),
                    again,
                },
            },
        }
    }
}

impl<K: Object> Counted for Shared<K> {
    fn depth(&self) -> Depth {
        let state = self.lock();
        Depth {
            slowed: state.guard.count(clock::now()),
            ..state.depth()
        }
    }

    fn ready_by_level(&self) -> [usize; Level::ALL.len()] {
        let state = self.lock();
        if state.is_open() {
            state.queue.ready_by_level()
        } else {
            [0; Level::ALL.len()]
        }
    }
}

/// Where triggers put their wishes. Cheap to clone, never blocks, and coalesces by key.
pub struct Inlet<K: Object>(pub(super) Arc<Shared<K>>);

impl<K: Object> Inlet<K> {
    pub(crate) fn new(shared: &Arc<Shared<K>>) -> Self {
        Self(Arc::clone(shared))
    }

    /// Asks for a run.
    pub fn push(&self, request: Request<K>) {
        self.push_all([request]);
    }

    /// Asks for several runs.
    pub fn push_all(&self, requests: impl IntoIterator<Item = Request<K>>) {
        let mut requests = requests.into_iter().peekable();
        if requests.peek().is_none() {
            return;
        }
        let now = clock::now();
        self.push_since(requests.map(|request| (now, request)));
    }

    /// Asks for several runs, each of which was wanted since then: its debounce window began at that time.
    pub(crate) fn push_since(&self, requests: impl IntoIterator<Item = (Instant, Request<K>)>) {
        let now = clock::now();
        let mut wake = false;
        // One lock for each, as the iterator may be a user's and slow.
        for (since, request) in requests {
            let key = Name::of(&request.key);
            let mut state = self.0.lock();
            // Under the lock, and a store is changed before it tells: what comes to life now asks for itself.
            if !request.gone && state.is_vain(&key) {
                continue;
            }
            let wish = Wish {
                not_before: state.watch_for_circles(&key, &request, now),
                level: request.level,
                cause: request.cause,
                uid: request.uid.as_deref().map(Uid::of),
                gone: request.gone,
            };
            let before = (state.queue.ready(), state.queue.next_due());
            state.queue.trigger(key, wish, since);
            let changed = before != (state.queue.ready(), state.queue.next_due());
            wake |= changed && state.is_open();
        }
        if wake {
            self.0.waker.wake();
        }
    }

    pub(crate) fn source_failed(&self, error: watcher::Error) {
        self.0.update(|state| {
            if state.source_errors.len() == SOURCE_ERRORS {
                state.source_errors.pop_front();
            }
            state.source_errors.push_back(error);
        });
    }
}

impl<K: Object> Clone for Inlet<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Object> std::fmt::Debug for Inlet<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Inlet").field(&self.0.depth()).finish()
    }
}
