//! The store against the plainest model there is: a copy of everything at every revision.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[derive(Clone, Debug)]
enum Op {
    Put(usize, u8, u32),
    Remove(usize, u8),
    Compact,
}

const COLLECTIONS: [&str; 2] = ["configmaps", "secrets"];

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..2usize, 0..4u8, any::<u32>()).prop_map(|(c, k, v)| Op::Put(c, k, v)),
        3 => (0..2usize, 0..4u8).prop_map(|(c, k)| Op::Remove(c, k)),
        1 => Just(Op::Compact),
    ]
}

type State = BTreeMap<(usize, String), (u64, u32)>;

fn state(store: &Store) -> State {
    let mut all = State::new();
    for (c, name) in COLLECTIONS.iter().enumerate() {
        for (key, object) in store.scan(name, "") {
            all.insert((c, key.to_string()), read(object));
        }
    }
    all
}

fn read(object: &Stored) -> (u64, u32) {
    let value = object.value();
    assert_eq!(value["metadata"]["resourceVersion"], object.revision.to_string());
    (
        object.revision,
        u32::try_from(value["data"].as_u64().unwrap()).unwrap(),
    )
}

/// Plays operations and returns every state there was, by revision.
fn play(ops: &[Op], limits: Limits) -> (Store, BTreeMap<u64, State>) {
    let mut store = Store::new(10, limits);
    let mut states = BTreeMap::from([(10, State::new())]);
    for op in ops {
        let before = store.revision();
        match op {
            Op::Put(c, k, v) => {
                store.put(
                    COLLECTIONS[*c],
                    &format!("ns/{k}"),
                    json!({"kind": "X", "data": v}),
                    0,
                );
                assert_eq!(store.revision(), before + 1);
            }
            Op::Remove(c, k) => {
                let gone = store.remove(COLLECTIONS[*c], &format!("ns/{k}"));
                assert_eq!(store.revision(), before + u64::from(gone.is_some()));
            }
            Op::Compact => store.compact(),
        }
        states.insert(store.revision(), state(&store));
    }
    (store, states)
}

proptest! {
    /// Replaying the events after any revision still kept, over the state of that revision, gives the
    /// present; no event is skipped or repeated; what the store says of the past is what was.
    #[test]
    fn replay_is_the_difference_of_states(ops in proptest::collection::vec(op(), 0..60), kept in 1..80usize) {
        let limits = Limits { events: kept, bytes: usize::MAX };
        let (store, states) = play(&ops, limits);
        for (c, name) in COLLECTIONS.iter().enumerate() {
            let only = |state: &State| state.iter().filter(|((x, _), _)| *x == c)
                .map(|((_, key), value)| (key.clone(), *value)).collect::<BTreeMap<_, _>>();
            let present = only(&states[&store.revision()]);
            for (revision, past) in &states {
                let Ok(events) = store.events(name, *revision) else { continue };
                let mut replayed = only(past);
                let mut last = *revision;
                for event in events {
                    prop_assert!(event.revision() > last, "revisions rise");
                    last = event.revision();
                    let before = replayed.get(event.key.as_ref()).copied();
                    prop_assert_eq!(before, event.previous.as_deref().map(read));
                    match event.change {
                        Change::Deleted => {
                            let (_, data) = replayed.remove(event.key.as_ref()).unwrap();
                            prop_assert_eq!(read(&event.object), (event.revision(), data));
                        }
                        Change::Added | Change::Modified => {
                            prop_assert_eq!(event.change == Change::Added, before.is_none());
                            replayed.insert(event.key.to_string(), read(&event.object));
                        }
                    }
                }
                prop_assert_eq!(&replayed, &present, "after {}", revision);
                let then: BTreeMap<_, _> = store.at(name, "", *revision).unwrap().iter()
                    .map(|(key, object)| (key.to_string(), read(object))).collect();
                prop_assert_eq!(then, only(past), "at {}", revision);
            }
        }
    }

    /// The log keeps within its bounds, and the newest revision can always be asked for.
    #[test]
    fn the_log_is_bounded(ops in proptest::collection::vec(op(), 0..60), kept in 1..10usize) {
        let (store, _) = play(&ops, Limits { events: kept, bytes: 1_000 });
        let left: usize = COLLECTIONS.iter().map(|name| {
            (0..=store.revision()).filter_map(|r| store.events(name, r).ok()).map(|events| events.len()).max().unwrap()
        }).sum();
        prop_assert!(left <= kept);
        prop_assert!(store.events("configmaps", store.revision()).is_ok());
        prop_assert!(store.events("never seen", store.revision()).is_ok());
    }
}

#[test]
fn keys_are_ordered_as_bytes() {
    let mut store = Store::new(0, Limits::default());
    for key in ["x/a", "x-2/a", "x/B", "x.y/a"] {
        store.put("c", key, json!({}), 0);
    }
    let keys: Vec<_> = store.scan("c", "").map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys, ["x-2/a", "x.y/a", "x/B", "x/a"]);
    let keys: Vec<_> = store.scan("c", "x/").map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys, ["x/B", "x/a"]);
}

#[test]
fn what_left_a_selection_is_shown_at_the_new_revision() {
    let mut store = Store::new(0, Limits::default());
    store.put("c", "a", json!({"metadata": {"labels": {"t": "x"}}}), 0);
    store.put("c", "a", json!({"metadata": {"labels": {"t": "y"}}}), 0);
    let event = store.events("c", 1).unwrap().next().unwrap();
    assert_eq!(event.departed().label("t"), Some("x"));
    assert_eq!(event.departed().value()["metadata"]["resourceVersion"], "2");
}

/// A restored store is as it was at that revision, for every revision and in its history too.
#[test]
fn a_restored_store_is_as_it_was() {
    let object = |n: u64| json!({"metadata": {"name": "x"}, "n": n});
    let write = |store: &mut Store, step: u64| {
        let key = format!("d/{}", step % 3);
        if step % 5 == 4 {
            store.remove("things", &key);
        } else {
            store.put("things", &key, object(step), 0);
        }
    };
    let seen = |store: &Store| -> Vec<(String, u64)> {
        store
            .scan("things", "")
            .map(|(key, object)| (key.to_string(), object.revision))
            .collect()
    };
    for back in 0..20 {
        let mut store = Store::new(100, Limits::default());
        let mut then = Vec::new();
        let mut revision = 100;
        for step in 0..20 {
            if step == back {
                then = seen(&store);
                revision = store.revision();
            }
            write(&mut store, step);
        }
        let changed = store.restore(revision).unwrap();
        assert!(!changed.is_empty());
        assert_eq!((seen(&store), store.revision()), (then, revision));
        assert_eq!(store.events("things", revision).unwrap().len(), 0);
        write(&mut store, 0);
        assert_eq!(store.revision(), revision + 1);
        assert_eq!(store.events("things", revision).unwrap().len(), 1);
    }
    let mut store = Store::new(100, Limits::default());
    store.put("things", "d/a", object(1), 0);
    store.compact();
    assert!(store.restore(100).is_err());
}

/// Kinds that come and go leave nothing behind; who still watches one learns that it missed something.
#[test]
fn collections_that_came_and_went_leave_no_trace() {
    let limits = Limits {
        events: 10,
        bytes: usize::MAX,
    };
    let mut store = Store::new(100, limits);
    for number in 0..1000 {
        let collection = format!("x.io/kind{number}");
        let object = json!({"metadata": {"name": "a", "uid": number.to_string()}});
        store.put(&collection, "a", object, 0);
        store.remove(&collection, "a");
    }
    assert_eq!(store.collections().count(), 0, "empty ones are gone");
    assert!(store.traces() >= 990, "what was dropped is known of each");
    store.forget(|collection| collection == "x.io/kind3");
    assert!(store.traces() <= 10, "{}", store.traces());
    assert!(
        store.following("x.io/kind3", 100).is_err(),
        "its watcher missed something"
    );
    assert_eq!(
        store.following("x.io/kind999", 100).map(|events| events.len()),
        Ok(2)
    );
    store.compact();
    store.forget(|_| false);
    assert_eq!(store.traces(), 0);
}
