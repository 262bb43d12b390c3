//! The shell of one source: carries out what its core orders.

use std::sync::Arc;

use bytes::Bytes;
use kube::core::TypeMeta;
use tokio::{sync::watch, task::coop::consume_budget, time::sleep_until};

use super::{
    Problem, SourceStatus,
    core::{Event, ListWatch, Order, Step},
    failure::Failure,
    transport::{Endpoint, Lines, Read},
    unreadable::Collection,
    wire::{self, Decoder, Item, Line, Unreadable},
};
use crate::{
    clock,
    object::Object,
    store::{Listing, Reflector},
};

pub(super) struct Driver<'a, T: Object> {
    reflector: &'a Reflector<T>,
    endpoint: &'a Endpoint,
    statuses: &'a watch::Sender<Vec<SourceStatus>>,
    index: usize,
    core: ListWatch,
    rng: fastrand::Rng,
    listing: Listing,
    namespace: Option<String>,
    decoder: Decoder,
    unreadable: Collection,
}

impl<'a, T: Object> Driver<'a, T> {
    pub(super) fn new(
        reflector: &'a Reflector<T>,
        endpoint: &'a Endpoint,
        statuses: &'a watch::Sender<Vec<SourceStatus>>,
        index: usize,
    ) -> Self {
        let source = Arc::clone(&statuses.borrow()[index].source);
        let decoder = Decoder {
            pruning: endpoint.config.pruning.clone(),
            confidential: source.group.is_empty() && source.kind == "Secret",
            types: TypeMeta {
                api_version: source.api_version(),
                kind: source.kind.clone(),
            },
        };
        Self {
            reflector,
            endpoint,
            statuses,
            index,
            core: ListWatch::new(&endpoint.config, clock::now()),
            // Sources of one seed still differ from each other.
            rng: clock::rng(endpoint.config.seed.map(|seed| seed.wrapping_add(index as u64))),
            listing: reflector.begin_list(),
            namespace: source.namespace.clone(),
            decoder,
            unreadable: Collection::default(),
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            let order = self.core.order(clock::now(), &mut self.rng);
            match order {
                Order::Wait(until) => sleep_until(until).await,
                Order::List { token, paged } => {
                    if token.is_none() {
                        self.listing = self.reflector.begin_list();
                    }
                    let answer = self.endpoint.list(token, paged).await;
                    if let Err(failure) = self.page(answer).await {
                        self.failed(&failure);
                    }
                }
                Order::Watch {
                    revision,
                    seconds,
                    doubted,
                } => {
                    if revision.is_none() {
                        self.listing = self.reflector.begin_list();
                    }
                    let lines = match revision.filter(|_| doubted) {
                        Some(revision) => self.endpoint.resume(revision, seconds).await,
                        None => self.endpoint.watch(revision, seconds).await,
                    };
                    self.follow(lines).await;
                }
            }
            self.publish();
        }
    }

    async fn page(&mut self, answer: Result<Bytes, Failure>) -> Result<(), Failure> {
        let text = answer?;
        let malformed = |error: serde_json::Error| Failure::Malformed(error.to_string());
        let (head, items) = wire::page(&text).map_err(malformed)?;
        let revision = head.resource_version.filter(|revision| !revision.is_empty());
        let Some(revision) = revision else {
            return Err(Failure::Malformed("a list without a resourceVersion".to_owned()));
        };
        for raw in items {
            // A page is decoded in one go otherwise, and on one thread nothing else would run.
            consume_budget().await;
            let item = self.decoder.item(raw);
            self.listed(item);
        }
        if self.core.page(clock::now(), &revision, head.token.as_deref()) {
            self.synced();
        }
        Ok(())
    }

    async fn follow(&mut self, lines: Result<Lines, Failure>) {
        let mut lines = match lines {
            Ok(lines) => lines,
            Err(failure) => return self.failed(&failure),
        };
        self.core.opened(clock::now());
        self.publish();
        loop {
            match lines.next(self.core.silence_limit(clock::now())).await {
                Read::Line(text) => {
                    consume_budget().await;
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
        let line = match self.decoder.line::<T>(text) {
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
                self.unreadable.readable(namespace, name);
                self.reflector.delete(namespace, name);
            }
            (_, Item::Object(object)) => {
                self.readable(&object);
                self.reflector.apply(object, self.listing);
            }
            (_, Item::Unreadable(unreadable)) => self.keep_old(unreadable),
        }
        self.publish_unreadable();
    }

    fn listed(&mut self, item: Item<T>) {
        match item {
            Item::Object(object) => {
                self.readable(&object);
                self.reflector.listed(object, self.listing);
            }
            Item::Unreadable(unreadable) => self.keep_old(unreadable),
        }
    }

    fn readable(&mut self, object: &T) {
        let meta = object.meta();
        let name = meta.name.as_deref().unwrap_or_default();
        self.unreadable.readable(meta.namespace.as_deref(), name);
    }

    fn keep_old(&mut self, unreadable: Unreadable) {
        let Unreadable { identity, message } = unreadable;
        let (namespace, uid) = (identity.namespace.as_deref(), identity.uid.as_deref());
        let name = identity.name.as_deref().unwrap_or_default();
        self.reflector.unreadable(namespace, name, uid, self.listing);
        if self
            .unreadable
            .add(identity.clone(), message.clone(), self.listing)
        {
            tracing::warn!(
                kind = self.decoder.types.kind,
                object.namespace = namespace,
                object.name = name,
                object.uid = uid,
                message,
                "an object could not be decoded; the copy before it is kept, and it is taken again when it changes"
            );
        }
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
        self.unreadable.end_list(self.listing);
        self.publish_unreadable();
        self.statuses.send_modify(|all| {
            let status = &mut all[self.index];
            status.relists += u64::from(status.synced);
            status.synced = true;
        });
    }

    fn publish_unreadable(&mut self) {
        if self.unreadable.take_changed() {
            let known = self.unreadable.all();
            self.statuses
                .send_modify(|all| all[self.index].undecodable = known);
        }
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
            log_change(status, self.core.problem());
            if status.phase != self.core.phase() {
                status.since = clock::now();
            }
            status.phase = self.core.phase();
            status.problem = self.core.problem().cloned();
            changed
        });
    }
}

/// Says once that a source fails, until it recovers or the reason changes.
fn log_change(before: &SourceStatus, now: Option<&Problem>) {
    let source = &before.source;
    match (&before.problem, now) {
        (Some(before), Some(now)) if before.message == now.message => {}
        (_, Some(now)) => {
            tracing::warn!(%source, verb = %now.verb, problem = now.message, "a source fails; it is tried again");
        }
        (Some(_), None) => tracing::info!(%source, "a source has recovered"),
        (None, None) => {}
    }
}

fn names_of<T: Object>(item: &Item<T>) -> (Option<&str>, &str) {
    let (namespace, name) = match item {
        Item::Object(object) => (&object.meta().namespace, &object.meta().name),
        Item::Unreadable(unreadable) => (&unreadable.identity.namespace, &unreadable.identity.name),
    };
    (namespace.as_deref(), name.as_deref().unwrap_or_default())
}

fn revision_of<T: Object>(item: &Item<T>) -> Option<&str> {
    match item {
        Item::Object(object) => object.meta().resource_version.as_deref(),
        Item::Unreadable(unreadable) => unreadable.identity.resource_version.as_deref(),
    }
}
