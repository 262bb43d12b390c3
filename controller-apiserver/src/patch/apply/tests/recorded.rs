//! The recorded conversations of the topic `ssa`, one write at a time: the live object is the one the
//! real server had, and the owners that come out must be those it answered with.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::patch::{
    apply::{ApplyError, Manager, ResetFields, Target, Versions, apply, scale, track_update},
    typed::{Schema, builtin},
};

struct Kind {
    name: String,
    schemas: BTreeMap<String, Schema>,
    builtin: bool,
}

impl Versions for Kind {
    fn schema(&self, api_version: &str) -> Option<Schema> {
        self.schemas.get(api_version).cloned()
    }
}

fn kinds(setup: &Value) -> BTreeMap<&'static str, Kind> {
    let mut kinds = BTreeMap::new();
    let mut add = |plural, kind: &str, schemas: Vec<(String, Schema)>, builtin| {
        let name = kind.to_owned();
        let schemas = schemas.into_iter().collect();
        kinds.insert(
            plural,
            Kind {
                name,
                schemas,
                builtin,
            },
        );
    };
    let of = |group: &str, version: &str, kind: &str| {
        let api_version = format!("{group}/{version}").trim_start_matches('/').to_owned();
        vec![(api_version, builtin(group, version, kind).unwrap())]
    };
    add("configmaps", "ConfigMap", of("", "v1", "ConfigMap"), true);
    add("deployments", "Deployment", of("apps", "v1", "Deployment"), true);
    add("scale", "Scale", of("autoscaling", "v1", "Scale"), true);
    for step in setup.as_array().into_iter().flatten() {
        let Some(versions) = step["body"]["spec"]["versions"].as_array() else {
            continue;
        };
        let schemas = versions.iter().map(|version| {
            let api_version = format!("<group>/{}", version["name"].as_str().unwrap());
            (api_version, Schema::custom(&version["schema"]["openAPIV3Schema"]))
        });
        add("widgets", "Widget", schemas.collect(), false);
    }
    kinds
}

/// Owners as a set: times count by presence only.
fn owners(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut owners: Vec<String> = entries
        .into_iter()
        .flatten()
        .map(|entry| {
            let mut entry = entry.clone();
            if entry.get("time").is_some() {
                entry["time"] = json!("present");
            }
            entry.to_string()
        })
        .collect();
    owners.sort();
    owners
}

/// What was applied must be in the answer, which may have more: defaults and server fields.
fn assert_within(part: &Value, whole: &Value, path: &str) {
    match (part, whole) {
        // The recording leaves out what its scenario ignores.
        (_, Value::Null) if path.starts_with(".spec.template") => {}
        (Value::Object(part), _) => {
            for (key, value) in part {
                let reset = path.is_empty() && key == "status";
                let counted = ["resourceVersion", "generation", "managedFields"];
                if !value.is_null() && !reset && !counted.contains(&key.as_str()) {
                    assert_within(value, &whole[key], &format!("{path}.{key}"));
                }
            }
        }
        (Value::Array(part), Value::Array(whole)) => {
            assert_eq!(part.len(), whole.len(), "{path}");
            for (index, (part, whole)) in part.iter().zip(whole).enumerate() {
                assert_within(part, whole, &format!("{path}[{index}]"));
            }
        }
        _ => assert_eq!(part, whole, "{path}"),
    }
}

fn filled(scenario: &Value) -> Value {
    let mut text = scenario.to_string();
    for (from, to) in [
        ("${group}", "<group>"),
        ("${ns}", "<ns>"),
        ("${o1.metadata.uid}", "<uid:1>"),
        ("${o2.metadata.uid}", "<uid:3>"),
    ] {
        text = text.replace(from, to);
    }
    serde_json::from_str(&text).unwrap()
}

struct Write<'a> {
    step: &'a Value,
    answer: &'a Value,
    kind: &'a Kind,
    manager: Manager<'a>,
}

impl Write<'_> {
    fn reset(&self) -> ResetFields {
        let kind = if self.kind.builtin {
            self.kind.name.as_str()
        } else {
            ""
        };
        ResetFields::endpoint(kind, self.manager.subresource, kind != "ConfigMap")
    }

    fn apply(&self, live: Option<&Value>) -> Option<Result<Value, ApplyError>> {
        let applied: Value = match self.step["rawBody"].as_str() {
            // What is no object is refused before, by who reads the body.
            Some(text) => serde_saphyr::from_str(text).ok().filter(Value::is_object)?,
            None => self.step["body"].clone(),
        };
        let reset = self.reset();
        let target = Target {
            kind: &self.kind.name,
            versions: self.kind,
            reset: &reset,
            builtin: self.kind.builtin,
        };
        let force = self.step["query"]["force"] == "true";
        Some(apply(
            &target,
            live,
            &applied,
            &self.manager,
            force,
            jiff::Timestamp::UNIX_EPOCH,
        ))
    }

    fn update(&self, old: Option<&Value>) -> Value {
        let mut new = self.answer["body"].clone();
        let metadata = new["metadata"].as_object_mut().unwrap();
        metadata.remove("managedFields");
        let reset = self.reset();
        let target = Target {
            kind: &self.kind.name,
            versions: self.kind,
            reset: &reset,
            builtin: self.kind.builtin,
        };
        track_update(&target, old, &mut new, &self.manager, jiff::Timestamp::UNIX_EPOCH);
        new
    }

    /// The object as it is stored then.
    fn check_apply(&self, live: Option<&Value>, id: &str) -> Value {
        let mut stored = json!({});
        let Some(result) = self.apply(live) else {
            return stored;
        };
        let code = self.answer["code"].as_u64().unwrap();
        let body = &self.answer["body"];
        match (code, result) {
            (200 | 201, Ok(object)) => {
                assert_eq!(owners(&object), owners(body), "{id}");
                let mut object = object;
                stored = object.clone();
                if !self.manager.subresource.is_empty() || self.reset_status() {
                    stored = json!({});
                }
                object["apiVersion"] = body["apiVersion"].clone();
                if self.manager.subresource.is_empty() {
                    assert_within(&object, body, "");
                }
            }
            (422, _) => {}
            (code, Err(error)) => {
                assert_eq!(u64::from(error.code()), code, "{id}: {error}");
                assert_eq!(error.to_string(), body["message"].as_str().unwrap(), "{id}");
                let causes = serde_json::to_value(error.causes()).unwrap();
                let expected = body["details"]["causes"].as_array();
                assert_eq!(causes.as_array(), Some(expected.unwrap_or(&Vec::new())), "{id}");
            }
            (code, Ok(object)) => panic!("{id}: applied, wanted {code}: {object}"),
        }
        stored
    }

    fn reset_status(&self) -> bool {
        self.step["body"].get("status").is_some()
    }
}

fn play(recording: &Value) {
    let scenario = filled(&recording["scenario"]);
    let kinds = kinds(&scenario["setup"]);
    let mut objects: BTreeMap<String, Value> = BTreeMap::new();
    for step in scenario["steps"].as_array().unwrap() {
        let id = step["id"].as_str().unwrap();
        let results = recording["results"].as_array().unwrap();
        let Some(answer) = results.iter().find(|result| result["id"] == id) else {
            continue;
        };
        let path = step["path"].as_str().unwrap();
        let parts: Vec<&str> = path
            .split('/')
            .skip_while(|part| *part != "<ns>")
            .skip(1)
            .collect();
        let (plural, subresource) = (parts[0], parts.get(2).copied().unwrap_or_default());
        let name = match parts.get(1) {
            Some(name) => (*name).to_owned(),
            None => step["body"]["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        };
        let key = format!("{plural}/{name}");
        let api_version = match plural {
            "configmaps" => "v1".to_owned(),
            "deployments" => "apps/v1".to_owned(),
            _ => format!("<group>/{}", path.split('/').nth(3).unwrap()),
        };
        let agent = step["headers"]["User-Agent"].as_str().unwrap_or("apicases/1");
        let default = super::super::default_manager(agent);
        let manager = Manager {
            name: step["query"]["fieldManager"].as_str().unwrap_or(&default),
            subresource,
            api_version: &api_version,
        };
        let write = Write {
            step,
            answer,
            kind: &kinds[plural],
            manager,
        };
        let mut applied = json!({});
        let is_apply = step["contentType"] == "application/apply-patch+yaml";
        match (step["method"].as_str().unwrap(), subresource) {
            ("GET" | "DELETE", _) if answer["code"] == 200 => {}
            ("GET" | "DELETE", _) => {
                objects.remove(&key);
            }
            (_, "scale") => {
                scaled(objects.get_mut(&key).unwrap(), &write, &kinds["scale"], is_apply);
                continue;
            }
            _ if is_apply => applied = write.check_apply(objects.get(&key), id),
            _ if answer["code"].as_u64() < Some(300) => {
                let object = write.update(objects.get(&key));
                assert_eq!(owners(&object), owners(&answer["body"]), "{id}");
            }
            _ => {}
        }
        if answer["code"].as_u64() < Some(300) && answer["body"]["kind"] != "Status" {
            crate::patch::merge::apply(&mut applied, &answer["body"]).unwrap();
            applied["metadata"] = answer["body"]["metadata"].clone();
            objects.insert(key, applied);
        }
    }
}

/// A write through the scale endpoint; the next answers of the object itself show the owners.
fn scaled(parent: &mut Value, write: &Write<'_>, kind: &Kind, is_apply: bool) {
    let path = ["spec", "replicas"];
    let mut before = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "web", "namespace": "<ns>", "uid": "u"},
        "spec": {"replicas": parent["spec"]["replicas"]}, "status": {"replicas": 0},
    });
    before["metadata"]["managedFields"] = scale::to_scale(parent, &path).unwrap_or_default();
    let write = Write {
        manager: Manager {
            api_version: "autoscaling/v1",
            ..write.manager
        },
        kind,
        ..*write
    };
    let after = if is_apply {
        write.apply(Some(&before)).unwrap().unwrap()
    } else {
        write.update(Some(&before))
    };
    scale::to_parent(parent, &after, "apps/v1", &path);
    parent["spec"]["replicas"] = write.answer["body"]["spec"]["replicas"].clone();
}

#[test]
fn owners_are_those_a_real_server_names() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/ssa");
    let mut played = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let recording: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        eprintln!("{}", path.display());
        play(&recording);
        played += 1;
    }
    assert!(played >= 18, "{played}");
}
