//! Everything the server knows, behind one lock.
//!
//! A request holds the lock from its first look to its commit: requests have a total order, and
//! sequence numbers, revisions and identifiers are drawn in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;

use crate::access::{Claims, Guard, Identity};
use crate::clock::{Clock, Identifiers, instant, seconds};
use crate::controllers::Work;
use crate::controllers::definition::{self, Known};
use crate::controllers::workloads::Simulation;
use crate::registry::{Registry, Resource, convert};
use crate::storage::{Compacted, Limits, Store, Stored};

/// The server's state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) ids: Identifiers,
    /// What the controllers inside have to look at.
    pub(crate) work: Work,
    /// What becomes of Pods, if somebody simulates that.
    pub(crate) simulation: Simulation,
    /// What is known of definitions, by name.
    pub(crate) definitions: BTreeMap<String, Known>,
    /// Who may do what; follows every write of a role or binding.
    pub(crate) guard: Guard,
    /// The certificate of the server's CA, for pods that would talk to it.
    pub(crate) ca: String,
    /// New definitions are not established.
    pub(crate) holds_definitions: bool,
    /// Pods run as service accounts, which every namespace has.
    pub(crate) accounts: bool,
    /// Wakes the watchers of a collection, in the order in which they wait.
    heads: BTreeMap<Arc<str>, Arc<Notify>>,
    /// With so many traces of collections it is time to look which are of no use any more.
    tidy_at: usize,
}

/// So many traces are no burden.
const FEW_TRACES: usize = 256;

impl State {
    pub(crate) fn new(clock: Clock, seed: u64, limits: Limits, guard: Guard) -> Self {
        Self {
            // Revisions below count as compacted, as on a server that has run for a while.
            store: Store::new(100, limits),
            registry: Registry::new(),
            clock,
            ids: Identifiers::seeded(seed),
            work: Work::default(),
            simulation: Simulation::new(None, instant()),
            definitions: BTreeMap::new(),
            guard,
            ca: String::new(),
            holds_definitions: false,
            accounts: false,
            heads: BTreeMap::new(),
            tidy_at: FEW_TRACES,
        }
    }

    /// The present, as metadata carries it.
    pub(crate) fn now(&self) -> String {
        seconds(self.clock.now())
    }

    pub(crate) fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Arc<Stored>> {
        self.store
            .get(&resource.collection, &resource.key(namespace, name))
            .cloned()
    }

    /// Commits an object.
    ///
    /// A custom resource written through another version than the stored one loses what only that
    /// version knows.
    pub(crate) fn put(&mut self, resource: &Resource, key: &str, mut object: Value) -> Arc<Stored> {
        convert::to_storage(resource, &mut object);
        if let Some(custom) = resource.other_version() {
            custom.storage_schema.prune(&mut object);
            custom.storage_schema.default(&mut object);
        }
        let stamp = resource.custom.as_ref().map_or(0, |custom| custom.stamp);
        self.put_at(&resource.collection, key, object, stamp)
    }

    /// Commits an object of a collection.
    pub(crate) fn put_at(&mut self, collection: &str, key: &str, object: Value, stamp: u64) -> Arc<Stored> {
        let previous = self.store.get(collection, key).cloned();
        if let Some(resource) = policy_resource(collection) {
            self.guard.policy.put(resource, &object);
        }
        let stored = self.store.put(collection, key, object, stamp);
        self.work
            .changed(collection, key, previous.as_deref(), Some(&stored));
        self.wake(collection);
        if collection == definition::COLLECTION {
            definition::observe(self, key);
        }
        stored
    }

    /// Commits a removal.
    pub(crate) fn remove(&mut self, collection: &str, key: &str) -> Option<Arc<Stored>> {
        let last = self.store.remove(collection, key)?;
        self.simulation.forget(&last.uid);
        if let Some(resource) = policy_resource(collection) {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            self.guard.policy.remove(resource, namespace, name);
        }
        self.work.changed(collection, key, Some(&last), None);
        self.wake(collection);
        if collection == definition::COLLECTION {
            definition::observe(self, key);
        }
        Some(last)
    }

    /// Goes back to the state of a revision; what follows from objects goes back with them.
    pub(crate) fn restore(&mut self, revision: u64) -> Result<(), Compacted> {
        let places = self.store.restore(revision)?;
        for place in &places {
            let (collection, key) = (&*place.collection, &*place.key);
            let now = self.store.get(collection, key).cloned();
            if let Some(resource) = policy_resource(collection) {
                if let Some(object) = &now {
                    self.guard.policy.put(resource, &object.value());
                } else {
                    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
                    self.guard.policy.remove(resource, namespace, name);
                }
            }
            self.work
                .changed(collection, key, place.was.as_deref(), now.as_deref());
            self.wake(collection);
        }
        for place in places {
            if *place.collection == *definition::COLLECTION {
                definition::observe(self, &place.key);
            }
        }
        Ok(())
    }

    /// Definitions are established as they come, or wait until they are let go.
    pub(crate) fn hold_definitions(&mut self, hold: bool) {
        self.holds_definitions = hold;
        if hold {
            return;
        }
        let names: Vec<String> = self
            .store
            .scan(definition::COLLECTION, "")
            .map(|(key, _)| key.to_string())
            .collect();
        for name in names {
            definition::observe(self, &name);
        }
    }

    /// The objects a token speaks for are still there.
    pub(crate) fn holds(&self, claims: &Claims) -> bool {
        let bound = &claims.kubernetes;
        let there = |collection: &str, key: &str, identity: &Identity| {
            let found = self.store.get(collection, key);
            found.is_some_and(|object| *object.uid == *identity.uid)
        };
        let local = |collection: &str, identity: &Identity| {
            there(
                collection,
                &format!("{}/{}", bound.namespace, identity.name),
                identity,
            )
        };
        local("serviceaccounts", &bound.serviceaccount)
            && bound.pod.iter().all(|pod| local("pods", pod))
            && bound.secret.iter().all(|secret| local("secrets", secret))
            && (bound.pod.is_some() || bound.node.iter().all(|node| there("nodes", &node.name, node)))
    }

    /// Serves what a definition says; watches of the former resources look again.
    pub(crate) fn define(&mut self, definition: &str, resources: Vec<Resource>) {
        self.registry.define(definition, resources);
        self.wake_definition(definition);
    }

    /// Stops serving what a definition said.
    pub(crate) fn undefine(&mut self, definition: &str) {
        self.registry.undefine(definition);
        self.wake_definition(definition);
    }

    fn wake_definition(&mut self, definition: &str) {
        if let Some((plural, group)) = definition.split_once('.') {
            self.wake(&format!("{group}/{plural}"));
        }
    }

    fn wake(&mut self, collection: &str) {
        if let Some(head) = self.heads.get(collection) {
            head.notify_waiters();
        }
        if self.traces() >= self.tidy_at {
            self.tidy();
        }
    }

    fn traces(&self) -> usize {
        self.heads.len() + self.store.traces()
    }

    /// Lets go what is kept of collections that nobody watches and of which no event is left. Done so seldom that a write costs the same.
    fn tidy(&mut self) {
        self.heads.retain(|_, head| Arc::strong_count(head) > 1);
        let heads = &self.heads;
        self.store.forget(|collection| heads.contains_key(collection));
        self.tidy_at = FEW_TRACES + 2 * self.traces();
    }

    /// A signal that fires when the collection changes.
    pub(crate) fn subscribe(&mut self, collection: &Arc<str>) -> Arc<Notify> {
        Arc::clone(self.heads.entry(Arc::clone(collection)).or_default())
    }
}

/// The plural name of a collection that makes policy.
fn policy_resource(collection: &str) -> Option<&str> {
    collection
        .strip_prefix(crate::access::RBAC_GROUP)?
        .strip_prefix('/')
}
