//! Random writes against a naive model: an object is a map from leaves to values, a manager owns a set
//! of leaves, and everything else follows from that.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::rules::{Single, TARGET_KIND, single};
use crate::patch::apply::{
    ApplyError, Manager, ResetFields, Target, apply,
    managed::{Managed, Operation},
    track_update,
};

/// A leaf: a field, a member of a map, a field of a keyed element, or an element of a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Leaf {
    Field(char),
    Member(char),
    Element(char, char),
    InSet(char),
}

type Leaves = BTreeMap<Leaf, u8>;

fn schema() -> Value {
    let text = json!({"type": "string"});
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": text, "b": text, "c": text,
        "map": {"type": "object", "additionalProperties": text},
        "list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": text, "x": text, "y": text}},
        },
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
    }}}})
}

/// The object, or configuration, that has these leaves.
fn object(leaves: &Leaves) -> Value {
    let mut spec = json!({});
    for (leaf, value) in leaves {
        let value = json!(value.to_string());
        match leaf {
            Leaf::Field(field) => spec[field.to_string()] = value,
            Leaf::Member(key) => spec["map"][key.to_string()] = value,
            Leaf::InSet(element) => push(&mut spec["set"], json!(element.to_string())),
            Leaf::Element(name, field) => {
                let name = json!(name.to_string());
                let known = spec["list"].as_array();
                let place = known.and_then(|list| list.iter().position(|item| item["name"] == name));
                let place = place.unwrap_or_else(|| {
                    push(&mut spec["list"], json!({"name": name}));
                    spec["list"].as_array().unwrap().len() - 1
                });
                if *field != 'n' {
                    spec["list"][place][field.to_string()] = value;
                }
            }
        }
    }
    let mut object = json!({"apiVersion": "v1", "kind": TARGET_KIND, "metadata": {"name": "a"}});
    if spec != json!({}) {
        object["spec"] = spec;
    }
    object
}

fn push(list: &mut Value, value: Value) {
    match list {
        Value::Array(elements) => elements.push(value),
        other => *other = json!([value]),
    }
}

/// The same the other way round.
fn leaves(object: &Value) -> Leaves {
    let mut leaves = Leaves::new();
    let value = |value: &Value| value.as_str().unwrap().parse().unwrap();
    let first = |text: &str| text.chars().next().unwrap();
    for (key, part) in object["spec"].as_object().into_iter().flatten() {
        match key.as_str() {
            "map" => leaves.extend(
                part.as_object()
                    .into_iter()
                    .flatten()
                    .map(|(key, v)| (Leaf::Member(first(key)), value(v))),
            ),
            "set" => leaves.extend(
                part.as_array()
                    .into_iter()
                    .flatten()
                    .map(|v| (Leaf::InSet(first(v.as_str().unwrap())), 0)),
            ),
            "list" => {
                for item in part.as_array().into_iter().flatten() {
                    let name = first(item["name"].as_str().unwrap());
                    leaves.insert(Leaf::Element(name, 'n'), 0);
                    for field in ["x", "y"] {
                        if let Some(text) = item.get(field) {
                            leaves.insert(Leaf::Element(name, first(field)), value(text));
                        }
                    }
                }
            }
            field => {
                leaves.insert(Leaf::Field(first(field)), value(part));
            }
        }
    }
    leaves
}

fn some_leaves() -> impl Strategy<Value = Leaves> {
    let leaf = prop_oneof![
        proptest::char::range('a', 'c').prop_map(Leaf::Field),
        proptest::char::range('k', 'm').prop_map(Leaf::Member),
        (proptest::char::range('p', 'r'), proptest::char::range('x', 'y'))
            .prop_map(|(n, f)| Leaf::Element(n, f)),
        proptest::char::range('s', 'u').prop_map(Leaf::InSet),
    ];
    proptest::collection::btree_map(leaf, 0..3_u8, 0..7).prop_map(complete)
}

/// Elements have their names, and values of sets do not matter.
fn complete(leaves: Leaves) -> Leaves {
    let mut complete = Leaves::new();
    for (leaf, value) in leaves {
        match leaf {
            Leaf::Element(name, _) => {
                complete.insert(Leaf::Element(name, 'n'), 0);
                complete.insert(leaf, value);
            }
            Leaf::InSet(_) => {
                complete.insert(leaf, 0);
            }
            other => {
                complete.insert(other, value);
            }
        }
    }
    complete
}

#[derive(Clone, Debug)]
enum Write {
    Apply {
        manager: u8,
        leaves: Leaves,
        force: bool,
    },
    Update {
        manager: u8,
        leaves: Leaves,
    },
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        3 => (0..3_u8, some_leaves(), any::<bool>())
            .prop_map(|(manager, leaves, force)| Write::Apply { manager, leaves, force }),
        1 => (0..3_u8, some_leaves()).prop_map(|(manager, leaves)| Write::Update { manager, leaves }),
    ]
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    leaves: Leaves,
    /// By manager, and whether it is its entry of updates.
    owners: BTreeMap<(u8, bool), BTreeSet<Leaf>>,
}

impl Model {
    /// The conflicts, as fields and their owners.
    fn apply(&mut self, manager: u8, config: &Leaves, force: bool) -> Result<(), usize> {
        let me = (manager, false);
        let changed: BTreeSet<Leaf> = config
            .iter()
            .filter(|(leaf, value)| self.leaves.get(leaf) != Some(value))
            .map(|(leaf, _)| leaf.clone())
            .collect();
        let others = self.owners.iter().filter(|(owner, _)| **owner != me);
        let conflicts = others
            .map(|(_, owned)| owned.intersection(&changed).count())
            .sum();
        if conflicts > 0 && !force {
            return Err(conflicts);
        }
        for (_, owned) in self.owners.iter_mut().filter(|(owner, _)| **owner != me) {
            owned.retain(|leaf| !changed.contains(leaf));
        }
        let before = self
            .owners
            .insert(me, config.keys().cloned().collect())
            .unwrap_or_default();
        self.leaves.extend(config.clone());
        for leaf in before {
            if !self.owners.values().any(|owned| owned.contains(&leaf)) {
                self.leaves.remove(&leaf);
            }
        }
        // An element that nobody owns goes with all that is in it, whoever changed that.
        let left = self.leaves.clone();
        let stays = |leaf: &Leaf| match leaf {
            Leaf::Element(name, _) => left.contains_key(&Leaf::Element(*name, 'n')),
            _ => true,
        };
        self.leaves.retain(|leaf, _| stays(leaf));
        for owned in self.owners.values_mut() {
            owned.retain(stays);
        }
        self.forget();
        Ok(())
    }

    fn update(&mut self, manager: u8, leaves: &Leaves) {
        let changed: BTreeSet<Leaf> = leaves
            .iter()
            .filter(|(leaf, value)| self.leaves.get(leaf) != Some(value))
            .map(|(leaf, _)| leaf.clone())
            .collect();
        for owned in self.owners.values_mut() {
            owned.retain(|leaf| leaves.contains_key(leaf) && !changed.contains(leaf));
        }
        self.owners.entry((manager, true)).or_default().extend(changed);
        self.leaves = leaves.clone();
        self.forget();
    }

    fn forget(&mut self) {
        self.owners.retain(|_, owned| !owned.is_empty());
    }
}

/// What entries own, in terms of the model. The nodes between the leaves do not count.
fn owners(object: &Value) -> BTreeMap<(u8, bool), BTreeSet<Leaf>> {
    let mut owners = BTreeMap::new();
    for (key, entry) in Managed::of(object).unwrap().0 {
        let mut owned = BTreeSet::new();
        entry.fields.each(&mut |path| {
            let text: String = path.iter().map(ToString::to_string).collect();
            let text = text.strip_prefix(".spec").unwrap().replace('"', "");
            let parts: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
            let last = *parts.last().unwrap_or(&' ');
            if let Some(rest) = text.strip_prefix(".list[name=") {
                let name = rest.chars().next().unwrap();
                match rest.len() {
                    2 => owned.insert(Leaf::Element(name, 'n')),
                    _ if rest.split('.').nth(1) == Some("name") => true,
                    _ => owned.insert(Leaf::Element(name, last)),
                };
            } else if text.starts_with(".map.") {
                owned.insert(Leaf::Member(last));
            } else if text.starts_with(".set[=") {
                owned.insert(Leaf::InSet(last));
            } else if text.len() == 2 {
                owned.insert(Leaf::Field(last));
            }
        });
        if !owned.is_empty() {
            let manager = key.manager.parse().unwrap();
            owners.insert((manager, key.operation == Operation::Update), owned);
        }
    }
    owners
}

struct Server {
    kind: Single,
    reset: ResetFields,
    live: Option<Value>,
}

impl Server {
    fn new() -> Self {
        Self {
            kind: single(&schema()),
            reset: ResetFields::none(),
            live: None,
        }
    }

    /// Calls with what a write by a manager is.
    fn written<T>(&self, manager: u8, write: impl FnOnce(&Target<'_>, &Manager<'_>) -> T) -> T {
        let manager = Manager {
            name: &manager.to_string(),
            subresource: "",
            api_version: "v1",
        };
        let target = Target {
            kind: TARGET_KIND,
            versions: &self.kind,
            reset: &self.reset,
            builtin: false,
        };
        write(&target, &manager)
    }

    fn apply(&mut self, manager: u8, config: &Leaves, force: bool) -> Result<(), ApplyError> {
        let (live, config, now) = (self.live.as_ref(), object(config), jiff::Timestamp::UNIX_EPOCH);
        let applied = self.written(manager, |target, manager| {
            apply(target, live, &config, manager, force, now)
        })?;
        self.live = Some(applied);
        Ok(())
    }

    fn update(&mut self, manager: u8, leaves: &Leaves) {
        let (live, now) = (self.live.as_ref(), jiff::Timestamp::UNIX_EPOCH);
        let mut new = object(leaves);
        self.written(manager, |target, manager| {
            track_update(target, live, &mut new, manager, now);
        });
        self.live = Some(new);
    }

    fn check(&self, model: &Model) -> Result<(), TestCaseError> {
        let live = self.live.as_ref().unwrap();
        prop_assert_eq!(&leaves(live), &model.leaves, "{}", live);
        prop_assert_eq!(&owners(live), &model.owners, "{}", live);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn writes_do_what_the_model_does(writes in proptest::collection::vec(write(), 1..8)) {
        let mut model = Model::default();
        let mut server = Server::new();
        for write in writes {
            match write {
                Write::Apply { manager, leaves, force } => {
                    let expected = model.apply(manager, &leaves, force);
                    match (server.apply(manager, &leaves, force), expected) {
                        (Ok(()), Ok(())) => {}
                        (Err(error @ ApplyError::Conflict(_)), Err(_)) => {
                            prop_assert!(!error.causes().is_empty());
                            continue;
                        }
                        (got, wanted) => prop_assert!(false, "{got:?} {wanted:?}"),
                    }
                }
                Write::Update { manager, leaves } => {
                    // Before an object is tracked, updates are nobody's.
                    if server.live.is_some() && owners(server.live.as_ref().unwrap()).is_empty() {
                        continue;
                    }
                    model.update(manager, &leaves);
                    server.update(manager, &leaves);
                }
            }
            server.check(&model)?;
        }
    }

    #[test]
    fn applying_again_changes_nothing(first in some_leaves(), second in some_leaves()) {
        let mut server = Server::new();
        server.apply(0, &first, false).unwrap();
        server.apply(1, &second, true).unwrap();
        let once = server.live.clone();
        server.apply(1, &second, false).unwrap();
        prop_assert_eq!(server.live, once);
    }

    #[test]
    fn disjoint_managers_commute(both in some_leaves(), mine in proptest::collection::vec(any::<bool>(), 16)) {
        let (left, right): (Vec<_>, Vec<_>) = both.into_iter().zip(mine.into_iter().cycle()).partition(|(_, mine)| *mine);
        let of = |part: Vec<((Leaf, u8), bool)>| complete(part.into_iter().map(|(leaf, _)| leaf).collect());
        let (left, right) = (of(left), of(right));
        let played = |order: [(u8, &Leaves); 2]| {
            let mut server = Server::new();
            for (manager, config) in order {
                server.apply(manager, config, false).unwrap();
            }
            let live = server.live.unwrap();
            (leaves(&live), owners(&live))
        };
        prop_assert_eq!(played([(0, &left), (1, &right)]), played([(1, &right), (0, &left)]));
    }
}
