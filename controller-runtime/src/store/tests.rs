//! Stores against a simple model: whatever is written, readers, indexes and subscribers agree.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{Resource, api::ObjectMeta};
use proptest::prelude::*;

use super::*;
use crate::{object::ObjectRef, uid::Uid};

/// Namespace, name.
type Name = (&'static str, &'static str);
/// uid, resourceVersion, value of the index.
type State = (u8, u32, u8);
type Model = BTreeMap<Name, State>;

const NAMES: [Name; 6] = [
    ("a", "x"),
    ("a", "y"),
    ("a", "z"),
    ("b", "x"),
    ("b", "y"),
    ("b", "z"),
];

fn object(name: Name, (uid, version, value): State) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            namespace: Some(name.0.into()),
            name: Some(name.1.into()),
            uid: Some(format!("{}/{}/{uid}", name.0, name.1)),
            resource_version: Some(version.to_string()),
            labels: Some([("value".into(), value.to_string())].into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn value(object: &ConfigMap) -> Option<String> {
    object.metadata.labels.as_ref()?.get("value").cloned()
}

#[derive(Clone, Debug)]
enum Op {
    /// The watch tells of an object.
    Put(usize, u8, u8),
    Delete(usize),
    /// A list: of each object whether it is there, and whether it has changed meanwhile. Of one namespace, or of all.
    List(Vec<(bool, bool)>, Option<bool>),
    /// A list that breaks off.
    Half(Vec<(bool, bool)>),
    /// An object whose uid is (or is not) the known one could not be decoded.
    Unreadable(usize, bool),
    Subscribe,
}

fn op() -> impl Strategy<Value = Op> {
    let list = || prop::collection::vec((any::<bool>(), any::<bool>()), NAMES.len());
    prop_oneof![
        4 => (0..NAMES.len(), 0..2_u8, 0..3_u8).prop_map(|(name, uid, value)| Op::Put(name, uid, value)),
        3 => (0..NAMES.len()).prop_map(Op::Delete),
        2 => (list(), prop::option::of(any::<bool>())).prop_map(|(list, namespace)| Op::List(list, namespace)),
        1 => list().prop_map(Op::Half),
        1 => (0..NAMES.len(), any::<bool>()).prop_map(|(name, known)| Op::Unreadable(name, known)),
        1 => Just(Op::Subscribe),
    ]
}

struct World {
    reflector: Reflector<ConfigMap>,
    model: Model,
    version: u32,
    folds: Vec<(Arc<Mutex<Fold>>, Subscription)>,
}

/// What a subscriber makes of the deltas.
#[derive(Default)]
struct Fold {
    objects: BTreeMap<(String, String), Arc<ConfigMap>>,
    faults: Vec<String>,
}

impl Fold {
    fn add(&mut self, delta: &Delta<ConfigMap>) {
        let key = (delta.key.namespace.clone().unwrap(), delta.key.name.clone());
        let known = self.objects.get(&key);
        let same = match (known, &delta.old) {
            (Some(known), Some(old)) => Arc::ptr_eq(known, old),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.faults
                .push(format!("{key:?}: old is not what was told before"));
        }
        match &delta.new {
            Some(new) => self.objects.insert(key, Arc::clone(new)),
            None => self.objects.remove(&key),
        };
    }
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            reflector: Reflector::new(()),
            model: Model::new(),
            version: 0,
            folds: Vec::new(),
        };
        world.reflector.store().add_index("value", value);
        world.subscribe();
        world.reflector.end_list(world.reflector.begin_list(), None);
        world.reflector.set_synced();
        world
    }

    fn subscribe(&mut self) {
        let fold = Arc::new(Mutex::new(Fold::default()));
        let heard = Arc::clone(&fold);
        let subscription = self
            .reflector
            .subscribe(move |delta| heard.lock().unwrap().add(delta));
        self.folds.push((fold, subscription));
    }

    /// The next state of an object, as a list finds it.
    fn found(&mut self, name: Name, changed: bool) -> State {
        self.version += 1;
        let fresh = (0, self.version, 0);
        match self.model.get(&name) {
            Some(known) if !changed => *known,
            Some((uid, _, value)) => (*uid, self.version, *value),
            None => fresh,
        }
    }

    fn list(&mut self, found: &[(bool, bool)], only: Option<&str>) -> Listing {
        let listing = self.reflector.begin_list();
        for (name, (there, changed)) in NAMES.into_iter().zip(found) {
            if *there && only.is_none_or(|only| only == name.0) {
                let state = self.found(name, *changed);
                self.model.insert(name, state);
                self.reflector.listed(object(name, state), listing);
            }
        }
        listing
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Put(name, uid, value) => {
                self.version += 1;
                let state = (*uid, self.version, *value);
                self.model.insert(NAMES[*name], state);
                let listing = self.reflector.begin_list();
                self.reflector.apply(object(NAMES[*name], state), listing);
            }
            Op::Delete(name) => {
                let (namespace, name) = NAMES[*name];
                self.model.remove(&(namespace, name));
                self.reflector.delete(Some(namespace), name);
            }
            Op::List(found, only) => {
                let only = only.map(|first| if first { "a" } else { "b" });
                let listing = self.list(found, only);
                self.reflector.end_list(listing, only);
                let there: BTreeSet<_> = NAMES
                    .into_iter()
                    .zip(found)
                    .filter(|(_, (there, _))| *there)
                    .map(|(name, _)| name)
                    .collect();
                self.model
                    .retain(|name, _| there.contains(name) || only.is_some_and(|only| only != name.0));
            }
            Op::Half(found) => {
                self.list(found, None);
            }
            Op::Unreadable(name, known) => {
                let name = NAMES[*name];
                let state = self.model.get(&name).copied().unwrap_or_default();
                let uid = object(name, state)
                    .metadata
                    .uid
                    .filter(|_| *known)
                    .unwrap_or("other".into());
                let listing = self.reflector.begin_list();
                self.reflector
                    .unreadable(Some(name.0), name.1, Some(&uid), listing);
                if !known {
                    self.model.remove(&name);
                }
            }
            Op::Subscribe => self.subscribe(),
        }
    }

    /// Looks for every object from where it was found last, however long ago.
    fn look_again(&self, seats: &mut BTreeMap<Name, Seat>) -> Result<(), TestCaseError> {
        let store = self.reflector.store();
        for name in NAMES {
            let key = ObjectRef::new(name.1).within(name.0);
            let seated = seats
                .get(&name)
                .and_then(|seat| Cache::find_seated(&store, *seat));
            let found = seated.or_else(|| Cache::find_seat(&store, &key));
            let expected = store.get(name);
            prop_assert_eq!(found.as_ref().map(|found| &found.object), expected.as_ref());
            if let Some(found) = found {
                let uid = found.object.metadata.uid.as_deref().map(Uid::of);
                prop_assert_eq!(found.uid, uid);
                seats.extend(found.seat.map(|seat| (name, seat)));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let store = self.reflector.store();
        prop_assert_eq!(store.len(), self.model.len());
        for name in NAMES {
            let expected = self.model.get(&name).map(|state| object(name, *state));
            prop_assert_eq!(store.get(name).map(|it| (*it).clone()), expected.clone());
            prop_assert_eq!(
                store.within(name.0).get(name.1).map(|it| (*it).clone()),
                expected.clone()
            );
            let key = ObjectRef::<ConfigMap>::new(name.1).within(name.0);
            prop_assert_eq!(store.get(&key).is_some(), expected.is_some());
            for uid in 0..2 {
                let uid = object(name, (uid, 0, 0)).metadata.uid.unwrap();
                let found = store.get_uid(&uid).is_some();
                prop_assert_eq!(
                    found,
                    expected
                        .as_ref()
                        .is_some_and(|it| it.metadata.uid.as_ref() == Some(&uid))
                );
            }
        }
        for wanted in 0..3_u8 {
            let found = store.indexed("value", &wanted.to_string()).unwrap();
            let found: BTreeSet<_> = found.iter().map(|it| it.metadata.uid.clone()).collect();
            let having = self.model.iter().filter(|(_, (_, _, value))| *value == wanted);
            let expected: BTreeSet<_> = having
                .map(|(name, state)| object(*name, *state).metadata.uid)
                .collect();
            prop_assert_eq!(found, expected);
        }
        for (fold, _) in &self.folds {
            let fold = fold.lock().unwrap();
            prop_assert_eq!(&fold.faults, &Vec::<String>::new());
            let snapshot = store.snapshot();
            prop_assert_eq!(fold.objects.len(), snapshot.len());
            prop_assert!(
                snapshot
                    .iter()
                    .all(|object| fold.objects.values().any(|told| Arc::ptr_eq(told, object)))
            );
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn readers_indexes_and_subscribers_agree_after_every_step(ops in prop::collection::vec(op(), 0..50)) {
        let (mut world, mut seats) = (World::new(), BTreeMap::new());
        for op in &ops {
            world.step(op);
            world.check()?;
            world.look_again(&mut seats)?;
        }
    }
}

/// A relist of what is there already is silent.
#[test]
fn a_list_of_unchanged_objects_tells_nothing() {
    let reflector = Reflector::<ConfigMap>::new(());
    let list = || {
        let listing = reflector.begin_list();
        for name in NAMES {
            reflector.listed(object(name, (1, 1, 1)), listing);
        }
        reflector.end_list(listing, None);
    };
    list();
    reflector.set_synced();
    let first = reflector.store().get(("a", "x")).unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let subscription = reflector.subscribe(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let before = told.load(Ordering::SeqCst);
    list();
    assert_eq!((before, told.load(Ordering::SeqCst)), (NAMES.len(), NAMES.len()));
    assert!(
        Arc::ptr_eq(&first, &reflector.store().get(("a", "x")).unwrap()),
        "the object itself stays"
    );
    drop(subscription);
}

#[test]
fn a_new_object_of_an_old_name_is_one_change_with_both() {
    let reflector = Reflector::<ConfigMap>::new(());
    let listing = reflector.begin_list();
    reflector.listed(object(NAMES[0], (0, 1, 0)), listing);
    let uids = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&uids);
    let uid = |side: &Option<Arc<ConfigMap>>| side.as_ref().and_then(|it| it.metadata.uid.clone());
    reflector
        .subscribe(move |delta| heard.lock().unwrap().push((uid(&delta.old), uid(&delta.new))))
        .detach();
    // The versions of two objects can be equal: they are of different histories.
    reflector.listed(object(NAMES[0], (1, 1, 0)), listing);
    let last = uids.lock().unwrap().pop().unwrap();
    assert_eq!(last, (Some("a/x/0".to_owned()), Some("a/x/1".to_owned())));
}

#[test]
fn until_the_first_list_is_complete_there_is_nothing_to_read() {
    let reflector = Reflector::<ConfigMap>::new(());
    let store = reflector.store();
    store.add_index("value", value);
    let listing = reflector.begin_list();
    reflector.listed(object(NAMES[0], (1, 1, 1)), listing);
    assert!(store.is_empty() && store.snapshot().is_empty() && store.get(NAMES[0]).is_none());
    assert!(store.get_uid("a/x/1").is_none() && store.indexed("value", "1").unwrap().is_empty());
    reflector.end_list(listing, None);
    reflector.set_synced();
    assert_eq!(store.len(), 1);
    assert_eq!(store.indexed("value", "1").unwrap().len(), 1);
}

#[test]
fn a_name_alone_finds_what_has_no_namespace() {
    let mut object = Namespace::default();
    object.meta_mut().name = Some("prod".into());
    let store = Store::from_objects([object]);
    assert!(store.get("prod").is_some() && store.within("a").get("prod".to_owned()).is_some());
    assert!(store.get(("a", "prod")).is_none());
}

#[test]
fn an_index_function_that_panics_harms_only_its_index() {
    let reflector = Reflector::<ConfigMap>::new(());
    let store = reflector.store();
    store.add_index("bad", |object: &ConfigMap| {
        assert!(object.metadata.name.as_deref() != Some("x"), "on purpose");
        ["all"]
    });
    let listing = reflector.begin_list();
    for name in NAMES {
        reflector.listed(object(name, (1, 1, 1)), listing);
    }
    reflector.end_list(listing, None);
    reflector.set_synced();
    assert_eq!(store.len(), NAMES.len());
    assert_eq!(store.indexed("bad", "all").unwrap().len(), 4);
}

/// What lived and died leaves no memory behind.
#[test]
fn after_churn_the_table_is_as_small_as_what_lives() {
    let reflector = Reflector::<ConfigMap>::new(());
    reflector
        .store()
        .add_index("name", |object: &ConfigMap| object.metadata.name.clone());
    let listing = reflector.begin_list();
    let churned = |n: u32| {
        let mut object = object(NAMES[0], (0, n, 0));
        object.metadata.name = Some(format!("name-{n}"));
        object.metadata.uid = Some(format!("uid-{n}"));
        object
    };
    for n in 0..20_000 {
        reflector.apply(churned(n), listing);
    }
    for n in 10..20_000 {
        reflector.delete(Some("a"), &format!("name-{n}"));
    }
    let (entries, names, uids, index) = reflector.shared.read().capacities();
    assert!(
        entries <= 128 && names <= 128 && uids <= 128 && index <= 128,
        "{entries} {names} {uids} {index}"
    );
}

/// Readers on other threads always find an object that is never deleted, and never an index without it.
#[test]
fn readers_on_other_threads_never_miss_what_is_there() {
    let reflector = Arc::new(Reflector::<ConfigMap>::new(()));
    let listing = reflector.begin_list();
    for name in NAMES {
        reflector.listed(object(name, (0, 1, 1)), listing);
    }
    reflector.end_list(listing, None);
    reflector.set_synced();
    reflector.store().add_index("value", value);
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (store, stop) = (reflector.store(), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut reads = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    assert!(store.get(NAMES[0]).is_some());
                    assert!(store.get_uid("a/x/0").is_some());
                    assert!(store.snapshot().len() >= 3);
                    assert!(store.indexed("value", "1").unwrap().len() >= 3);
                    reads += 1;
                }
                reads
            })
        })
        .collect();
    for version in 2..2_000 {
        let listing = reflector.begin_list();
        for name in &NAMES[..3 + (version as usize % 4)] {
            reflector.listed(object(*name, (0, version, 1)), listing);
        }
        reflector.end_list(listing, None);
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.join().unwrap() > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_without_an_informer_is_ready() {
    let store = Store::<ConfigMap>::from_objects([]);
    tokio::time::timeout(Duration::from_secs(1), store.wait_until_ready())
        .await
        .unwrap()
        .unwrap();
}
