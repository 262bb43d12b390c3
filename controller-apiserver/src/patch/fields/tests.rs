//! Sets keep the laws of sets, and `FieldsV1` comes back as it went.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

pub(super) fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        Just(json!(1.5)),
        "[a-c\"\\\\./]{0,2}".prop_map(Value::from),
    ]
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![
        4 => "[a-c:.]{0,2}".prop_map(Element::Field),
        1 => scalar().prop_map(Element::Value),
        1 => proptest::collection::btree_map("[xy]", scalar(), 1..3)
            .prop_map(|fields| Element::Key(fields.into_iter().collect())),
        1 => (-2_i64..3).prop_map(Element::Index),
    ]
}

fn set() -> impl Strategy<Value = Set> {
    let path = proptest::collection::vec(element(), 0..4);
    proptest::collection::vec(path, 0..8).prop_map(|paths| {
        let mut set = Set::default();
        for path in &paths {
            set.insert(path);
        }
        set
    })
}

fn paths(set: &Set) -> Vec<Vec<Element>> {
    let mut paths = Vec::new();
    set.each(&mut |path| paths.push(path.to_vec()));
    paths
}

proptest! {
    #[test]
    fn fields_v1_comes_back_as_it_went(set in set()) {
        let encoded = set.encode();
        prop_assert_eq!(Set::decode(&encoded).unwrap(), set);
    }

    #[test]
    fn sets_keep_the_laws_of_sets(left in set(), right in set()) {
        let (union, both, rest) = (left.union(&right), left.intersection(&right), left.difference(&right));
        for path in paths(&left).iter().chain(&paths(&right)) {
            let (in_left, in_right) = (left.contains(path), right.contains(path));
            prop_assert!(union.contains(path));
            prop_assert_eq!(both.contains(path), in_left && in_right);
            prop_assert_eq!(rest.contains(path), in_left && !in_right);
            let above = (1..=path.len()).any(|n| right.contains(&path[..n]));
            prop_assert_eq!(left.recursive_difference(&right).contains(path), in_left && !above);
        }
        prop_assert_eq!(rest.union(&both), left);
    }

    #[test]
    fn any_json_is_read_or_refused(text in "[fkvix.]?:?[a-z0-9{}\"]{0,4}", value in scalar()) {
        let _ = Set::decode(&json!({ text: { "f:x": value } }));
    }
}

#[test]
fn fields_v1_is_written_like_a_server_does() {
    let fields = json!({
        "f:data": {},
        "f:metadata": {"f:finalizers": {".": {}, "v:\"x.io/f\"": {}}},
        "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}},
    });
    let set = Set::decode(&fields).unwrap();
    assert_eq!(set.encode(), fields);
    let texts: Vec<String> = paths(&set).iter().map(|path| path_text(path)).collect();
    assert_eq!(
        texts,
        [
            ".data",
            ".metadata.finalizers",
            ".metadata.finalizers[=\"x.io/f\"]",
            ".spec.ports[port=80,protocol=\"TCP\"]",
            ".spec.ports[port=80,protocol=\"TCP\"].port",
        ]
    );
}

#[test]
fn unknown_elements_are_dropped_and_malformed_ones_refused() {
    let set = Set::decode(&json!({"f:a": {}, "z:new": {"f:b": {}}})).unwrap();
    assert_eq!(set.encode(), json!({"f:a": {}}));
    for bad in [
        json!({"f": {}}),
        json!({"k:1": {}}),
        json!({"i:x": {}}),
        json!({"v:{": {}}),
        json!([]),
    ] {
        assert!(Set::decode(&bad).is_err(), "{bad}");
    }
}

#[test]
fn whole_numbers_are_equal_however_written() {
    assert_eq!(Element::Value(json!(1)), Element::Value(json!(1.0)));
    assert!(equal(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
    assert!(!equal(&json!({"a": 1}), &json!({"a": 1, "b": null})));
}
