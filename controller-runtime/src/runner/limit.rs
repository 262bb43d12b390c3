//! How many reconciles of several controllers run at once, together.
//!
//! A place that becomes free goes to the controller that holds fewest of those that wait, so that in the long run places are shared max-min fairly: none
//! gets more than another that wants more. It is handed over rather than offered, so that a controller whose results nobody reads keeps its share from the
//! others, and no more.
//!
//! Not promised: that a place is free at once. What runs is not interrupted, and no place is kept empty for a controller that asks for none.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
};

/// How many reconciles run at once in all controllers that share it. Cheap to clone; clones are one limit.
///
/// Of the controllers that wait for a place, the one that holds fewest gets it, so that neither one with many objects nor one with slow reconciles keeps
/// another from running. What runs is not interrupted: if all places were taken while nobody else wanted one, the next is free when a reconcile ends; the
/// limit that a controller has of its own keeps it from taking all.
///
/// ```
/// use controller_runtime::{Controller, runner::Limit};
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube::{Api, Client};
///
/// # async fn example(client: Client) {
/// let limit = Limit::new(32);
/// let maps = Controller::new(Api::<ConfigMap>::all(client.clone()), Default::default()).share_limit(&limit);
/// let secrets = Controller::new(Api::<Secret>::all(client), Default::default()).share_limit(&limit);
/// # }
/// ```
#[derive(Clone)]
pub struct Limit(Arc<Mutex<Places>>);

impl Limit {
    /// At most so many reconciles at once; one at least.
    pub fn new(reconciles: u16) -> Self {
        Self(Arc::new(Mutex::new(Places {
            free: usize::from(reconciles.max(1)),
            members: BTreeMap::new(),
            joined: 0,
            turns: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        // Every change is made as a whole, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is held, hands on what became free, and wakes who gets it.
    fn change<T>(&self, change: impl FnOnce(&mut Places) -> T) -> T {
        let mut woken = Vec::new();
        let result = {
            let mut places = self.lock();
            let result = change(&mut places);
            places.hand_on(&mut woken);
            result
        };
        woken.into_iter().for_each(Waker::wake);
        result
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit")
            .field("free", &self.lock().free)
            .finish_non_exhaustive()
    }
}

/// Who holds what. Invariant, whenever the lock is free: a place is free only if nobody waits, or one alone who has been handed another.
struct Places {
    free: usize,
    /// Those that live, and those that hold something still.
    members: BTreeMap<u64, Member>,
    /// How many ever joined: the number of the last.
    joined: u64,
    /// How often places were ever given to someone.
    turns: u64,
}

/// One controller.
#[derive(Default)]
struct Member {
    /// Its places, those in hand included.
    held: usize,
    /// Places that it has been handed and has not used yet.
    in_hand: usize,
    /// How many more it wants; it is woken with each that it gets.
    wanted: usize,
    waker: Option<Waker>,
    /// Its last turn.
    served: u64,
    /// It is gone, and holds something still.
    gone: bool,
}

impl Places {
    /// Hands free places to those who wait: to who holds fewest, and of these to who was served longest ago.
    ///
    /// Who waits alone is handed one, and finds the others when it comes for it.
    fn hand_on(&mut self, woken: &mut Vec<Waker>) {
        while self.free > 0 {
            let mut waiting: Vec<_> = self
                .members
                .values_mut()
                .filter(|member| member.wanted > 0)
                .collect();
            let alone = waiting.len() == 1;
            let next = waiting
                .iter_mut()
                .min_by_key(|member| (member.held, member.served));
            let Some(next) = next.filter(|next| next.in_hand == 0 || !alone) else {
                return;
            };
            self.free -= 1;
            self.turns += 1;
            next.held += 1;
            next.in_hand += 1;
            next.wanted -= 1;
            next.served = self.turns;
            woken.extend(next.waker.take());
        }
    }

    /// Takes as many places as there are, those in hand first.
    fn take(&mut self, number: u64, wanted: usize, cx: &Context<'_>) -> usize {
        let Some(member) = self.members.get_mut(&number) else {
            return 0;
        };
        let in_hand = std::mem::take(&mut member.in_hand);
        let more = wanted.saturating_sub(in_hand).min(self.free);
        let taken = wanted.min(in_hand + more);
        member.held = member.held + taken - in_hand;
        self.free = self.free + in_hand - taken;
        if more > 0 {
            self.turns += 1;
            member.served = self.turns;
        }
        member.wanted = wanted - taken;
        member.waker = Some(cx.waker().clone());
        taken
    }

    /// Wants no more; with `gone`, for good.
    fn leave(&mut self, number: u64, gone: bool) {
        let Some(member) = self.members.get_mut(&number) else {
            return;
        };
        member.wanted = 0;
        member.gone = gone;
        let in_hand = std::mem::take(&mut member.in_hand);
        self.give_back(number, in_hand);
    }

    fn give_back(&mut self, number: u64, places: usize) {
        self.free += places;
        if let Some(member) = self.members.get_mut(&number) {
            member.held -= places;
            if member.gone && member.held == 0 {
                self.members.remove(&number);
            }
        }
    }
}

/// Lets one reconcile run; dropped when that has ended.
#[derive(Debug)]
pub(super) struct Permit {
    limit: Limit,
    member: u64,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limit.change(|places| places.give_back(self.member, 1));
    }
}

/// A controller's place among those that share a limit.
pub(super) struct Permits {
    limit: Limit,
    member: u64,
}

impl Permits {
    pub(super) fn of(limit: Limit) -> Self {
        let member = limit.change(|places| {
            places.joined += 1;
            places.members.insert(places.joined, Member::default());
            places.joined
        });
        Self { limit, member }
    }

    /// Takes `wanted` permits, or as many as there are; then the task is woken when there is another.
    pub(super) fn take(&mut self, wanted: usize, cx: &Context<'_>) -> Vec<Permit> {
        let taken = self.limit.change(|places| places.take(self.member, wanted, cx));
        let permit = || Permit {
            limit: self.limit.clone(),
            member: self.member,
        };
        std::iter::repeat_with(permit).take(taken).collect()
    }

    /// Wants no more, and stands in nobody's way.
    pub(super) fn leave(&mut self) {
        self.limit.change(|places| places.leave(self.member, false));
    }
}

impl Drop for Permits {
    fn drop(&mut self) {
        self.limit.change(|places| places.leave(self.member, true));
    }
}
