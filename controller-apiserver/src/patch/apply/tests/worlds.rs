//! Where writes are made: on the rules of apply alone, or through a whole server.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::leaf::Leaf;
use super::model::{Conflicts, Owner, Version, Writer};
use crate::Server;
use crate::patch::apply::{ApplyError, Manager, ResetFields, Target, Versions, apply, track_update};
use crate::patch::typed::Schema;
use crate::schema::Structural;

pub(super) const KIND: &str = "Widget";

pub(super) fn api_version(version: Version) -> String {
    format!("x.io/v{version}")
}

/// Field and message of each cause.
pub(super) type Refusal = BTreeSet<(String, String)>;

/// An object that may not be there yet.
pub(super) trait World: Sized {
    fn new() -> Self;

    /// As `v1` shows it.
    fn live(&self) -> Option<&Value>;

    /// # Errors
    ///
    /// The conflicts.
    fn apply(&mut self, by: &Writer, config: &Value, force: bool) -> Result<(), Refusal>;

    /// Sends a whole object.
    fn update(&mut self, by: &Writer, new: &Value);

    /// A path as a version writes it.
    fn path(leaf: Leaf, version: Version) -> String;
}

/// What a world must say to conflicts.
pub(super) fn refusal<W: World>(conflicts: &Conflicts) -> Refusal {
    let cause = |(owner, version, leaf): &(Owner, Version, Leaf)| {
        let subresource = if owner.status {
            " with subresource \"status\""
        } else {
            ""
        };
        let using = owner
            .updates
            .map(|version| format!(" using {}", api_version(version)));
        let manager = &owner.manager;
        (
            format!(".{}", W::path(leaf, *version)),
            format!(
                "conflict with \"{manager}\"{subresource}{}",
                using.unwrap_or_default()
            ),
        )
    };
    conflicts.iter().map(cause).collect()
}

pub(super) fn schema() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let set = |items: &Value| json!({"type": "array", "x-kubernetes-list-type": "set", "items": items});
    let keyed = |keys: &[&str], mut properties: Value| {
        let mut required = keys.to_vec();
        for key in keys {
            if properties[key].is_null() {
                properties[key] = text.clone();
            }
            if properties[key].get("default").is_some() {
                required.retain(|name| name != key);
            }
        }
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "items": {"type": "object", "required": required, "properties": properties}})
    };
    let mut block = texts.clone();
    block["x-kubernetes-map-type"] = json!("atomic");
    let whole = json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": text});
    let number = json!({"type": "integer"});
    let mut spec = object(json!({
        "a": text, "b": text,
        "filled": {"type": "string", "default": "0"},
        "deep": object(json!({"x": text, "y": text, "deeper": object(json!({"z": text}))})),
        "map": texts,
        "structs": {"type": "object", "additionalProperties": object(json!({"x": text, "y": text}))},
        "set": set(&text), "numbers": set(&number),
        "plain": {"type": "array", "items": text}, "atomic": whole, "block": block,
        "list": keyed(&["name"], json!({"x": text, "y": text, "tags": set(&text),
            "rows": keyed(&["id"], json!({"id": number, "v": text}))})),
        "ports": keyed(&["port", "protocol"], json!({"port": number, "note": text,
            "protocol": {"type": "string", "default": "TCP"}})),
    }));
    spec["default"] = json!({});
    let status = object(json!({"phase": text, "conditions": keyed(&["type"], json!({"status": text}))}));
    object(json!({"spec": spec, "status": status}))
}

/// The rules of apply, with two versions that call some fields by other names.
pub(super) struct Rules {
    kind: Renamed,
    structural: Structural,
    live: Option<Value>,
}

struct Renamed([Schema; 2]);

/// Names of fields of the spec, in `v1` and in `v2`.
const NAMES: [(&str, &str); 4] = [
    ("a", "alpha"),
    ("deep", "under"),
    ("list", "entries"),
    ("ports", "doors"),
];

fn renamed(members: &mut Value, back: bool) {
    for (one, two) in NAMES {
        let (from, to) = if back { (two, one) } else { (one, two) };
        if let Some(value) = members.as_object_mut().and_then(|members| members.remove(from)) {
            members[to] = value;
        }
    }
}

impl Versions for Renamed {
    fn schema(&self, api_version: &str) -> Option<Schema> {
        let version = api_version.strip_prefix("x.io/v")?.parse::<usize>().ok()?;
        self.0.get(version - 1).cloned()
    }

    fn convert(&self, object: &Value, to: &str) -> Value {
        let mut object = object.clone();
        if object["apiVersion"] != to {
            if let Some(spec) = object.get_mut("spec") {
                renamed(spec, to == api_version(1));
            }
            object["apiVersion"] = to.into();
        }
        object
    }
}

impl Rules {
    fn written<T>(&self, by: &Writer, write: impl FnOnce(&Target<'_>, &Manager<'_>) -> T) -> T {
        let subresource = if by.status { "status" } else { "" };
        let manager = Manager {
            name: &by.manager,
            subresource,
            api_version: &api_version(by.version),
        };
        let target = Target {
            kind: KIND,
            versions: &self.kind,
            reset: &ResetFields::endpoint("", subresource, true),
            builtin: false,
        };
        write(&target, &manager)
    }

    fn seen(&self, by: &Writer) -> Option<Value> {
        let live = self.live.as_ref()?;
        Some(self.kind.convert(live, &api_version(by.version)))
    }

    /// What a server does to an object when its owners are settled.
    fn store(&mut self, by: &Writer, new: &Value) {
        let mut new = self.kind.convert(new, &api_version(1));
        let mut stored = match self.live.take() {
            Some(mut old) if by.status => {
                take(&mut new, &mut old, "status");
                take(&mut new["metadata"], &mut old["metadata"], "managedFields");
                old
            }
            Some(mut old) => {
                take(&mut old, &mut new, "status");
                new
            }
            None => {
                take(&mut json!({}), &mut new, "status");
                new
            }
        };
        self.structural.default(&mut stored);
        if stored["metadata"]["labels"] == json!({}) {
            take(&mut json!({}), &mut stored["metadata"], "labels");
        }
        self.live = Some(stored);
    }
}

/// Moves a member, or its absence.
fn take(from: &mut Value, to: &mut Value, name: &str) {
    let Some(to) = to.as_object_mut() else { return };
    match from.as_object_mut().and_then(|from| from.remove(name)) {
        Some(value) => to.insert(name.to_owned(), value),
        None => to.remove(name),
    };
}

impl World for Rules {
    fn new() -> Self {
        let one = schema();
        let mut two = one.clone();
        renamed(&mut two["properties"]["spec"]["properties"], false);
        Self {
            structural: Structural::parse(&one).unwrap(),
            kind: Renamed([one, two].map(|schema| Schema::custom(&schema))),
            live: None,
        }
    }

    fn live(&self) -> Option<&Value> {
        self.live.as_ref()
    }

    fn apply(&mut self, by: &Writer, config: &Value, force: bool) -> Result<(), Refusal> {
        let config = self.kind.convert(config, &api_version(by.version));
        let live = self.seen(by);
        let now = jiff::Timestamp::UNIX_EPOCH;
        let applied = self.written(by, |target, manager| {
            apply(target, live.as_ref(), &config, manager, force, now)
        });
        match applied {
            Ok(object) => {
                self.store(by, &object);
                Ok(())
            }
            Err(error @ ApplyError::Conflict(_)) => {
                let causes = error.causes().into_iter();
                Err(causes.map(|cause| (cause.field, cause.message)).collect())
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn update(&mut self, by: &Writer, new: &Value) {
        let mut new = new.clone();
        self.structural.default(&mut new);
        let mut new = self.kind.convert(&new, &api_version(by.version));
        let live = self.seen(by);
        let now = jiff::Timestamp::UNIX_EPOCH;
        self.written(by, |target, manager| {
            track_update(target, live.as_ref(), &mut new, manager, now);
        });
        self.store(by, &new);
    }

    fn path(leaf: Leaf, version: Version) -> String {
        let mut path = leaf.to_owned();
        for (one, two) in NAMES.iter().filter(|_| version == 2) {
            let Some(rest) = leaf.strip_prefix("spec.").and_then(|rest| rest.strip_prefix(one)) else {
                continue;
            };
            if rest.is_empty() || rest.starts_with(['.', '[']) {
                path = format!("spec.{two}{rest}");
            }
        }
        path
    }
}

/// A server with a custom kind of two versions.
pub(super) struct Whole {
    runtime: tokio::runtime::Runtime,
    server: Server,
    live: Option<Value>,
}

const OBJECTS: &str = "/namespaces/default/widgets";

impl Whole {
    fn send(&self, method: &str, path: &str, media: &str, body: &Value) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", media)
            .body(Full::new(Bytes::from(body.to_string())))
            .unwrap();
        self.runtime.block_on(async {
            let response = self.server.service().oneshot(request).await.unwrap();
            let code = response.status().as_u16();
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            (code, serde_json::from_slice(&bytes).unwrap_or_default())
        })
    }

    fn item(by: &Writer, query: &str) -> String {
        let status = if by.status { "/status" } else { "" };
        let manager = &by.manager;
        format!(
            "/apis/{}{OBJECTS}/a{status}?fieldManager={manager}{query}",
            api_version(by.version)
        )
    }

    fn look(&mut self) {
        let (code, live) = self.send(
            "GET",
            &format!("/apis/{}{OBJECTS}/a", api_version(1)),
            "",
            &Value::Null,
        );
        assert_eq!(code, 200, "{live}");
        self.live = Some(live);
    }
}

impl World for Whole {
    fn new() -> Self {
        let version = |number: Version| {
            json!({"name": format!("v{number}"), "served": true, "storage": number == 1,
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema()}})
        };
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.x.io"},
            "spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": KIND},
                "versions": [version(1), version(2)]},
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let server = runtime.block_on(async {
            let server = Server::new();
            server.install([definition]).await.unwrap();
            server
        });
        Self {
            runtime,
            server,
            live: None,
        }
    }

    fn live(&self) -> Option<&Value> {
        self.live.as_ref()
    }

    fn apply(&mut self, by: &Writer, config: &Value, force: bool) -> Result<(), Refusal> {
        let mut config = config.clone();
        config["apiVersion"] = api_version(by.version).into();
        let query = if force { "&force=true" } else { "" };
        let (code, answer) = self.send(
            "PATCH",
            &Self::item(by, query),
            "application/apply-patch+yaml",
            &config,
        );
        if code == 409 {
            assert_eq!(answer["reason"], "Conflict");
            let causes = answer["details"]["causes"].as_array().unwrap().iter();
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            return Err(causes
                .map(|cause| (text(&cause["field"]), text(&cause["message"])))
                .collect());
        }
        assert!(code < 300, "{answer}");
        self.look();
        Ok(())
    }

    fn update(&mut self, by: &Writer, new: &Value) {
        let mut new = new.clone();
        new["apiVersion"] = api_version(by.version).into();
        let (code, answer) = if let Some(live) = &self.live {
            new["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
            self.send("PUT", &Self::item(by, ""), "application/json", &new)
        } else {
            let path = format!(
                "/apis/{}{OBJECTS}?fieldManager={}",
                api_version(by.version),
                by.manager
            );
            self.send("POST", &path, "application/json", &new)
        };
        assert!(code < 300, "{answer}");
        self.look();
    }

    fn path(leaf: Leaf, _: Version) -> String {
        leaf.to_owned()
    }
}
