//! Properties that hold for any schema and any value.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Structural, normalize_numbers};

/// Names that schemas and values share, so that they meet.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "b",
        "c",
        "metadata",
        "kind",
        "apiVersion",
        "x-y",
        "namespace",
    ])
    .prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![-1_i64, 0, 1, 5, i64::MAX, i64::MIN]).prop_map(Value::from),
        prop::sample::select(vec![0.5, 1.0, -2.0, 1e30]).prop_map(Value::from),
        Just(json!(u64::MAX)),
        prop::sample::select(vec![
            "",
            "a",
            "abc",
            "äöü",
            "2024-01-02T03:04:05Z",
            "1h",
            "1.2.3.4"
        ])
        .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Keywords that restrict values, of any type.
fn limits() -> impl Strategy<Value = Map<String, Value>> {
    let one = prop::sample::select(vec![
        json!({"minimum": 0}),
        json!({"maximum": 3, "exclusiveMaximum": true}),
        json!({"multipleOf": 2}),
        json!({"minLength": 1}),
        json!({"maxLength": 2}),
        json!({"pattern": "^a"}),
        json!({"enum": ["a", 1, null]}),
        json!({"minItems": 1}),
        json!({"maxItems": 2}),
        json!({"minProperties": 1}),
        json!({"maxProperties": 2}),
        json!({"required": ["a"]}),
        json!({"format": "date-time"}),
        json!({"format": "int32"}),
        json!({"nullable": true}),
        json!({"not": {"enum": ["abc"]}}),
        json!({"anyOf": [{"required": ["a"]}, {"minItems": 1}]}),
        json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}),
        json!({"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}),
        json!({"x-kubernetes-validations": [{"rule": "size(self) < 3", "messageExpression": "'not ' + string(self)"}]}),
        json!({"x-kubernetes-validations": [{"rule": "has(self.a) || self.b", "fieldPath": ".a"}]}),
    ]);
    prop::collection::vec(one, 0..3).prop_map(|all| {
        all.into_iter()
            .filter_map(|one| one.as_object().cloned())
            .flatten()
            .collect()
    })
}

/// A schema that mostly has the right shape.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!({"type": "string"}),
        json!({"type": "string", "default": "a"}),
        json!({"type": "integer"}),
        json!({"type": "integer", "default": 1}),
        json!({"type": "number"}),
        json!({"type": "boolean"}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
    ]);
    let node = leaf.prop_recursive(4, 30, 4, |inner| {
        let list = prop::sample::select(vec![
            json!({}),
            json!({"x-kubernetes-list-type": "set"}),
            json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}),
        ]);
        let extra = prop::sample::select(vec![
            json!({}),
            json!({"default": {}}),
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            json!({"x-kubernetes-map-type": "atomic"}),
        ]);
        let with = |mut node: Value, more: Value| {
            if let (Some(node), Value::Object(more)) = (node.as_object_mut(), more) {
                node.extend(more);
            }
            node
        };
        prop_oneof![
            (inner.clone(), list)
                .prop_map(move |(items, more)| with(json!({"type": "array", "items": items}), more)),
            (prop::collection::btree_map(name(), inner.clone(), 0..4), extra).prop_map(
                move |(properties, more)| {
                    let properties: Map<_, _> = properties.into_iter().collect();
                    with(json!({"type": "object", "properties": properties}), more)
                }
            ),
            inner.prop_map(|values| json!({"type": "object", "additionalProperties": values})),
        ]
    });
    (node, limits()).prop_map(|(mut node, limits)| {
        if let Some(map) = node.as_object_mut() {
            map.extend(limits);
        }
        node
    })
}

fn resource() -> impl Strategy<Value = (Value, Value, Value)> {
    (schema(), value(), value()).prop_map(|(schema, new, old)| {
        let root = json!({"type": "object", "properties": {"spec": schema}});
        let object =
            |spec| json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "a"}, "spec": spec});
        (root, object(new), object(old))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing panics, whether or not the schema would have been accepted, and the steps are stable.
    #[test]
    fn steps_are_idempotent((schema, new, old) in resource()) {
        let _ = Structural::parse(&schema);
        let schema = Structural::trusted(&schema);
        let mut once = new.clone();
        normalize_numbers(&mut once);
        schema.prune(&mut once);
        let coerced = schema.coerce(&mut once).is_ok();
        schema.default(&mut once);
        let mut twice = once.clone();
        normalize_numbers(&mut twice);
        let pruned = schema.prune(&mut twice);
        prop_assert!(pruned.is_empty(), "{pruned:?} of {once}");
        if coerced {
            prop_assert_eq!(schema.coerce(&mut twice).map_err(|cause| cause.message), Ok(Vec::new()));
        }
        schema.default(&mut twice);
        prop_assert_eq!(&once, &twice);
        let causes = schema.validate(&once, None);
        prop_assert_eq!(&schema.validate(&twice, None), &causes);
        schema.validate(&once, Some(&old));
        // What did not change may stay, whatever is wrong with its values; only rules are told that
        // cannot be evaluated, or look at the old value.
        let told = |cause: &crate::status::Cause| {
            causes.contains(cause) || cause.message.contains("rule: ") || cause.message.contains("oldSelf")
        };
        let kept = schema.validate(&once, Some(&once));
        prop_assert!(kept.iter().all(told), "{kept:?}");
    }

    /// Whatever is given as a schema: it is judged, and nothing panics.
    #[test]
    fn any_json_is_judged_as_a_schema(schema in value(), object in value()) {
        let _ = Structural::parse(&schema);
        let schema = Structural::trusted(&schema);
        let mut object = object;
        schema.prune(&mut object);
        schema.default(&mut object);
        schema.validate(&object, None);
    }
}

/// A value or a schema as deep as a request can make it needs no more stack than a thread has.
#[test]
fn depth_is_harmless() {
    let mut schema = json!({"type": "string"});
    let mut object = json!("x");
    for _ in 0..1000 {
        schema = json!({"type": "object", "properties": {"a": schema}});
        object = json!({"a": object});
    }
    let causes = Structural::parse(&schema).expect_err("too deep");
    assert!(causes[0].message.contains("nested deeper"), "{causes:?}");
    let mut schema = json!({"type": "string"});
    for _ in 0..120 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    let schema = Structural::parse(&schema).expect("accepted");
    let mut pruned = object.clone();
    assert_eq!(schema.prune(&mut pruned).len(), 1);
    schema.default(&mut pruned);
    assert_eq!(schema.validate(&pruned, None).len(), 1);
    let mut lists = json!(0);
    for _ in 0..1000 {
        lists = json!([lists]);
    }
    normalize_numbers(&mut lists);
    Structural::trusted(&json!({"type": "object"})).prune(&mut json!({"a": lists}));
}
