//! Real definitions and samples, and mistakes made in them.

mod broken_rules;
mod mistakes;
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{Structural, definition};
use crate::status::Cause;
use mistakes::{Broken, Mistake, Place, mistakes};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/crds")
}

/// Every YAML document of a folder, with its file's name.
fn documents(folder: &Path) -> Vec<(String, Value)> {
    let entries = fs::read_dir(folder).expect("the folder of test data");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths
        .iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == "yaml"))
    {
        let text = fs::read_to_string(path).expect("a readable file");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).expect(&name);
        for document in documents {
            match document["items"].as_array() {
                Some(items) => all.extend(items.iter().map(|item| (name.clone(), item.clone()))),
                None => all.push((name.clone(), document)),
            }
        }
    }
    all
}

fn definitions() -> Vec<(String, Value)> {
    let mut all = documents(&directory());
    all.retain(|(_, document)| document["kind"] == "CustomResourceDefinition");
    all
}

/// The schema of each kind, by `apiVersion` and `kind`.
static SCHEMAS: LazyLock<BTreeMap<(String, String), Structural>> = LazyLock::new(|| {
    let mut schemas = BTreeMap::new();
    for (name, definition) in definitions() {
        let spec = &definition["spec"];
        for version in spec["versions"].as_array().expect("versions") {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            let schema = Structural::parse(&version["schema"]["openAPIV3Schema"])
                .unwrap_or_else(|causes| panic!("{name}: {causes:#?}"));
            schemas.insert((api_version, text(&spec["names"]["kind"])), schema);
        }
    }
    schemas
});

/// The samples whose kind is a custom one, with their schemas.
fn samples() -> Vec<(String, Value, Structural)> {
    let mut samples = Vec::new();
    for (name, document) in documents(&directory().join("samples")) {
        let text = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
        if let Some(schema) = SCHEMAS.get(&(text("apiVersion"), text("kind"))) {
            samples.push((name, document, schema.clone()));
        }
    }
    samples
}

#[test]
fn real_definitions_are_accepted() {
    let mut count = 0;
    for (name, mut crd) in definitions() {
        definition::prepare_create(&mut crd);
        assert_eq!(definition::validate_create(&crd), [], "{name}");
        let mut others = Vec::new();
        definition::accept(&mut crd, others.iter(), "2024-01-01T00:00:00Z");
        others.push(crd.clone());
        assert_eq!(crd["status"]["acceptedNames"], crd["spec"]["names"], "{name}");
        assert_eq!(definition::validate_update(&crd, &others[0]), [], "{name}");
        count += 1;
    }
    assert!(count >= 15, "{count} definitions");
}

#[test]
fn real_samples_are_accepted() {
    let samples = samples();
    assert!(samples.len() >= 80, "{} samples", samples.len());
    for (name, sample, schema) in samples {
        let mut object = sample.clone();
        assert_eq!(schema.prune(&mut object), [""; 0], "{name}");
        schema.default(&mut object);
        assert_eq!(schema.validate(&object, None), [], "{name}");
        assert_eq!(schema.validate(&object, Some(&object)), [], "{name}: again");
        let before = object.clone();
        assert_eq!(schema.prune(&mut object), [""; 0], "{name}");
        schema.default(&mut object);
        assert_eq!(object, before, "{name}: a second time");
    }
}

fn refusals(schema: &Structural, broken: &Broken) -> Result<(), String> {
    let mut object = broken.object.clone();
    let unknown = schema.prune(&mut object);
    schema.default(&mut object);
    let causes = schema.validate(&object, None);
    if broken.mistake == Mistake::UnknownField {
        return if unknown == [broken.field.clone()] && causes.is_empty() {
            Ok(())
        } else {
            Err(format!("{}: {unknown:?} {causes:?}", broken.field))
        };
    }
    let told = |cause: &Cause| cause.reason == broken.reason && cause.field == broken.field;
    if causes.iter().any(told) {
        Ok(())
    } else {
        Err(format!("{}: {:?}: {causes:?}", broken.field, broken.mistake))
    }
}

/// One mistake of each kind that can be made in a sample: the first, which is the outermost.
fn first_mistakes(sample: &Value, schema: &Structural) -> Vec<Broken> {
    let mut found = Vec::new();
    let node = &schema.root().properties["spec"];
    mistakes(
        sample,
        &sample["spec"],
        &Place::new("/spec", "spec"),
        node,
        &mut found,
    );
    let mut kinds = Vec::new();
    found.retain(|broken| {
        let new = !kinds.contains(&broken.mistake);
        kinds.push(broken.mistake);
        new
    });
    found
}

/// One mistake of each kind in each sample, wherever it can be made.
#[test]
fn a_mistake_in_a_real_sample_is_refused_with_its_cause() {
    let mut made: BTreeMap<Mistake, usize> = BTreeMap::new();
    for (name, sample, schema) in samples() {
        for broken in first_mistakes(&sample, &schema) {
            refusals(&schema, &broken).unwrap_or_else(|told| panic!("{name}: {told}"));
            *made.entry(broken.mistake).or_default() += 1;
        }
    }
    for mistake in [
        Mistake::WrongType,
        Mistake::MissingRequired,
        Mistake::NotInEnum,
        Mistake::AgainstPattern,
        Mistake::TooLong,
        Mistake::TooMany,
        Mistake::OutOfRange,
        Mistake::UnknownField,
        Mistake::Duplicate,
    ] {
        assert!(
            made.get(&mistake).is_some_and(|count| *count > 3),
            "{mistake:?} of {made:?}"
        );
    }
}

/// Rules of the Gateway API, each broken in a sample that meets it.
#[test]
fn a_broken_rule_of_a_real_definition_is_told() {
    let schema = |kind: &str| &SCHEMAS[&("gateway.networking.k8s.io/v1".to_owned(), kind.to_owned())];
    let gateway = |listeners: Value| {
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "a"},
            "spec": {"gatewayClassName": "c", "listeners": listeners}})
    };
    let route = |rule: Value| {
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "a"},
            "spec": {"rules": [rule]}})
    };
    let listener = |name: &str, port: u16| json!({"name": name, "port": port, "protocol": "HTTP"});
    let sound = [
        ("Gateway", gateway(json!([listener("a", 80), listener("b", 81)]))),
        (
            "HTTPRoute",
            route(json!({"matches": [{"path": {"type": "PathPrefix", "value": "/a"}}]})),
        ),
    ];
    for (kind, object) in sound {
        assert_eq!(schema(kind).validate(&object, None), []);
    }
    let broken = [
        (
            "Gateway",
            gateway(json!([listener("a", 80), listener("b", 80)])),
            "spec.listeners",
            "Combination of port, protocol and hostname",
        ),
        (
            "Gateway",
            gateway(json!([{"name": "a", "port": 80, "protocol": "HTTP", "tls": {}}])),
            "spec.listeners",
            "tls must not be specified",
        ),
        (
            "HTTPRoute",
            route(json!({"matches": [{"path": {"type": "PathPrefix", "value": "a"}}]})),
            "spec.rules[0].matches[0].path",
            "value must be an absolute path",
        ),
        (
            "HTTPRoute",
            route(json!({"matches": [{"path": {"type": "PathPrefix", "value": "/a//b"}}]})),
            "spec.rules[0].matches[0].path",
            "must not contain '//'",
        ),
        (
            "HTTPRoute",
            route(json!({"filters": [{"type": "RequestRedirect"}]})),
            "spec.rules[0].filters[0]",
            "must be specified for RequestRedirect",
        ),
        (
            "HTTPRoute",
            route(json!({"timeouts": {"request": "1s", "backendRequest": "2s"}})),
            "spec.rules[0].timeouts",
            "backendRequest timeout cannot be longer",
        ),
    ];
    for (kind, object, field, message) in broken {
        let causes = schema(kind).validate(&object, None);
        let told = causes
            .iter()
            .any(|cause| cause.field == field && cause.message.contains(message));
        assert!(told, "{field}: {message}: {causes:#?}");
    }
    let old = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "a"},
        "spec": {"controllerName": "example.com/a"}});
    let mut new = old.clone();
    new["spec"]["controllerName"] = json!("example.com/b");
    let causes = schema("GatewayClass").validate(&new, Some(&old));
    assert!(
        causes.iter().any(|cause| cause.message.contains("immutable")),
        "{causes:#?}"
    );
    assert_eq!(schema("GatewayClass").validate(&new, None), []);
}

/// The value of a place in a map of causes by field.
fn fields(causes: &[Cause]) -> Vec<(&str, &str)> {
    causes
        .iter()
        .map(|cause| (cause.field.as_str(), cause.reason.as_str()))
        .collect()
}

/// kube-rs/kube#844, kube-rs/kube#1828: named fields beside a flattened map.
#[test]
fn properties_and_additional_properties_exclude_each_other() {
    for additional in [
        json!({"type": "string"}),
        json!(false),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
    ] {
        let schema = json!({"type": "object", "properties": {"spec": {
            "type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": additional,
        }}});
        let causes = Structural::parse(&schema).expect_err("refused");
        let field = "properties[spec].additionalProperties";
        assert_eq!(fields(&causes), [(field, "FieldValueForbidden")], "{additional}");
    }
    let preserve = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-preserve-unknown-fields": true,
    }}});
    let schema = Structural::parse(&preserve).expect("accepted");
    let mut object = json!({"spec": {"a": "x", "b": {"c": 1}}});
    assert_eq!(schema.prune(&mut object), [""; 0]);
    assert_eq!(object["spec"]["b"]["c"], 1);
}

/// kube-rs/kube#1279: tagged enums of every form either fit the structural rules or are refused.
#[test]
fn alternatives_with_types_or_tags_are_judged_by_the_structural_rules() {
    let spec = |spec: Value| json!({"type": "object", "properties": {"spec": spec}});
    let tagged = spec(json!({"type": "object", "required": ["kind"],
    "properties": {"kind": {"type": "string", "enum": ["A", "B"]}, "a": {"type": "string"}, "b": {"type": "integer"}},
    "oneOf": [
        {"required": ["a"], "properties": {"kind": {"enum": ["A"]}}},
        {"required": ["b"], "properties": {"kind": {"enum": ["B"]}}},
    ]}));
    let schema = Structural::parse(&tagged).expect("accepted");
    assert_eq!(
        schema.validate(&json!({"spec": {"kind": "A", "a": "x"}}), None),
        []
    );
    assert!(
        !schema
            .validate(&json!({"spec": {"kind": "A", "b": 1}}), None)
            .is_empty()
    );
    let unstructured = spec(json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"type": "string", "enum": ["A"]}}},
        {"type": "object", "properties": {"kind": {"type": "string", "enum": ["B"]}}},
    ]}));
    let causes = Structural::parse(&unstructured).expect_err("refused");
    for field in [
        "properties[spec].type",
        "properties[spec].oneOf[0].type",
        "properties[spec].oneOf[1].properties[kind].type",
    ] {
        assert!(
            causes.iter().any(|cause| cause.field == field),
            "{field}: {causes:#?}"
        );
    }
}

/// kube-rs/kube#1885: an optional integer-or-string that is null.
#[test]
fn null_and_absence_of_optional_fields() {
    let schema = Structural::parse(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "i": {"x-kubernetes-int-or-string": true, "nullable": true},
            "j": {"x-kubernetes-int-or-string": true},
            "s": {"type": "string", "nullable": true, "description": "documented"},
        }}}}),
    )
    .expect("accepted");
    for (given, kept) in [
        (
            json!({"i": null, "j": null, "s": null}),
            json!({"i": null, "s": null}),
        ),
        (json!({}), json!({})),
        (json!({"i": 1, "j": "x"}), json!({"i": 1, "j": "x"})),
    ] {
        let mut object = json!({"spec": given});
        schema.default(&mut object);
        assert_eq!(object["spec"], kept);
        assert_eq!(schema.validate(&object, None), [], "{given}");
    }
    let causes = schema.validate(&json!({"spec": {"j": true}}), None);
    assert_eq!(fields(&causes), [("spec.j", "FieldValueTypeInvalid")]);
    assert!(
        causes[0].message.contains("must be of type integer,string"),
        "{causes:?}"
    );
}
