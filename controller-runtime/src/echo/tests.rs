//! Own writes against a simple model of a server, a watch that lags, and keys that run.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use proptest::prelude::*;

use super::{
    Overlay,
    echoes::{Echoes, Version},
};
use crate::{
    clock::{self, Instant},
    store::Reflector,
};

const KEYS: usize = 3;

/// One step of the world around the record.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A run of this key begins.
    Start(usize),
    /// This key, if it runs, writes; the response comes or is lost.
    Write(usize, bool),
    /// Somebody else writes.
    Foreign,
    /// The watch delivers the next change to every key.
    Deliver,
    /// The run of this key is over.
    Finish(usize),
    /// Time passes.
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..KEYS).prop_map(Step::Start),
        3 => (0..KEYS, prop::bool::weighted(0.9)).prop_map(|(key, answered)| Step::Write(key, answered)),
        2 => Just(Step::Foreign),
        4 => Just(Step::Deliver),
        2 => (0..KEYS).prop_map(Step::Finish),
        1 => (0..40_u64).prop_map(Step::Wait),
    ]
}

#[derive(Default)]
struct World {
    running: BTreeSet<usize>,
    /// Every change: who wrote it and knows so, and when.
    changes: Vec<(Option<usize>, u64)>,
    undelivered: VecDeque<usize>,
    now: u64,
    /// Which change woke which key.
    woken: BTreeSet<(usize, usize)>,
    /// When each change was delivered.
    delivered: BTreeMap<usize, u64>,
}

fn version(change: usize) -> Version {
    Version::At("uid".into(), change.to_string())
}

fn run(steps: &[Step]) -> (World, Echoes<usize, usize>) {
    let begin = clock::now();
    let at = |world: &World| begin + Duration::from_secs(world.now);
    let (mut world, mut echoes) = (World::default(), Echoes::new());
    let finish = |world: &mut World, echoes: &mut Echoes<usize, usize>, key: usize, now: Instant| {
        if world.running.remove(&key) {
            world.woken.extend(
                echoes
                    .finished(&key, now)
                    .into_iter()
                    .map(|(_, change)| (key, change)),
            );
        }
    };
    let deliver = |world: &mut World, echoes: &mut Echoes<usize, usize>, now: Instant| {
        let Some(change) = world.undelivered.pop_front() else {
            return;
        };
        world.delivered.insert(change, world.now);
        for key in 0..KEYS {
            if let Some(change) = echoes.admit(&key, version(change), change, now) {
                world.woken.insert((key, change));
            }
        }
    };
    for &step in steps {
        let now = at(&world);
        match step {
            Step::Start(key) if world.running.insert(key) => echoes.started(key),
            Step::Write(key, answered) if world.running.contains(&key) => {
                let change = world.changes.len();
                world.changes.push((answered.then_some(key), world.now));
                world.undelivered.push_back(change);
                if answered {
                    echoes.wrote(key, version(change), now);
                }
            }
            Step::Foreign => {
                world.undelivered.push_back(world.changes.len());
                world.changes.push((None, world.now));
            }
            Step::Deliver => deliver(&mut world, &mut echoes, now),
            Step::Finish(key) => finish(&mut world, &mut echoes, key, now),
            Step::Wait(seconds) => world.now += seconds,
            Step::Start(_) | Step::Write(..) => {}
        }
    }
    let now = at(&world);
    while !world.undelivered.is_empty() {
        deliver(&mut world, &mut echoes, now);
    }
    for key in 0..KEYS {
        finish(&mut world, &mut echoes, key, now);
    }
    (world, echoes)
}

proptest! {
    /// No change of somebody else is lost; no own write that was answered wakes its key while it is remembered.
    #[test]
    fn a_key_wakes_for_all_changes_but_its_own(steps in prop::collection::vec(step(), 0..120)) {
        let (world, _) = run(&steps);
        for (change, (writer, written)) in world.changes.iter().enumerate() {
            for key in 0..KEYS {
                let woken = world.woken.contains(&(key, change));
                if *writer != Some(key) {
                    prop_assert!(woken, "change {} of {:?} was lost for key {}", change, writer, key);
                } else if world.now - written <= 60 {
                    prop_assert!(!woken, "key {} woke for its own change {}", key, change);
                }
            }
        }
    }

    /// What is remembered goes, whatever happened.
    #[test]
    fn memory_returns_to_nothing(steps in prop::collection::vec(step(), 0..120)) {
        let (world, mut echoes) = run(&steps);
        let later = clock::now() + Duration::from_secs(world.now + 3600);
        echoes.finished(&0, later);
        prop_assert_eq!(echoes.remembered(), 0);
    }
}

#[test]
fn a_flood_of_changes_is_not_held_without_limit_and_none_is_lost() {
    let now = clock::now();
    let mut echoes = Echoes::new();
    echoes.started("key");
    let mut out = Vec::new();
    for change in 0..10_000 {
        out.extend(echoes.admit(&"key", version(change), change, now));
    }
    assert!(out.len() > 9_900, "{}", out.len());
    out.extend(echoes.finished(&"key", now).into_iter().map(|(_, change)| change));
    assert_eq!(out, (0..10_000).collect::<Vec<_>>());
}

#[test]
fn a_flood_of_writes_is_not_remembered_without_limit() {
    let now = clock::now();
    let mut echoes = Echoes::<_, ()>::new();
    for change in 0..250_000 {
        echoes.wrote("key", version(change), now);
    }
    assert!(echoes.remembered() <= 100_000);
}

fn config_map(name: &str, uid: u64, revision: u64) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("a".into()),
            uid: Some(uid.to_string()),
            resource_version: Some(revision.to_string()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// One step of a server, its watch, and a controller that writes.
#[derive(Clone, Copy, Debug)]
enum Act {
    Write { name: usize, own: bool },
    Delete { name: usize, own: bool },
    Deliver,
    Bookmark,
    Relist,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..3_usize, any::<bool>()).prop_map(|(name, own)| Act::Write { name, own }),
        2 => (0..3_usize, any::<bool>()).prop_map(|(name, own)| Act::Delete { name, own }),
        5 => Just(Act::Deliver),
        1 => Just(Act::Bookmark),
        1 => Just(Act::Relist),
    ]
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a test holds few")]
enum Event {
    Put(ConfigMap),
    Gone(usize, u64),
}

struct Cluster {
    revision: u64,
    live: BTreeMap<usize, ConfigMap>,
    undelivered: VecDeque<Event>,
    reflector: Reflector<ConfigMap>,
    store: crate::store::Store<ConfigMap>,
    overlay: Overlay<ConfigMap>,
    /// Revision of the last own write or deletion of each name.
    own: BTreeMap<usize, u64>,
}

const NAMES: [&str; 3] = ["x", "y", "z"];

impl Cluster {
    fn new() -> Self {
        let reflector = Reflector::new(());
        reflector.end_list(reflector.begin_list(), None);
        reflector.set_synced();
        let overlay = Overlay::new();
        let store = reflector.store().with_overlay(&overlay);
        Self {
            revision: 1,
            live: BTreeMap::new(),
            undelivered: VecDeque::new(),
            reflector,
            store,
            overlay,
            own: BTreeMap::new(),
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Write { name, own } => {
                self.revision += 1;
                let uid = self
                    .live
                    .get(&name)
                    .and_then(|it| it.metadata.uid.clone()?.parse().ok());
                let object = config_map(NAMES[name], uid.unwrap_or(self.revision), self.revision);
                self.live.insert(name, object.clone());
                self.undelivered.push_back(Event::Put(object.clone()));
                if own {
                    self.own.insert(name, self.revision);
                    self.store.wrote(Arc::new(object));
                }
            }
            Act::Delete { name, own } => {
                if let Some(object) = self.live.remove(&name) {
                    self.revision += 1;
                    self.undelivered.push_back(Event::Gone(name, self.revision));
                    if own {
                        self.own.insert(name, self.revision);
                        self.store.deleted(&object);
                    }
                }
            }
            Act::Deliver => {
                let listing = self.reflector.begin_list();
                match self.undelivered.pop_front() {
                    Some(Event::Put(object)) => {
                        let revision = object.metadata.resource_version.clone().unwrap();
                        self.reflector.apply(object, listing);
                        self.reflector.passed(None, &revision, false);
                    }
                    Some(Event::Gone(name, revision)) => {
                        self.reflector.delete(Some("a"), NAMES[name]);
                        self.reflector.passed(None, &revision.to_string(), false);
                    }
                    None => {}
                }
            }
            Act::Bookmark if self.undelivered.is_empty() => {
                self.reflector.passed(None, &self.revision.to_string(), true);
            }
            Act::Relist => {
                self.undelivered.clear();
                let listing = self.reflector.begin_list();
                for object in self.live.values() {
                    self.reflector.listed(object.clone(), listing);
                }
                self.reflector.end_list(listing, None);
                self.reflector.passed(None, &self.revision.to_string(), true);
            }
            Act::Bookmark => {}
        }
    }

    fn revision_read(&self, name: usize) -> Option<u64> {
        let object = self.store.get(("a", NAMES[name]))?;
        object.metadata.resource_version.as_ref()?.parse().ok()
    }
}

proptest! {
    /// kubernetes-sigs/controller-runtime#1464: a reconcile that acts on a copy older than its own last write.
    #[test]
    fn a_reader_never_sees_less_than_its_own_last_write(acts in prop::collection::vec(act(), 0..80)) {
        let mut cluster = Cluster::new();
        for act in acts {
            cluster.act(act);
            for (name, written) in &cluster.own {
                let read = cluster.revision_read(*name);
                // What is not there was deleted at or after the write, or the write was a deletion.
                let gone_since = !cluster.live.contains_key(name)
                    || cluster.live[name].metadata.uid.as_ref().is_some_and(|uid| uid.parse::<u64>().unwrap() > *written);
                prop_assert!(read.is_some_and(|read| read >= *written) || (read.is_none() && gone_since),
                    "{}: read {:?} after writing {}", NAMES[*name], read, written);
            }
            let listed: BTreeSet<_> = cluster.store.snapshot().iter().map(|it| it.metadata.name.clone().unwrap()).collect();
            let found: BTreeSet<_> = NAMES.iter().filter(|name| cluster.store.get(("a", **name)).is_some()).map(|name| (*name).to_owned()).collect();
            prop_assert_eq!(listed, found, "a snapshot and single reads agree");
        }
        while !cluster.undelivered.is_empty() {
            cluster.act(Act::Deliver);
        }
        for name in 0..NAMES.len() {
            let truth = cluster.live.get(&name).and_then(|it| it.metadata.resource_version.clone());
            prop_assert_eq!(cluster.revision_read(name).map(|it| it.to_string()), truth);
        }
        prop_assert_eq!(cluster.overlay.len(), 0, "nothing is held when the watch is level");
    }
}

#[test]
fn what_the_selector_excludes_is_held_until_the_watch_has_passed_it() {
    let mut cluster = Cluster::new();
    cluster.store.wrote(Arc::new(config_map("excluded", 5, 5)));
    assert!(cluster.store.get(("a", "excluded")).is_some());
    cluster.revision = 7;
    cluster.act(Act::Bookmark);
    assert_eq!(cluster.overlay.len(), 0);
    assert!(cluster.store.get(("a", "excluded")).is_none());
}

#[test]
fn indexes_are_read_through_the_answers_too() {
    let mut cluster = Cluster::new();
    cluster
        .store
        .add_index("name", |object: &ConfigMap| object.metadata.name.clone());
    let found = |cluster: &Cluster| cluster.store.indexed("name", "x").unwrap().len();
    cluster.act(Act::Write { name: 0, own: true });
    assert_eq!(found(&cluster), 1, "written, not delivered");
    cluster.act(Act::Deliver);
    assert_eq!(found(&cluster), 1, "delivered");
    cluster.act(Act::Delete { name: 0, own: true });
    assert_eq!(found(&cluster), 0, "deleted, not delivered");
    assert!(cluster.store.indexed("nothing", "x").is_none());
}

#[test]
fn another_handle_of_the_same_store_shows_what_the_watch_delivered() {
    let mut cluster = Cluster::new();
    cluster.act(Act::Write { name: 0, own: true });
    assert!(cluster.reflector.store().get(("a", "x")).is_none());
    assert_eq!((cluster.store.len(), cluster.reflector.store().len()), (1, 0));
}

/// A server that was restored from a backup: a write that was answered before never was.
#[test]
fn what_a_restored_server_has_lost_is_not_read() {
    let mut cluster = Cluster::new();
    cluster.revision = 50;
    cluster.act(Act::Bookmark);
    cluster.act(Act::Write { name: 0, own: true });
    assert_eq!(cluster.revision_read(0), Some(51));
    (cluster.revision, cluster.live) = (10, BTreeMap::new());
    cluster.act(Act::Relist);
    assert_eq!((cluster.revision_read(0), cluster.overlay.len()), (None, 0));
}
