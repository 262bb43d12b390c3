//! The shell of one source: carries out what its core orders.

use bytes::Bytes;
use tokio::{sync::watch, time::sleep_until};

use super::{
    SourceStatus, Undecodable,
    core::{Event, ListWatch, Order, Step},
    failure::Failure,
    transport::{Endpoint, Lines, Read},
    wire::{self, Item, Line, Unreadable},
};
use crate::{
    clock,
    object::Object,
    store::{Listing, Reflector},
};

/// Of the objects that cannot be decoded, so many are named in the status.
const MOST_NAMED: usize = 100;

pub(super) struct Driver<'a, T: Object> {
    reflector: &'a Reflector<T>,
    endpoint: &'a Endpoint,
    statuses: &'a watch::Sender<Vec<SourceStatus>>,
    index: usize,
    core: ListWatch,
    rng: fastrand::Rng,
    listing: Listing,
    namespace: Option<String>,
}

impl<'a, T: Object> Driver<'a, T> {
    pub(super) fn new(
        reflector: &'a Reflector<T>,
        endpoint: &'a Endpoint,
        statuses: &'a watch::Sender<Vec<SourceStatus>>,
        index: usize,
    ) -> Self {
        let namespace = statuses.borrow()[index].source.namespace.clone();
        Self {
            reflector,
            endpoint,
            statuses,
            index,
            core: ListWatch::new(&endpoint.config, clock::now()),
            rng: clock::rng(None),
            listing: reflector.begin_list(),
            namespace,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            let order = self.core.order(clock::now());
            match order {
                Order::Wait(until) => sleep_until(until).await,
                Order::List { token, paged } => {
                    if token.is_none() {
                        self.listing = self.reflector.begin_list();
                    }
                    let answer = self.endpoint.list(token, paged).await;
                    self.page(answer);
                }
                Order::Stream => {
                    self.listing = self.reflector.begin_list();
                    let lines = self.endpoint.watch(None).await;
                    self.follow(lines).await;
                }
                Order::Watch { revision } => {
                    let lines = self.endpoint.watch(Some(revision)).await;
                    self.follow(lines).await;
                }
            }
            self.publish();
        }
    }

    fn page(&mut self, answer: Result<Bytes, Failure>) {
        let head = answer.and_then(|text| {
            wire::page(&text, &self.endpoint.config.pruning, |item| self.listed(item))
                .map_err(|error| Failure::Malformed(error.to_string()))
        });
        let revision = |head: &wire::ListHead| head.resource_version.clone().filter(|text| !text.is_empty());
        match head {
            Ok(head) => match revision(&head) {
                Some(revision) => {
                    if self.core.page(clock::now(), &revision, head.token.as_deref()) {
                        self.synced();
                    }
                }
                None => self.failed(&Failure::Malformed("a list without a resourceVersion".into())),
            },
            Err(failure) => self.failed(&failure),
        }
    }

    async fn follow(&mut self, lines: Result<Lines, Failure>) {
        let mut lines = match lines {
            Ok(lines) => lines,
            Err(failure) => return self.failed(&failure),
        };
        self.core.opened(clock::now());
        self.publish();
        loop {
            match lines.next(self.core.silence_limit()).await {
                Read::Line(text) => {
                    if !self.line(&text) {
                        return;
                    }
                }
                Read::End => return self.core.ended(clock::now(), &mut self.rng),
                Read::Silent => return self.core.silent(clock::now(), &mut self.rng),
                Read::Broken(failure) => return self.failed(&failure),
            }
        }
    }

    /// Takes a line of the watch; false when the watch is to be closed.
    fn line(&mut self, text: &[u8]) -> bool {
        let line = match wire::line::<T>(text, &self.endpoint.config.pruning) {
            Ok(line) => line,
            Err(error) => {
                self.failed(&Failure::Malformed(error.to_string()));
                return false;
            }
        };
        let now = clock::now();
        match line {
            Line::Change(event, item) => {
                let step = {
                    let at = revision_of(&item);
                    self.core.event(now, &mut self.rng, event, at)
                };
                match step {
                    Step::Close => return false,
                    Step::List if event == Event::Put => self.listed(item),
                    Step::List => self.change(event, item),
                    Step::Take => {
                        self.change(event, item);
                        self.passed(false);
                    }
                    Step::Pass | Step::Synced => {}
                }
            }
            Line::Bookmark { revision, end } => {
                let event = Event::Bookmark { end };
                match self.core.event(now, &mut self.rng, event, Some(&revision)) {
                    Step::Close => return false,
                    Step::Synced => {
                        self.synced();
                        self.publish();
                    }
                    Step::List | Step::Take | Step::Pass => self.passed(true),
                }
            }
            Line::Error(status) => {
                self.failed(&Failure::Refused {
                    status,
                    retry_after: None,
                });
                return false;
            }
            Line::Unknown(kind) => {
                tracing::debug!(event = kind, "an unknown kind of watch event was passed over");
            }
        }
        true
    }

    fn change(&mut self, event: Event, item: Item<T>) {
        match (event, item) {
            (Event::Delete, item) => {
                let (namespace, name) = names_of(&item);
                if let Some(name) = name {
                    self.reflector.delete(namespace, name);
                }
            }
            (_, Item::Object(object)) => self.reflector.apply(object, self.listing),
            (_, Item::Unreadable(unreadable)) => self.unreadable(unreadable),
        }
    }

    fn listed(&mut self, item: Item<T>) {
        match item {
            Item::Object(object) => self.reflector.listed(object, self.listing),
            Item::Unreadable(unreadable) => self.unreadable(unreadable),
        }
    }

    fn unreadable(&mut self, unreadable: Unreadable) {
        let Unreadable { identity, message } = unreadable;
        let name = identity.name.unwrap_or_default();
        self.reflector
            .listed_unreadable(identity.namespace.as_deref(), &name, self.listing);
        tracing::warn!(
            namespace = identity.namespace,
            name,
            uid = identity.uid,
            message,
            "an object could not be decoded; its old copy is kept"
        );
        let note = Undecodable {
            uid: identity.uid,
            resource_version: identity.resource_version,
            message,
        };
        self.statuses.send_modify(|all| {
            let known = &mut all[self.index].undecodable;
            let key = (identity.namespace, name);
            if known.len() < MOST_NAMED || known.contains_key(&key) {
                known.insert(key, note);
            }
        });
    }

    fn synced(&mut self) {
        self.reflector.end_list(self.listing, self.namespace.as_deref());
        self.passed(true);
        let others = self
            .statuses
            .borrow()
            .iter()
            .enumerate()
            .all(|(index, status)| index == self.index || status.synced);
        if others {
            self.reflector.set_synced();
        }
        self.statuses.send_if_modified(|all| {
            let first = !all[self.index].synced;
            all[self.index].synced = true;
            first
        });
    }

    /// Everything up to the revision of the watch is in the store.
    fn passed(&self, at_rest: bool) {
        if let Some(revision) = self.core.revision() {
            self.reflector
                .passed(self.namespace.as_deref(), revision, at_rest);
        }
    }

    fn failed(&mut self, failure: &Failure) {
        self.core.failed(clock::now(), &mut self.rng, failure);
    }

    fn publish(&self) {
        self.statuses.send_if_modified(|all| {
            let status = &mut all[self.index];
            let changed = status.phase != self.core.phase() || status.problem.as_ref() != self.core.problem();
            if status.phase != self.core.phase() {
                status.since = clock::now();
            }
            status.phase = self.core.phase();
            status.problem = self.core.problem().cloned();
            changed
        });
    }
}

fn names_of<T: Object>(item: &Item<T>) -> (Option<&str>, Option<&str>) {
    match item {
        Item::Object(object) => (object.meta().namespace.as_deref(), object.meta().name.as_deref()),
        Item::Unreadable(unreadable) => (
            unreadable.identity.namespace.as_deref(),
            unreadable.identity.name.as_deref(),
        ),
    }
}

fn revision_of<T: Object>(item: &Item<T>) -> Option<&str> {
    match item {
        Item::Object(object) => object.meta().resource_version.as_deref(),
        Item::Unreadable(unreadable) => unreadable.identity.resource_version.as_deref(),
    }
}
