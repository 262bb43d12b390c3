//! What `crds` prints is taken by an API server, and means there what the Rust type says.

use std::collections::BTreeMap;

use controller_apiserver::Server;
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::util::intstr::IntOrString,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

/// What `crds` prints for a kind, read again.
fn printed<K: CustomResourceExt>() -> Result<Value, String> {
    let operator = Operator::new("documents").crd::<K>();
    let yaml = operator.crds_yaml().map_err(|error| error.to_string())?;
    Ok(serde_saphyr::from_str(&yaml).unwrap())
}

fn schema_of_spec(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
}

/// A server that knows what was printed for a kind, and a client for its objects.
async fn served<K: CustomResourceExt>() -> (Client, Api<DynamicObject>) {
    let client = Server::new().client();
    define(&client, &printed::<K>().unwrap()).await.unwrap();
    let kind = K::api_resource().kind;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", &kind));
    (client.clone(), Api::default_namespaced_with(client, &resource))
}

async fn define(client: &Client, definition: &Value) -> kube::Result<CustomResourceDefinition> {
    let definition = serde_json::from_value(definition.clone()).unwrap();
    Api::all(client.clone())
        .create(&PostParams::default(), &definition)
        .await
}

/// Applied as an operator applies it, with every `None` as a null.
async fn apply(api: &Api<DynamicObject>, kind: &str, name: &str, spec: &Value) -> kube::Result<Value> {
    let object =
        json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let parameters = PatchParams::apply("test").force();
    let answer = api.patch(name, &parameters, &Patch::Apply(object)).await?;
    Ok(answer.data["spec"].clone())
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
enum Level {
    Low,
    High,
}

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Optional", namespaced)]
#[serde(rename_all = "camelCase")]
struct OptionalSpec {
    level: Option<Level>,
    /// With a word of documentation.
    documented_level: Option<Level>,
    port: Option<IntOrString>,
    /// With a word of documentation.
    documented_port: Option<IntOrString>,
    levels: Option<Vec<Level>>,
    inner: Option<Inner>,
    each: Option<BTreeMap<String, Inner>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
struct Inner {
    level: Option<Level>,
    text: Option<String>,
}

/// kube-rs/kube#1821, kube-rs/kube#1885, kube-rs/kube#1908: optional enumerations and integers-or-strings, documented or not, at any
/// depth: null and absence both validate.
#[tokio::test(start_paused = true)]
async fn an_optional_field_may_be_null_or_absent() {
    let (_client, api) = served::<Optional>().await;
    let inner = Some(Inner::default());
    let nothing = OptionalSpec {
        level: None,
        documented_level: None,
        port: None,
        documented_port: None,
        levels: None,
        inner: inner.clone(),
        each: Some(BTreeMap::from([("a".to_owned(), Inner::default())])),
    };
    let nulls = serde_json::to_value(&nothing).unwrap();
    assert_eq!(
        (&nulls["level"], &nulls["inner"]["level"]),
        (&Value::Null, &Value::Null)
    );
    let all = json!({"level": "Low", "documentedLevel": "High", "port": 1, "documentedPort": "http", "levels": ["Low"]});
    for (name, spec) in [("nulls", &nulls), ("nothing", &json!({})), ("all", &all)] {
        let kept = apply(&api, "Optional", name, spec)
            .await
            .unwrap_or_else(|error| panic!("{spec}: {error}"));
        let read: OptionalSpec = serde_json::from_value(kept).unwrap();
        assert_eq!(
            read.level,
            serde_json::from_value(spec["level"].clone()).unwrap(),
            "{spec}"
        );
        let inner_level = read.inner.and_then(|inner| inner.level);
        assert_eq!(inner_level, None, "{spec}");
    }
    let error = apply(&api, "Optional", "wrong", &json!({"level": "Middle"}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("spec.level"), "{error}");
}

/// kube-rs/kube#1908: a doc comment is a description, and nothing more.
#[test]
fn a_doc_comment_changes_the_description_alone() {
    let definition = printed::<Optional>().unwrap();
    let fields = &schema_of_spec(&definition)["properties"];
    for (plain, documented) in [("level", "documentedLevel"), ("port", "documentedPort")] {
        let bare = |field: &str| {
            let mut schema = fields[field].clone();
            schema.as_object_mut().unwrap().remove("description");
            schema
        };
        assert_eq!(bare(plain), bare(documented), "{plain}");
        assert_eq!(fields[documented]["description"], "With a word of documentation.");
    }
}

/// kube-rs/kube#1821: what a new schemars or kube makes of the same type is a change that a person looks at.
#[test]
fn the_schema_of_a_type_is_as_it_was_before() {
    let definition = printed::<Optional>().unwrap();
    let inner = |more: Value| {
        let mut schema = json!({"type": "object", "properties": {
            "level": {"type": "string", "enum": ["Low", "High"]}, "text": {"type": "string", "nullable": true}}});
        schema
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        schema
    };
    let mut found = schema_of_spec(&definition).clone();
    for field in ["port", "documentedPort", "documentedLevel"] {
        found["properties"][field]
            .as_object_mut()
            .unwrap()
            .remove("description");
    }
    let level = json!({"type": "string", "enum": ["Low", "High"]});
    let port = json!({"x-kubernetes-int-or-string": true, "nullable": true});
    let expected = json!({"type": "object", "properties": {
        "level": level, "documentedLevel": level, "port": port, "documentedPort": port,
        "levels": {"type": "array", "items": level, "nullable": true},
        "inner": inner(json!({"nullable": true})),
        "each": {"type": "object", "nullable": true, "additionalProperties": inner(json!({}))},
    }});
    assert_eq!(found, expected);
}

/// One kind for each place that an enum can stand in.
macro_rules! places {
    ($($module:ident: $(#[$how:meta])* { $($variants:tt)* })*) => {
        $(mod $module {
            use super::*;

            #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
            $(#[$how])*
            enum Choice { $($variants)* }

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "One", namespaced)]
            struct OneSpec { choice: Choice }

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "Listed", namespaced)]
            struct ListedSpec { choices: Vec<Choice> }

            #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "example.com", version = "v1", kind = "Mapped", namespaced)]
            struct MappedSpec { choices: BTreeMap<String, Choice> }

            pub(super) fn printed() -> [Result<Value, String>; 3] {
                [super::printed::<One>(), super::printed::<Listed>(), super::printed::<Mapped>()]
            }
        })*

        fn all_places() -> Vec<(&'static str, [Result<Value, String>; 3])> {
            vec![$((stringify!($module), $module::printed())),*]
        }
    };
}

places! {
    units: { A, B }
    external: { A { x: String }, B { y: i32 } }
    external_mixed: { A, B { y: i32 } }
    internal: #[serde(tag = "type")] { A { x: String }, B { y: i32 } }
    internal_units: #[serde(tag = "type")] { A, B }
    adjacent: #[serde(tag = "type", content = "value")] { A { x: String }, B { y: i32 } }
    untagged: #[serde(untagged)] { A { x: String }, B { y: i32 } }
}

/// kube-rs/kube#1279, kube-rs/kube#648, kube-rs/kube#1047: an enum of each representation, alone, in a list and in a map, makes a
/// definition that a server takes, or an error that names the type, the reason and a way out. Never a panic.
#[tokio::test(start_paused = true)]
async fn an_enum_makes_a_definition_or_an_error_with_a_way_out() {
    let mut taken = Vec::new();
    for (name, printed) in all_places() {
        for printed in printed {
            match printed {
                Ok(definition) => {
                    let answer = define(&Server::new().client(), &definition).await;
                    answer.unwrap_or_else(|error| panic!("{name}: {error}"));
                    taken.push(name);
                }
                Err(error) => {
                    for part in [
                        &format!("crds_tests::{name}::"),
                        "makes no CRD: ",
                        "schemars(schema_with",
                    ] {
                        assert!(error.contains(part), "{name}: {error}");
                    }
                    assert!(error.len() < 600, "{name}: {error}");
                }
            }
        }
    }
    taken.dedup();
    assert_eq!(taken, ["units", "external", "untagged"]);
}

/// kube-rs/kube#1279: an operator with such a kind says so before it runs, and prints no manifests without it.
#[tokio::test(start_paused = true)]
async fn a_kind_without_a_definition_is_told_by_every_command() {
    #[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Tagged", namespaced)]
    struct TaggedSpec {
        choice: Choice,
    }
    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[serde(tag = "type")]
    enum Choice {
        A { x: String },
        B { y: i32 },
    }
    let operator = || {
        Operator::new("documents")
            .crd::<Tagged>()
            .controller(tests::fake("one", |_| async { Ok(()) }))
    };
    let ran = operator()
        .run(RunOptions::new().client(Server::new().client()))
        .await;
    let manifests = operator().manifests(&ManifestOptions::new("operators", "image"));
    for error in [ran.unwrap_err(), manifests.unwrap_err()] {
        let text = error.to_string();
        assert!(
            text.contains("Tagged makes no CRD: Property \"type\" has another schema in each variant"),
            "{text}"
        );
    }
}

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Flat", namespaced)]
struct FlatSpec {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Strict", namespaced)]
#[serde(deny_unknown_fields)]
struct StrictSpec {
    name: String,
    #[serde(default = "three")]
    replicas: i32,
    inner: Option<StrictInner>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StrictInner {
    text: String,
}

fn three() -> i32 {
    3
}

/// kube-rs/kube#844: fields beside a flattened map are kept by the server, whatever their names.
#[tokio::test(start_paused = true)]
async fn what_a_flattened_map_holds_is_kept() {
    let (_client, api) = served::<Flat>().await;
    let spec = json!({"name": "a", "more": {"deep": [1, 2]}});
    assert_eq!(apply(&api, "Flat", "flat", &spec).await.unwrap(), spec);
    assert_eq!(both_keywords(&printed::<Flat>().unwrap()), [""; 0]);
}

/// kube-rs/kube#1828: `deny_unknown_fields` has no keyword in a CRD; a server drops what the schema does not know, and fills in defaults.
#[tokio::test(start_paused = true)]
async fn unknown_fields_are_pruned_and_defaults_are_filled_in() {
    let (_client, api) = served::<Strict>().await;
    assert_eq!(both_keywords(&printed::<Strict>().unwrap()), [""; 0]);
    let object = json!({"apiVersion": "example.com/v1", "kind": "Strict", "metadata": {"name": "one"},
        "spec": {"name": "a", "unknown": 1, "inner": {"text": "b", "unknown": 2}}});
    let object = serde_json::from_value(object).unwrap();
    let kept = api.create(&PostParams::default(), &object).await.unwrap();
    assert_eq!(
        kept.data["spec"],
        json!({"name": "a", "replicas": 3, "inner": {"text": "b"}})
    );
}

/// The places where `properties` and `additionalProperties` stand together.
fn both_keywords(schema: &Value) -> Vec<String> {
    let Some(fields) = schema.as_object() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if fields.contains_key("properties") && fields.contains_key("additionalProperties") {
        found.push(schema.to_string());
    }
    found.extend(fields.values().flat_map(both_keywords));
    found.extend(
        fields
            .values()
            .filter_map(Value::as_array)
            .flatten()
            .flat_map(both_keywords),
    );
    found
}
