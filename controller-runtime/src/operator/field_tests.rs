//! What attributes say of a field is what a server takes, or an error.

use controller_apiserver::Server;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, CustomResource, CustomResourceExt, api::PostParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;

/// A name, a kind, and whether its field is an error.
type Case = (
    &'static str,
    fn() -> Operator,
    fn() -> CustomResourceDefinition,
    bool,
);

macro_rules! cases {
    ($($name:ident: $told:expr, { $(#[$how:meta])* $type:ty } $default:expr;)*) => {
        $(mod $name {
            use super::*;

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "Case", namespaced)]
            struct CaseSpec {
                list: Vec<Holder>,
            }

            #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
            struct Holder {
                #[serde(default = "field")]
                $(#[$how])*
                field: $type,
            }

            #[allow(clippy::unnecessary_wraps, reason = "the type is the field's")]
            fn field() -> $type {
                $default
            }

            pub(super) fn case() -> super::Case {
                (stringify!($name), || Operator::new("cases").crd::<Case>(), Case::crd, $told)
            }
        })*

        fn all_cases() -> Vec<Case> {
            vec![$($name::case()),*]
        }
    };
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
enum Level {
    Low,
    High,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct Inner {
    level: Option<Level>,
    text: Option<String>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    written: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct Named {
    name: String,
    maybe: Option<String>,
    list: Vec<String>,
}

cases! {
    nothing: false, { Option<Level> } None;
    level: false, { Option<Level> } Some(Level::Low);
    levels: false, { Vec<Option<Level>> } vec![Some(Level::High), None];
    nulls: false, { Inner } Inner::default();
    nulls_in_a_list: false, { Vec<Inner> } vec![Inner::default()];
    unknown: true, { Inner } Inner { written: Some(true), ..Inner::default() };
    one: false, { #[schemars(range(min = 1))] i32 } 1;
    zero: true, { #[schemars(range(min = 1))] i32 } 0;
    large: true, { #[schemars(range(max = 1))] f64 } 1.5;
    empty: true, { #[schemars(length(min = 1))] String } String::new();
    short: true, { #[schemars(length(min = 1))] Vec<String> } Vec::new();
    other_type: true, { #[schemars(with = "String")] i32 } 1;
    map: false, { #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))] Vec<Named> } vec![];
    map_of_optional: true, { #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["maybe"]))] Vec<Named> } vec![];
    map_of_list: true, { #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["list"]))] Vec<Named> } vec![];
    map_of_unknown: true, { #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["other"]))] Vec<Named> } vec![];
    map_of_twice: true, { #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name", "name"]))] Vec<Named> } vec![];
    map_of_nothing: true, { #[schemars(extend("x-kubernetes-list-type" = "map"))] Vec<Named> } vec![];
    map_of_texts: true, { #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))] Vec<String> } vec![];
    set_of_texts: false, { #[schemars(extend("x-kubernetes-list-type" = "set"))] Vec<String> } vec![];
    set_of_options: true, { #[schemars(extend("x-kubernetes-list-type" = "set"))] Vec<Option<String>> } vec![];
    set_of_structs: true, { #[schemars(extend("x-kubernetes-list-type" = "set"))] Vec<Named> } vec![];
    set_of_nothing: true, { #[schemars(extend("x-kubernetes-list-type" = "set"))] String } String::new();
}

/// A server refuses a definition for a default that its own schema does not take, and for a key of a list that an element may lack.
#[tokio::test(start_paused = true)]
async fn defaults_and_keys_of_lists_are_what_a_server_takes_or_are_told() {
    let mut wrong = Vec::new();
    for (name, operator, derived, told) in all_cases() {
        let operator = operator();
        let answer = operator.check_definitions().map_err(|error| error.to_string());
        let definition = operator.crds().first().cloned().unwrap_or_else(derived);
        let api = Api::all(Server::new().client());
        let taken = api.create(&PostParams::default(), &definition).await;
        match (answer, told, taken) {
            (Ok(()), false, Ok(_)) => {}
            (Err(error), true, Err(_)) if error.contains("spec.list[*].field: ") => {}
            other => wrong.push(format!("{name}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
