//! Test objects as maps from paths to values: everything that can have a value, or be there, on its own.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

/// A path as conflicts write it, without its first dot and without quotes.
pub(super) type Leaf = &'static str;

/// What an object has, and the values of it. Closed: what a path lies in is there too.
pub(super) type Leaves = BTreeMap<Leaf, u8>;

/// Paths that are about one form of merging, by that form.
pub(super) const TOPICS: [&[Leaf]; 10] = [
    // Fields of structs, one below the other.
    &[
        "spec.a",
        "spec.b",
        "spec.deep.x",
        "spec.deep.y",
        "spec.deep.deeper.z",
    ],
    // Maps by member: of texts, and of structs.
    &["spec.map.k", "spec.map.l"],
    &[
        "spec.structs.m",
        "spec.structs.m.x",
        "spec.structs.m.y",
        "spec.structs.n.x",
    ],
    // Sets.
    &[
        "spec.set[=s]",
        "spec.set[=t]",
        "spec.numbers[=1]",
        "spec.numbers[=2]",
    ],
    // Lists and maps with one owner.
    &["spec.plain", "spec.atomic", "spec.block"],
    // Lists by one key, with sets and keyed lists in their elements.
    &[
        "spec.list[name=p]",
        "spec.list[name=p].x",
        "spec.list[name=p].y",
        "spec.list[name=p].tags[=s]",
        "spec.list[name=p].tags[=t]",
        "spec.list[name=q].rows[id=1]",
        "spec.list[name=q].rows[id=1].v",
        "spec.list[name=q].rows[id=2].v",
    ],
    // Lists by two keys, one of which has a default.
    &[
        "spec.ports[port=1,protocol=TCP]",
        "spec.ports[port=1,protocol=TCP].note",
        "spec.ports[port=1,protocol=UDP].note",
        "spec.ports[port=2,protocol=TCP].note",
    ],
    // A field with a default.
    &["spec.filled", "spec.a"],
    // Labels, which writes of the status may name and do not change.
    &["metadata.labels.k", "metadata.labels.l"],
    // The status.
    &[
        "status.phase",
        "status.conditions[type=r]",
        "status.conditions[type=r].status",
        "status.conditions[type=t].status",
    ],
];

/// Everything that objects can have, and what it lies in.
pub(super) static UNIVERSE: LazyLock<Leaves> =
    LazyLock::new(|| closed(TOPICS.iter().copied().flatten().map(|leaf| (*leaf, 0))));

fn is_below(leaf: Leaf, place: Leaf) -> bool {
    leaf.strip_prefix(place)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// An element, or a struct that is a member of a map: it has an owner of its own, and goes with all
/// that is in it.
fn is_node(place: Leaf) -> bool {
    place.ends_with(']') || matches!(place, "spec.structs.m" | "spec.structs.n")
}

/// A declared struct, map or list: appliers do not own it.
pub(super) fn is_container(place: Leaf) -> bool {
    !is_node(place) && TOPICS.iter().copied().flatten().any(|leaf| is_below(leaf, place))
}

/// A declared list.
pub(super) fn is_list(place: Leaf) -> bool {
    let mut leaves = TOPICS.iter().copied().flatten();
    leaves.any(|leaf| leaf.strip_prefix(place).is_some_and(|rest| rest.starts_with('[')))
}

/// What a path lies in. The metadata are always there, and nobody's.
pub(super) fn parents(leaf: Leaf) -> impl Iterator<Item = Leaf> {
    let ends = leaf.char_indices().filter(|(_, c)| matches!(c, '.' | '['));
    ends.map(|(end, _)| &leaf[..end])
        .filter(|place| *place != "metadata")
}

/// With all that the paths lie in.
pub(super) fn closed(leaves: impl IntoIterator<Item = (Leaf, u8)>) -> Leaves {
    let mut all = Leaves::new();
    for (leaf, value) in leaves {
        all.extend(parents(leaf).map(|place| (place, 0)));
        let bare = is_node(leaf) || is_container(leaf);
        all.insert(leaf, if bare { 0 } else { value });
    }
    all
}

/// Takes away a place and all that is in it.
pub(super) fn remove(leaves: &mut Leaves, place: Leaf) {
    leaves.retain(|leaf, _| *leaf != place && !is_below(leaf, place));
}

/// Whether something in a place is among the paths.
pub(super) fn any_below<'a>(mut leaves: impl Iterator<Item = &'a Leaf>, place: Leaf) -> bool {
    leaves.any(|leaf| is_below(leaf, place))
}

enum Step {
    Field(&'static str),
    Element(Vec<(&'static str, Value)>),
    Item(Value),
}

fn scalar(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| json!(text), Value::from)
}

fn steps(leaf: Leaf) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in leaf.split('.') {
        let (name, index) = part.split_once('[').unwrap_or((part, ""));
        steps.push(Step::Field(name));
        let index = index.trim_end_matches(']');
        if let Some(item) = index.strip_prefix('=') {
            steps.push(Step::Item(scalar(item)));
        } else if !index.is_empty() {
            let pairs = index.split(',').filter_map(|pair| pair.split_once('='));
            steps.push(Step::Element(
                pairs.map(|(key, value)| (key, scalar(value))).collect(),
            ));
        }
    }
    steps
}

fn is_implied(key: &str, value: &Value) -> bool {
    key == "protocol" && value == "TCP"
}

fn has_keys(item: &Value, keys: &[(&str, Value)]) -> bool {
    keys.iter().all(|(key, value)| match item.get(*key) {
        Some(found) => found == value,
        None => is_implied(key, value),
    })
}

/// What stands at a path.
fn find(object: &Value, leaf: Leaf) -> Option<Value> {
    let mut place = object;
    for step in steps(leaf) {
        place = match step {
            Step::Field(name) => place.get(name)?,
            Step::Element(keys) => place.as_array()?.iter().find(|item| has_keys(item, &keys))?,
            Step::Item(value) => place.as_array()?.iter().find(|item| **item == value)?,
        };
    }
    Some(place.clone())
}

/// How an object is written down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spelling {
    /// Elements of lists come in the other order.
    pub(super) reversed: bool,
    /// Keys that have their default are left out.
    pub(super) terse: bool,
}

fn put(object: &mut Value, leaf: Leaf, value: u8, spelling: Spelling) {
    let mut place = object;
    for step in steps(leaf) {
        place = match step {
            Step::Field(name) => &mut place[name],
            Step::Element(keys) => {
                let list = list(place);
                let at = list.iter().position(|item| has_keys(item, &keys));
                let at = at.unwrap_or_else(|| {
                    let mut item = json!({});
                    for (key, value) in keys {
                        if !(spelling.terse && is_implied(key, &value)) {
                            item[key] = value;
                        }
                    }
                    list.push(item);
                    list.len() - 1
                });
                &mut list[at]
            }
            Step::Item(value) => {
                let list = list(place);
                if !list.contains(&value) {
                    list.push(value);
                }
                return;
            }
        };
    }
    if is_node(leaf) || is_container(leaf) {
        if place.is_null() {
            *place = if is_list(leaf) { json!([]) } else { json!({}) };
        }
        return;
    }
    *place = written(leaf, value);
}

fn list(place: &mut Value) -> &mut Vec<Value> {
    if place.is_null() {
        *place = json!([]);
    }
    place.as_array_mut().unwrap()
}

fn written(leaf: Leaf, value: u8) -> Value {
    match leaf {
        "spec.plain" | "spec.atomic" => (0..value).map(|item| json!(item.to_string())).collect(),
        "spec.block" => (0..value).map(|key| (key.to_string(), json!("v"))).collect(),
        _ => json!(value.to_string()),
    }
}

/// Writes paths into an object.
pub(super) fn write(object: &mut Value, leaves: &Leaves, spelling: Spelling) {
    let mut put = |(leaf, value): (&Leaf, &u8)| put(object, leaf, *value, spelling);
    if spelling.reversed {
        leaves.iter().rev().for_each(&mut put);
    } else {
        leaves.iter().for_each(&mut put);
    }
}

/// Reads them back.
///
/// # Panics
///
/// When the object has anything else.
pub(super) fn read(object: &Value) -> Leaves {
    let mut leaves = Leaves::new();
    for leaf in UNIVERSE.keys().copied() {
        let Some(found) = find(object, leaf) else { continue };
        let value = if is_node(leaf) || is_container(leaf) {
            Some(0)
        } else {
            (0..4).find(|value| written(leaf, *value) == found)
        };
        let value = value.unwrap_or_else(|| panic!("{leaf}: {found}"));
        leaves.insert(leaf, value);
    }
    let mut again = json!({});
    write(&mut again, &leaves, Spelling::default());
    for part in ["spec", "status"] {
        assert_eq!(
            sorted(&object[part]),
            sorted(&again[part]),
            "{part} has something else"
        );
    }
    leaves
}

/// Without the order of lists, and with what is implied.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted).collect();
            items.sort_by_key(Value::to_string);
            items.into()
        }
        Value::Object(members) => {
            let mut members: serde_json::Map<_, _> =
                members.iter().map(|(key, v)| (key.clone(), sorted(v))).collect();
            if members.contains_key("port") {
                members.entry("protocol").or_insert_with(|| json!("TCP"));
            }
            members.into()
        }
        other => other.clone(),
    }
}

/// The elements of each list of an object, in order, as far as they are in another, too.
pub(super) fn order(object: &Value, of: &Leaves) -> Vec<Leaf> {
    let mut places: Vec<(Leaf, usize, Leaf)> = Vec::new();
    for leaf in of.keys().copied().filter(|leaf| leaf.ends_with(']')) {
        let (list, _) = leaf.rsplit_once('[').unwrap();
        let items = find(object, list).unwrap_or_default();
        let position = items.as_array().and_then(|items| {
            items.iter().position(|item| match steps(leaf).pop().unwrap() {
                Step::Element(keys) => has_keys(item, &keys),
                Step::Item(value) => *item == value,
                Step::Field(_) => false,
            })
        });
        places.extend(position.map(|position| (list, position, leaf)));
    }
    places.sort_unstable();
    places.into_iter().map(|(.., leaf)| leaf).collect()
}
