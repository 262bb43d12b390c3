//! What `crds` prints of every type, at every place of a spec: a server takes it, and takes and keeps the values that serde does; or an
//! error, or at least a warning, says where it does not.

use std::collections::BTreeMap;

use controller_apiserver::Server;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, CustomResource, CustomResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

/// Where an enum's variant has the type.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Within<T> {
    Variant { field: T },
}

/// A kind that has a type at every place, with values that it takes.
struct Case {
    name: &'static str,
    values: Vec<Value>,
    operator: fn() -> Operator,
    derived: fn() -> CustomResourceDefinition,
    /// What Rust reads of a spec, written again.
    read: fn(Value) -> serde_json::Result<Value>,
}

macro_rules! cases {
    ($($name:ident: $type:ty => $values:tt;)*) => {
        $(mod $name {
            use super::*;

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "Case", namespaced)]
            #[serde(rename_all = "camelCase")]
            struct CaseSpec {
                one: $type,
                maybe: Option<$type>,
                list: Vec<$type>,
                maybe_list: Vec<Option<$type>>,
                map: BTreeMap<String, $type>,
                maybe_map: BTreeMap<String, Option<$type>>,
                deep: Vec<BTreeMap<String, Option<$type>>>,
                within: Within<$type>,
            }

            pub(super) fn case() -> super::Case {
                super::Case {
                    name: stringify!($name),
                    values: serde_json::from_value(json!($values)).unwrap(),
                    operator: || Operator::new("cases").crd::<Case>(),
                    derived: Case::crd,
                    read: |spec| serde_json::from_value::<CaseSpec>(spec).and_then(serde_json::to_value),
                }
            }
        })*

        fn all_cases() -> Vec<Case> {
            vec![$($name::case()),*]
        }
    };
}

/// The places of `CaseSpec`, as errors and warnings name them.
const PLACES: [&str; 8] = [
    "spec.one",
    "spec.maybe",
    "spec.list[*]",
    "spec.maybeList[*]",
    "spec.map.*",
    "spec.maybeMap.*",
    "spec.deep[*].*",
    "spec.within.Variant.field",
];

/// A spec with the value at every place, and another where there may be none.
fn spec(value: &Value, maybe: &Value) -> Value {
    json!({"one": value, "maybe": maybe, "list": [value], "maybeList": [value, maybe], "map": {"a": value},
        "maybeMap": {"a": value, "b": maybe}, "deep": [{"a": value, "b": maybe}], "within": {"Variant": {"field": value}}})
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Flat<V> {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, V>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Level {
    Low,
    High,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Documented {
    /// Not much.
    Low,
    /// Much.
    High,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Number {
    number: i32,
}

macro_rules! enums {
    ($($(#[$how:meta])* $name:ident { $($variants:tt)* })*) => {
        $(
            #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
            $(#[$how])*
            enum $name { $($variants)* }
        )*
    };
}

enums! {
    External { A { x: String }, B { y: i32 } }
    ExternalNew { A(String), B(Number) }
    ExternalTuple { A(String, i32), B(i32) }
    ExternalNothing { A(()), B(i32) }
    ExternalMixed { A, B { y: i32 }, C(String) }
    #[serde(tag = "type")]
    Internal { A { x: String }, B { y: i32 } }
    #[serde(tag = "type")]
    InternalOne { A { x: String } }
    #[serde(tag = "type")]
    InternalUnits { A, B }
    #[serde(tag = "type")]
    InternalMixed { A, B { x: String } }
    #[serde(tag = "type")]
    InternalConflict { A { x: String }, B { x: i32 } }
    #[serde(tag = "type", content = "value")]
    Adjacent { A { x: String }, B { y: i32 } }
    #[serde(tag = "type", content = "value")]
    AdjacentMixed { A, B(i32), C { x: String } }
    #[serde(untagged)]
    Untagged { A { x: String }, B { y: i32 } }
    #[serde(untagged)]
    UntaggedNested { A(External), B(Text) }
    #[serde(untagged)]
    UntaggedValues { A(String), B(i32) }
    #[serde(untagged)]
    UntaggedTexts { A(String), B(char) }
    #[serde(untagged)]
    UntaggedList { A(Text), B(Vec<Text>) }
    #[serde(untagged)]
    UntaggedText { A(Text), B(String) }
    #[serde(untagged)]
    UntaggedInteger { A(Text), B(i32) }
    #[serde(untagged)]
    UntaggedMap { A(Text), B(BTreeMap<String, i32>) }
    #[serde(untagged)]
    UntaggedLevel { A(Text), B(Level) }
    #[serde(untagged)]
    UntaggedNothing { A(Text), B }
    #[serde(untagged)]
    UntaggedTuple { A(String, i32), B(Text) }
    Titled {
        /// # Heading
        A { x: String },
        B { y: i32 },
    }
}

/// Two enums in the place of one struct's fields.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct TwoFlat {
    #[serde(flatten)]
    one: ExternalNew,
    #[serde(flatten)]
    other: Pair,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Pair {
    C(String),
    D(i32),
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Endless {
    next: Option<Box<Endless>>,
}

cases! {
    text: String => ["", "a"];
    flat_texts: Flat<String> => [{"name": "a"}, {"name": "a", "b": "c"}];
    flat_integers: Flat<i64> => [{"name": "a", "b": 1}];
    flat_structs: Flat<Text> => [{"name": "a", "b": {"text": "c"}}];
    flat_options: Flat<Option<String>> => [{"name": "a", "b": null, "c": "d"}];
    flat_lists: Flat<Vec<String>> => [{"name": "a", "b": ["c"]}];
    flat_enums: Flat<Level> => [{"name": "a", "b": "Low"}];
    flat_tagged: Flat<External> => [{"name": "a", "b": {"A": {"x": "c"}}}];
    flat_values: Flat<Value> => [{"name": "a", "b": {"c": [1]}}];
    flat_flat: Flat<Flat<i32>> => [{"name": "a", "b": {"name": "c", "d": 1}}];
    units: Level => ["Low", "High"];
    documented_units: Documented => ["Low", "High"];
    external: External => [{"A": {"x": "a"}}, {"B": {"y": 1}}];
    external_new: ExternalNew => [{"A": "a"}, {"B": {"number": 1}}];
    external_tuple: ExternalTuple => [{"A": ["a", 1]}, {"B": 1}];
    external_nothing: ExternalNothing => [{"A": null}, {"B": 1}];
    external_mixed: ExternalMixed => ["A", {"B": {"y": 1}}, {"C": "a"}];
    internal: Internal => [{"type": "A", "x": "a"}, {"type": "B", "y": 1}];
    internal_one: InternalOne => [{"type": "A", "x": "a"}];
    internal_units: InternalUnits => [{"type": "A"}, {"type": "B"}];
    internal_mixed: InternalMixed => [{"type": "A"}, {"type": "B", "x": "a"}];
    internal_conflict: InternalConflict => [{"type": "A", "x": "a"}, {"type": "B", "x": 1}];
    adjacent: Adjacent => [{"type": "A", "value": {"x": "a"}}, {"type": "B", "value": {"y": 1}}];
    adjacent_mixed: AdjacentMixed => [{"type": "A"}, {"type": "B", "value": 1}];
    untagged: Untagged => [{"x": "a"}, {"y": 1}];
    untagged_nested: UntaggedNested => [{"A": {"x": "a"}}, {"text": "a"}];
    untagged_values: UntaggedValues => ["a", 1];
    untagged_texts: UntaggedTexts => ["a", "text"];
    untagged_list: UntaggedList => [{"text": "a"}, [{"text": "a"}]];
    untagged_text: UntaggedText => [{"text": "a"}, "a"];
    untagged_integer: UntaggedInteger => [{"text": "a"}, 1];
    untagged_map: UntaggedMap => [{"text": "a"}, {"b": 1}];
    untagged_level: UntaggedLevel => [{"text": "a"}, "Low"];
    untagged_nothing: UntaggedNothing => [{"text": "a"}, null];
    untagged_tuple: UntaggedTuple => [{"text": "a"}, ["a", 1]];
    titled: Titled => [{"A": {"x": "a"}}, {"B": {"y": 1}}];
    two_flat: TwoFlat => [{"A": "a", "C": "b"}];
    endless: Endless => [{"next": {"next": null}}];
    nothing: () => [null];
    pair: (String, i32) => [["a", 1]];
    four: [u8; 4] => [[1, 2, 3, 4]];
    twice_optional: Option<Level> => ["Low", null];
    any_value: Value => [1, "a", {"b": [1]}, [{"c": 2}]];
    numbered: BTreeMap<u8, String> => [{"1": "a"}];
    result: Result<String, i32> => [{"Ok": "a"}, {"Err": 1}];
}

/// A client of a server that took a definition, or why it did not.
async fn served(definition: &CustomResourceDefinition) -> kube::Result<Api<DynamicObject>> {
    let client: Client = Server::new().client();
    Api::all(client.clone())
        .create(&PostParams::default(), definition)
        .await?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Case"));
    Ok(Api::default_namespaced_with(client, &resource))
}

/// What a server keeps of a spec.
async fn kept(api: &Api<DynamicObject>, name: &str, spec: &Value) -> kube::Result<Value> {
    let object =
        json!({"apiVersion": "example.com/v1", "kind": "Case", "metadata": {"name": name}, "spec": spec});
    let object = serde_json::from_value(object).unwrap();
    let answer = api.create(&PostParams::default(), &object).await?;
    Ok(answer.data["spec"].clone())
}

/// The values of a case that a server changes or refuses.
async fn lost(case: &Case, api: &Api<DynamicObject>) -> Vec<String> {
    let mut lost = Vec::new();
    for (number, value) in case.values.iter().enumerate() {
        for (name, maybe) in [("some", value), ("none", &Value::Null)] {
            let spec = spec(value, maybe);
            let wanted = (case.read)(spec.clone()).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            match kept(api, &format!("{name}-{number}"), &spec).await {
                Ok(kept) => match (case.read)(kept.clone()) {
                    Ok(read) if read == wanted => {}
                    _ => lost.push(format!("{spec} became {kept}")),
                },
                Err(error) => lost.push(format!("{spec}: {error}")),
            }
        }
    }
    lost
}

/// kube-rs/kube#844, kube-rs/kube#1279, kube-rs/kube#1821: each type at each place makes a definition that a server takes, and with which
/// it takes and keeps what serde does; or a warning, or an error, that names the places. What is an error would be refused.
#[tokio::test(start_paused = true)]
async fn a_type_means_the_same_at_every_place_or_is_told() {
    let (mut wrong, mut told, mut warned) = (Vec::new(), Vec::new(), Vec::new());
    for case in all_cases() {
        let operator = (case.operator)();
        if let Err(error) = operator.check_definitions() {
            told.push(case.name);
            if let Ok(derived) = std::panic::catch_unwind(case.derived) {
                wrong.extend(unnamed(&case, &error.to_string()));
                if served(&derived).await.is_ok() {
                    wrong.push(format!("{}: refused, though a server takes it", case.name));
                }
            }
            continue;
        }
        let warnings = operator.crd_warnings();
        match served(&operator.crds()[0]).await {
            Err(error) => wrong.push(format!("{}: printed, and refused: {error}", case.name)),
            Ok(api) => {
                let lost = lost(&case, &api).await;
                if !lost.is_empty() && warnings.is_empty() {
                    wrong.push(format!("{}: {}", case.name, lost.join("\n  ")));
                }
            }
        }
        if !warnings.is_empty() {
            warned.push(case.name);
            wrong.extend(unnamed(&case, &warnings.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(warned, WARNED);
    assert_eq!(told, TOLD);
}

/// The place that a text does not name.
fn unnamed(case: &Case, text: &str) -> Option<String> {
    let missing = PLACES.iter().find(|place| !text.contains(*place))?;
    Some(format!("{}: {missing} is not in {text}", case.name))
}

/// The types of which a CRD says less.
const WARNED: [&str; 11] = [
    "flat_texts",
    "flat_integers",
    "flat_structs",
    "flat_options",
    "flat_lists",
    "flat_enums",
    "flat_tagged",
    "flat_flat",
    "untagged_text",
    "untagged_integer",
    "untagged_map",
];

/// The types that make no CRD.
const TOLD: [&str; 19] = [
    "external_tuple",
    "external_nothing",
    "external_mixed",
    "internal",
    "internal_units",
    "internal_mixed",
    "internal_conflict",
    "adjacent",
    "adjacent_mixed",
    "untagged_values",
    "untagged_texts",
    "untagged_list",
    "untagged_level",
    "untagged_tuple",
    "two_flat",
    "endless",
    "nothing",
    "pair",
    "numbered",
];

/// kube-rs/kube#1821: where null is allowed, the values still are those of the enumeration.
#[tokio::test(start_paused = true)]
async fn an_optional_enumeration_takes_no_other_value() {
    let operator = (units::case().operator)();
    let api = served(&operator.crds()[0]).await.unwrap();
    let error = kept(&api, "wrong", &spec(&json!("Low"), &json!("Middle")))
        .await
        .unwrap_err();
    for place in [
        "spec.maybe",
        "spec.maybeList[1]",
        "spec.maybeMap.b",
        "spec.deep[0].b",
    ] {
        assert!(
            error.to_string().contains(&format!("{place}: ")),
            "{place}: {error}"
        );
    }
}
