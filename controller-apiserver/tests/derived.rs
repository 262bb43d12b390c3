//! Definitions as derive macros make them from Rust types: enums of every representation, optional
//! fields with and without documentation, maps beside named fields.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "a test"
)]

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use controller_apiserver::Server;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, CustomResource, CustomResourceExt, Error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A kind whose spec has the enum alone, optional, in a list and in a map.
macro_rules! kind {
    ($module:ident, $(#[$how:meta])* { $($variants:tt)* }) => {
        mod $module {
            use super::*;

            #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
            $(#[$how])*
            pub enum Choice { $($variants)* }

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "One", namespaced)]
            pub struct OneSpec { pub choice: Choice }

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "Maybe", namespaced)]
            pub struct MaybeSpec { pub choice: Option<Choice> }

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "Listed", namespaced)]
            pub struct ListedSpec { pub choices: Vec<Choice> }

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "Mapped", namespaced)]
            pub struct MappedSpec { pub choices: BTreeMap<String, Choice> }

            pub const RAW: fn(&mut schemars::SchemaGenerator) -> schemars::Schema = Choice::json_schema;
            pub const KINDS: [fn() -> CustomResourceDefinition; 4] = [One::crd, Maybe::crd, Listed::crd, Mapped::crd];
        }
    };
}

kind!(units, {
    /// The first.
    A,
    /// The second.
    B,
});
kind!(external, { A { x: String }, B { y: i32 } });
kind!(external_tuples, { A(String), B(i32) });
kind!(external_mixed, { A, B { y: i32 }, C(String) });
kind!(internal, #[serde(tag = "type")] { A { x: String }, B { y: i32 } });
kind!(internal_units, #[serde(tag = "type")] { A, B });
kind!(internal_mixed, #[serde(tag = "type")] { A, B { x: String } });
kind!(internal_conflict, #[serde(tag = "type")] { A { x: String }, B { x: i32 } });
kind!(adjacent, #[serde(tag = "type", content = "value")] { A { x: String }, B { y: i32 } });
kind!(adjacent_mixed, #[serde(tag = "type", content = "value")] { A, B(i32), C { x: String } });
kind!(untagged, #[serde(untagged)] { A { x: String }, B { y: i32 } });
kind!(untagged_values, #[serde(untagged)] { A(String), B(i32) });

/// What became of a definition.
#[derive(Debug, PartialEq)]
enum Outcome {
    Accepted,
    Refused,
    /// The derive macro's own code gave up: no definition ever reached the server.
    NotMade,
}

async fn outcome(definition: fn() -> CustomResourceDefinition) -> Outcome {
    let Ok(definition) = catch_unwind(definition) else {
        return Outcome::NotMade;
    };
    create(&serde_json::to_value(definition).unwrap()).await
}

async fn create(definition: &Value) -> Outcome {
    let server = Server::new();
    let resource = ApiResource::erase::<CustomResourceDefinition>(&());
    let api = Api::<DynamicObject>::all_with(server.client(), &resource);
    let object = serde_json::from_value(definition.clone()).unwrap();
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => Outcome::Accepted,
        Err(Error::Api(status)) => {
            assert_eq!(
                (status.code, status.reason.as_str()),
                (422, "Invalid"),
                "{status:?}"
            );
            let causes = &status.details.as_ref().unwrap().causes;
            assert!(!causes.is_empty(), "{status:?}");
            for cause in causes {
                assert!(
                    cause.field.starts_with("spec.") && !cause.message.is_empty(),
                    "{cause:?}"
                );
            }
            Outcome::Refused
        }
        Err(error) => panic!("{error}"),
    }
}

/// kube-rs/kube#1279: a tagged enum made a schema that no server takes. Each representation, alone,
/// optional, in a list and in a map, is accepted or refused with its causes.
#[tokio::test(start_paused = true)]
async fn enums_of_every_representation_are_accepted_or_refused_with_a_cause() {
    use Outcome::{Accepted, NotMade, Refused};
    let all = [
        ("units", units::KINDS, Accepted),
        ("external", external::KINDS, Accepted),
        ("external tuples", external_tuples::KINDS, Accepted),
        ("external mixed", external_mixed::KINDS, NotMade),
        ("internal", internal::KINDS, NotMade),
        ("internal units", internal_units::KINDS, NotMade),
        ("internal mixed", internal_mixed::KINDS, NotMade),
        ("internal conflict", internal_conflict::KINDS, NotMade),
        ("adjacent", adjacent::KINDS, NotMade),
        ("adjacent mixed", adjacent_mixed::KINDS, NotMade),
        ("untagged", untagged::KINDS, Accepted),
        ("untagged values", untagged_values::KINDS, Refused),
    ];
    let mut wrong = Vec::new();
    for (name, kinds, expected) in all {
        let mut found = Vec::new();
        for kind in kinds {
            found.push(outcome(kind).await);
        }
        if found.iter().any(|found| *found != expected) {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// kube-rs/kube#1279: what the derive macro does not make, by hand: the schemas of the same enums as
/// they are, in the same places, in an otherwise good definition. None is structural.
#[tokio::test(start_paused = true)]
async fn schemas_of_enums_as_they_are_are_refused_with_a_cause() {
    let all = [
        ("units", units::RAW),
        ("external", external::RAW),
        ("external tuples", external_tuples::RAW),
        ("external mixed", external_mixed::RAW),
        ("internal", internal::RAW),
        ("internal units", internal_units::RAW),
        ("internal mixed", internal_mixed::RAW),
        ("internal conflict", internal_conflict::RAW),
        ("adjacent", adjacent::RAW),
        ("adjacent mixed", adjacent_mixed::RAW),
        ("untagged", untagged::RAW),
        ("untagged values", untagged_values::RAW),
    ];
    let mut wrong = Vec::new();
    for (name, schema) in all {
        let mut settings = schemars::generate::SchemaSettings::openapi3();
        settings.inline_subschemas = true;
        let schema = schema(&mut settings.into_generator()).to_value();
        let places = [
            schema.clone(),
            json!({"type": "array", "items": schema}),
            json!({"type": "object", "additionalProperties": schema}),
        ];
        for place in places {
            let mut definition = serde_json::to_value(units::KINDS[0]()).unwrap();
            definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
                json!({"type": "object", "properties": {"choice": place}});
            let found = create(&definition).await;
            if found != Outcome::Refused {
                wrong.push(format!("{name}: {found:?}: {place}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub enum Level {
    Low,
    High,
}

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Optional", namespaced)]
pub struct OptionalSpec {
    pub level: Option<Level>,
    /// With a word of documentation.
    pub documented_level: Option<Level>,
    pub port: Option<IntOrString>,
    /// With a word of documentation.
    pub documented_port: Option<IntOrString>,
    pub levels: Option<Vec<Level>>,
}

async fn define(client: &Client, definition: &CustomResourceDefinition) {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    api.create(&PostParams::default(), definition).await.unwrap();
}

fn untyped(client: &Client, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", kind));
    Api::namespaced_with(client.clone(), "default", &resource)
}

/// kube-rs/kube#1821, kube-rs/kube#1885: optional enums and integer-or-strings, documented or not.
/// Absent and given, each validates, created and applied; null too, but for the enums: the validator of
/// kube-openapi (`basicCommonValidator`) takes null for none of an enumeration, even of one that lists it.
#[tokio::test(start_paused = true)]
async fn optional_fields_may_be_null_or_absent() {
    let server = Server::new();
    let client = server.client();
    define(&client, &Optional::crd()).await;
    let api = untyped(&client, "Optional");
    let nulls = |fields: &[&str]| -> Value {
        fields
            .iter()
            .map(|field| ((*field).to_owned(), Value::Null))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let free = ["port", "documented_port", "levels"];
    let mut specs = vec![
        nulls(&free),
        json!({}),
        json!({"level": "Low", "documented_level": "High", "port": 1, "documented_port": "http", "levels": ["Low"]}),
    ];
    specs.extend(free.iter().map(|field| nulls(&[field])));
    for (number, spec) in specs.iter().enumerate() {
        for way in ["created", "applied"] {
            let name = format!("{way}-{number}");
            let object = json!({"apiVersion": "example.com/v1", "kind": "Optional",
                "metadata": {"name": name}, "spec": spec});
            let answer = if way == "created" {
                let object = serde_json::from_value(object).unwrap();
                api.create(&PostParams::default(), &object).await
            } else {
                let parameters = PatchParams::apply("test").force();
                api.patch(&name, &parameters, &Patch::Apply(object)).await
            };
            let answer = answer.unwrap_or_else(|error| panic!("{way} {spec}: {error}"));
            assert!(
                serde_json::from_value::<OptionalSpec>(answer.data["spec"].clone()).is_ok(),
                "{spec}: {:?}",
                answer.data
            );
        }
    }
    for (field, wrong) in [
        ("level", Value::Null),
        ("documented_level", Value::Null),
        ("level", json!("Middle")),
        ("documented_level", json!(1)),
        ("port", json!(true)),
        ("documented_port", json!([1])),
        ("levels", json!([null])),
    ] {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Optional",
            "metadata": {"name": "wrong"}, "spec": {field: wrong}});
        let object = serde_json::from_value(object).unwrap();
        let answer = api.create(&PostParams::default(), &object).await;
        let Err(Error::Api(status)) = answer else {
            panic!("{field}: {answer:?}");
        };
        assert_eq!(status.code, 422, "{field}: {status:?}");
        assert!(status.message.contains(&format!("spec.{field}")), "{status:?}");
    }
}

/// kube-rs/kube#844: named fields beside a map, as `#[serde(flatten)]` makes them.
#[tokio::test(start_paused = true)]
async fn properties_beside_additional_properties_are_refused() {
    #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Flat", namespaced)]
    pub struct FlatSpec {
        name: String,
        #[serde(flatten)]
        rest: BTreeMap<String, String>,
    }
    let client = Server::new().client();
    let api = Api::<CustomResourceDefinition>::all(client);
    // Whatever the derive macro makes of the type: both together in one place, at any depth.
    for depth in 0..3 {
        let mut definition = serde_json::to_value(Flat::crd()).unwrap();
        let spec = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let mut both = json!({"type": "object", "properties": {"name": {"type": "string"}},
            "additionalProperties": {"type": "string"}});
        for _ in 0..depth {
            both = json!({"type": "object", "properties": {"inner": both}});
        }
        *spec = both;
        let definition = serde_json::from_value(definition).unwrap();
        let answer = api.create(&PostParams::default(), &definition).await;
        let Err(Error::Api(status)) = answer else {
            panic!("{depth}: {answer:?}");
        };
        let causes = &status.details.as_ref().unwrap().causes;
        let field = format!(
            "properties[spec]{}.additionalProperties",
            ".properties[inner]".repeat(depth)
        );
        assert!(
            status.code == 422 && causes.iter().any(|cause| cause.field.ends_with(&field)),
            "{status:?}"
        );
    }
}

/// kube-rs/kube#964: two controllers, each with a finalizer, over the same objects and with stale
/// reads: what one adds, the other never removes.
#[tokio::test(start_paused = true)]
async fn finalizers_of_two_managers_both_stay() {
    let server = Server::new();
    let client = server.client();
    define(&client, &Optional::crd()).await;
    let api = untyped(&client, "Optional");
    let finalizers = ["example.com/a", "example.com/b"];
    for number in 0..8 {
        let name = format!("o-{number}");
        let object = json!({"apiVersion": "example.com/v1", "kind": "Optional",
            "metadata": {"name": name}, "spec": {}});
        let stale = api
            .create(&PostParams::default(), &serde_json::from_value(object).unwrap())
            .await
            .unwrap();
        // Both have read the object before either writes; who is first alternates.
        let first = number % 2;
        let [one, other] = [finalizers[first], finalizers[1 - first]];
        add(&api, &stale, one).await.unwrap();
        let late = add(&api, &stale, other).await;
        let Err(Error::Api(status)) = late else {
            panic!("a stale write was taken: {late:?}");
        };
        assert!([409, 422].contains(&status.code), "{status:?}");
        let fresh = api.get(&name).await.unwrap();
        add(&api, &fresh, other).await.unwrap();
        assert_eq!(held(&api, &name).await, [one, other]);

        // Applied: each owns its own, whatever it has read.
        for manager in finalizers {
            let object = json!({"apiVersion": "example.com/v1", "kind": "Optional",
                "metadata": {"name": format!("applied-{number}"), "finalizers": [manager]}, "spec": {}});
            let parameters = PatchParams::apply(manager);
            let name = format!("applied-{number}");
            api.patch(&name, &parameters, &Patch::Apply(object))
                .await
                .unwrap();
        }
        assert_eq!(held(&api, &format!("applied-{number}")).await, finalizers);

        // Deleted, it stays until both have let go, each with what it read before the other wrote.
        api.delete(&name, &kube::api::DeleteParams::default())
            .await
            .unwrap();
        let stale = api.get(&name).await.unwrap();
        remove(&api, &stale, one).await.unwrap();
        assert!(remove(&api, &stale, one).await.is_err(), "not there any more");
        assert_eq!(held(&api, &name).await, [other]);
        remove(&api, &api.get(&name).await.unwrap(), other).await.unwrap();
        assert!(api.get_opt(&name).await.unwrap().is_none());
    }
}

async fn held(api: &Api<DynamicObject>, name: &str) -> Vec<String> {
    api.get(name)
        .await
        .unwrap()
        .metadata
        .finalizers
        .unwrap_or_default()
}

/// Adds a finalizer to what was read, with a JSON patch that tests the former list.
async fn add(api: &Api<DynamicObject>, read: &DynamicObject, finalizer: &str) -> Result<(), Error> {
    let before = read.metadata.finalizers.clone();
    let mut after = before.clone().unwrap_or_default();
    after.push(finalizer.to_owned());
    let patch = json!({"metadata": {
        "resourceVersion": read.metadata.resource_version,
        "finalizers": after,
    }});
    change(api, read, &patch).await
}

async fn remove(api: &Api<DynamicObject>, read: &DynamicObject, finalizer: &str) -> Result<(), Error> {
    let mut left = read.metadata.finalizers.clone().unwrap_or_default();
    left.retain(|other| other != finalizer);
    let patch = json!({"metadata": {
        "resourceVersion": read.metadata.resource_version,
        "finalizers": left,
    }});
    change(api, read, &patch).await
}

async fn change(api: &Api<DynamicObject>, read: &DynamicObject, patch: &Value) -> Result<(), Error> {
    let name = read.metadata.name.as_deref().unwrap();
    let parameters = PatchParams::default();
    api.patch(name, &parameters, &Patch::Merge(patch)).await.map(drop)
}
