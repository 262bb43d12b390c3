//! Built-in kinds in place of the recorded one: most scenarios that are about a ConfigMap are about any
//! object, and are answered alike for a Secret, a Role, a `LimitRange`….

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// A kind that can stand for ConfigMap, and what is otherwise about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    pub plural: &'static str,
    pub api_version: &'static str,
    pub data: Data,
    /// What every object has, as JSON: its Go type writes it, or it is a default.
    pub always: &'static str,
    /// DELETE answers with the object, not with a Status.
    pub answers_deleted: bool,
    /// Scenarios that are not true of it, by their beginning.
    pub except: &'static [&'static str],
}

/// What the members of `data` become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    Annotations,
    Base64,
}

/// About `binaryData`, `immutable`, columns of tables, the ConfigMap that every namespace has, or sent as a
/// text that says `data`.
const ONLY_CONFIG_MAPS: [&str; 6] = [
    "builtins/configmap-immutable",
    "list/all-namespaces",
    "list/table-builtin",
    "meta/configmap-binarydata",
    "meta/field-validation-builtin",
    "ssa/body-formats",
];

/// About data and annotations.
const BOTH: [&str; 2] = ["patch/json-basic", "ssa/update-managers"];

/// The kinds.
pub static KINDS: [Kind; 5] = [
    Kind {
        name: "Secret",
        plural: "secrets",
        api_version: "v1",
        data: Data::Base64,
        always: r#"{"type": "Opaque"}"#,
        answers_deleted: false,
        // The type, a default, is its creator's; a right to secrets is what one has not; and the other kind
        // that a ConfigMap cannot become is Secret.
        except: &["ssa/", "access/cluster-role", "patch/identity-fields"],
    },
    Kind {
        name: "ServiceAccount",
        plural: "serviceaccounts",
        api_version: "v1",
        data: Data::Annotations,
        always: "{}",
        answers_deleted: true,
        except: &[],
    },
    Kind {
        name: "LimitRange",
        plural: "limitranges",
        api_version: "v1",
        data: Data::Annotations,
        always: r#"{"spec": {"limits": null}}"#,
        answers_deleted: false,
        // PUT creates it.
        except: &["concurrency/put-recreated-object"],
    },
    Kind {
        name: "ResourceQuota",
        plural: "resourcequotas",
        api_version: "v1",
        data: Data::Annotations,
        always: r#"{"spec": {}, "status": {}}"#,
        answers_deleted: true,
        // It has a status.
        except: &["subresources/missing-subresources"],
    },
    Kind {
        name: "Role",
        plural: "roles",
        api_version: "rbac.authorization.k8s.io/v1",
        data: Data::Annotations,
        always: r#"{"rules": null}"#,
        answers_deleted: false,
        // Rights to it are rights to another group; its names may hold more; PUT creates it.
        except: &[
            "access/",
            "meta/invalid-names",
            "meta/dry-run",
            "concurrency/put-recreated-object",
        ],
    },
];

/// The recording as it would be of another kind; none if it is not true of that.
pub fn exchanged(recording: &Value, kind: &Kind) -> Option<Value> {
    let scenario = &recording["scenario"];
    let title = format!("{}/{}", scenario["topic"].as_str()?, scenario["name"].as_str()?);
    let excepted = ONLY_CONFIG_MAPS.iter().chain(kind.except);
    let both = BOTH.iter().filter(|_| kind.data == Data::Annotations);
    if excepted.chain(both).any(|beginning| title.starts_with(beginning)) {
        return None;
    }
    let mut recording = recording.clone();
    let mut about = 0;
    for list in ["setup", "steps"] {
        for step in recording["scenario"][list].as_array_mut().into_iter().flatten() {
            about += kind.step(step);
        }
    }
    if about == 0 {
        return None;
    }
    kind.answer(&mut recording["results"]);
    if kind.answers_deleted {
        let mut results = recording["results"].take();
        without_deleted(&mut recording["scenario"]["steps"], &mut results);
        recording["results"] = results;
    }
    Some(recording)
}

/// The bodies of answers to DELETE are not compared.
fn without_deleted(steps: &mut Value, results: &mut Value) {
    for step in steps.as_array_mut().into_iter().flatten() {
        let results = results.as_array_mut().into_iter().flatten();
        let mut results = results.filter(|result| result["id"] == step["id"]);
        let Some(result) = results.next().and_then(Value::as_object_mut) else {
            continue;
        };
        if step["method"] == "DELETE" {
            step["bodyless"] = true.into();
            result.remove("body");
        }
        if let (Some(steps), Some(results)) = (step.get_mut("during"), result.get_mut("during")) {
            without_deleted(steps, results);
        }
    }
}

impl Kind {
    fn group(&self) -> Option<&'static str> {
        self.api_version.split_once('/').map(|(group, _)| group)
    }

    fn path(&self, path: &str) -> Option<String> {
        let is_about = path.split(['/', '?']).any(|segment| segment == "configmaps");
        let root = match self.group() {
            Some(_) => format!("/apis/{}", self.api_version),
            None => "/api/v1".to_owned(),
        };
        is_about.then(|| {
            path.replacen("/api/v1", &root, 1)
                .replacen("/configmaps", &format!("/{}", self.plural), 1)
        })
    }

    /// Exchanges the kind in a step; how many requests were about it.
    fn step(&self, step: &mut Value) -> usize {
        let mut about = 0;
        for place in ["", "/watch", "/wait"] {
            let Some(request) = step.pointer_mut(place).filter(|request| request.is_object()) else {
                continue;
            };
            let path = request.get("path").and_then(Value::as_str);
            let path = path.and_then(|path| self.path(path));
            if let Some(path) = &path {
                request["path"] = path.as_str().into();
                about += 1;
            }
            if let Some(body) = request.get_mut("body") {
                self.sent(body, path.is_some());
            }
            if let Some(conditions) = request.get_mut("until").and_then(Value::as_array_mut) {
                for at in conditions
                    .iter_mut()
                    .filter_map(|condition| condition.get_mut("at"))
                {
                    self.name_fields(at);
                }
            }
        }
        let during = step.get_mut("during").and_then(Value::as_array_mut);
        for step in during.into_iter().flatten() {
            about += self.step(step);
        }
        about
    }

    /// A body of a request, `about` an object of the kind.
    fn sent(&self, body: &mut Value, about: bool) {
        if let (Some(operations), true) = (body.as_array_mut(), about) {
            for operation in operations {
                self.operation(operation);
            }
            return;
        }
        self.kinds(body);
        if about && let Some(body) = body.as_object_mut() {
            self.data(body);
        }
    }

    /// An operation of a JSON patch.
    fn operation(&self, operation: &mut Value) {
        let path = operation.get("path").and_then(Value::as_str);
        let path = path.unwrap_or_default().to_owned();
        match path.as_str() {
            "" => {
                if let Some(object) = operation.get_mut("value").and_then(Value::as_object_mut) {
                    self.data(object);
                }
            }
            path if self.data == Data::Base64 && path.starts_with("/data") => {
                if let Some(value) = operation.get_mut("value") {
                    encode(value);
                }
            }
            _ => {}
        }
        for key in ["path", "from"] {
            let Some(path) = operation.get_mut(key).filter(|_| self.data == Data::Annotations) else {
                continue;
            };
            if let Some(rest) = path.as_str().and_then(|path| path.strip_prefix("/data")) {
                *path = format!("/metadata/annotations{rest}").into();
            }
        }
    }

    /// Names of the kind, wherever they are.
    fn kinds(&self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                if members.get("kind").is_some_and(|kind| kind == "ConfigMap") {
                    members.insert("kind".to_owned(), self.name.into());
                    if members.get("apiVersion").is_some_and(|version| version == "v1") {
                        members.insert("apiVersion".to_owned(), self.api_version.into());
                    }
                }
                members.values_mut().for_each(|value| self.kinds(value));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.kinds(item)),
            Value::String(text) if text == "configmaps" => *value = self.plural.into(),
            _ => {}
        }
    }

    /// Puts the data of an object where the kind has it.
    fn data(&self, object: &mut Map<String, Value>) {
        let Some(data) = object.get_mut("data") else {
            return;
        };
        if self.data == Data::Base64 {
            return encode(data);
        }
        let data = object.remove("data").unwrap_or_default();
        let metadata = object.entry("metadata").or_insert_with(|| json!({}));
        if metadata.is_null() {
            *metadata = json!({});
        }
        match (&mut metadata["annotations"], data) {
            (Value::Object(annotations), Value::Object(data)) => annotations.extend(data),
            (annotations, data) => *annotations = data,
        }
    }

    /// What is answered: objects, lists, events, refusals.
    fn answer(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.answer(item)),
            Value::Object(members) => {
                let of_core = members.get("apiVersion").is_some_and(|version| version == "v1");
                match members.get("kind").and_then(Value::as_str) {
                    Some("ConfigMap") if of_core && members.contains_key("metadata") => self.object(members),
                    Some("ConfigMapList") if of_core => {
                        members.insert("kind".to_owned(), format!("{}List", self.name).into());
                        members.insert("apiVersion".to_owned(), self.api_version.into());
                        let items = members.get_mut("items").and_then(Value::as_array_mut);
                        for item in items.into_iter().flatten() {
                            self.object(item.as_object_mut().unwrap());
                            item.as_object_mut()
                                .unwrap()
                                .retain(|key, _| key != "kind" && key != "apiVersion");
                        }
                    }
                    Some("Status") if of_core => self.refusal(members),
                    _ => members.values_mut().for_each(|value| self.answer(value)),
                }
            }
            Value::String(text) if text == "configmaps" => *value = self.plural.into(),
            _ => {}
        }
    }

    fn object(&self, object: &mut Map<String, Value>) {
        object.insert("kind".to_owned(), self.name.into());
        object.insert("apiVersion".to_owned(), self.api_version.into());
        self.data(object);
        // A bookmark is an object that nobody has filled in.
        if self.data == Data::Annotations || object["metadata"].get("name").is_some() {
            let always: Map<String, Value> = serde_json::from_str(self.always).unwrap();
            object.extend(always);
        }
        let metadata = object.get_mut("metadata").unwrap();
        self.kinds(metadata);
        let entries = metadata.get_mut("managedFields").and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten() {
            entry["apiVersion"] = self.api_version.into();
            let fields = entry["fieldsV1"].as_object_mut().unwrap();
            if let Some(owned) = fields.remove("f:data").filter(|_| self.data == Data::Annotations) {
                fields.entry("f:metadata").or_insert_with(|| json!({}))["f:annotations"] = owned;
            }
        }
    }

    fn refusal(&self, status: &mut Map<String, Value>) {
        let Some(details) = status.get_mut("details") else {
            return;
        };
        let kind = match details.get("kind").and_then(Value::as_str) {
            Some("ConfigMap") => Some(self.name),
            Some("configmaps") => Some(self.plural),
            _ => None,
        };
        if let Some(kind) = kind {
            details["kind"] = kind.into();
            if let Some(group) = self.group() {
                details["group"] = group.into();
            }
        }
        let causes = details.get_mut("causes").and_then(Value::as_array_mut);
        for cause in causes.into_iter().flatten() {
            if let Some(field) = cause.get_mut("field") {
                self.name_fields(field);
            }
        }
    }

    /// A path that begins with `data`.
    fn name_fields(&self, path: &mut Value) {
        let Some(text) = path.as_str().filter(|_| self.data == Data::Annotations) else {
            return;
        };
        let (dot, rest) = match text.strip_prefix('.') {
            Some(rest) => (".", rest),
            None => ("", text),
        };
        if let Some(rest) = rest
            .strip_prefix("data")
            .filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        {
            *path = format!("{dot}metadata.annotations{rest}").into();
        }
    }
}

fn encode(value: &mut Value) {
    match value {
        Value::String(text) => *text = STANDARD.encode(&*text),
        Value::Object(members) => {
            let data = members.iter_mut().filter(|(key, _)| !key.starts_with('$'));
            data.for_each(|(_, value)| encode(value));
        }
        _ => {}
    }
}
