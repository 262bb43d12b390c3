//! Variations of a scenario that a server must answer as it answered the recorded one: the facts are
//! about any kind, any field and any encoding, not about those that happened to be recorded.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Value, json};

use crate::exchange::{self, exchanged};

/// How a scenario is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variation {
    #[default]
    AsRecorded,
    /// Custom kinds, their plurals and the fields of their schemas have other names; before each write
    /// the same is asked for as a dry run, which must change nothing; bodies are sent as YAML.
    Varied,
    /// Steps that change nothing, reads and refused writes, come in another order among themselves.
    Shuffled,
    /// A built-in kind stands for ConfigMap.
    Exchanged(&'static exchange::Kind),
}

impl Variation {
    /// What is sent before a step, if anything is.
    pub fn rehearsal(self, step: &Value) -> Option<Value> {
        if self != Self::Varied {
            return None;
        }
        let method = step["method"].as_str()?;
        let deletes_with_body = method == "DELETE" && (step.get("body").or(step.get("rawBody"))).is_some();
        let asked = step["query"].get("dryRun").is_some() || step["path"].as_str()?.contains("dryRun");
        if method == "GET" || deletes_with_body || asked {
            return None;
        }
        let mut rehearsal = step.clone();
        if !rehearsal["query"].is_object() {
            rehearsal["query"] = json!({});
        }
        rehearsal["query"]["dryRun"] = "All".into();
        rehearsal["id"] = Value::Null;
        Some(rehearsal)
    }

    /// The body of a step in another encoding, and its content type.
    pub fn encode(self, step: &Value, body: &Value) -> Option<(String, &'static str)> {
        let whole = matches!(step["method"].as_str(), Some("POST" | "PUT" | "DELETE"));
        let free = self == Self::Varied && whole && step.get("contentType").is_none();
        let text = free.then(|| serde_saphyr::to_string(body).unwrap())?;
        Some((text, "application/yaml"))
    }

    /// The order in which the steps are played.
    pub fn order(self, recording: &Value) -> Vec<usize> {
        let steps = recording["scenario"]["steps"].as_array().unwrap();
        let mut order: Vec<usize> = (0..steps.len()).collect();
        if self != Self::Shuffled {
            return order;
        }
        let mut random = fastrand::Rng::with_seed(7);
        let mut start = 0;
        for end in 0..=steps.len() {
            let still = end < steps.len() && changes_nothing(&steps[end], recording);
            if !still || refers(&steps[end], &steps[start..end]) {
                random.shuffle(&mut order[start..end]);
                start = if still { end } else { end + 1 };
            }
        }
        order
    }

    /// The recording of the scenario that is played; none if it cannot be varied so.
    pub fn of(self, recording: &Value) -> Option<Value> {
        match self {
            Self::Varied => Some(renamed(recording)),
            Self::Exchanged(kind) => exchanged(recording, kind),
            Self::AsRecorded | Self::Shuffled => Some(recording.clone()),
        }
    }
}

/// A read, or a write that is refused.
fn changes_nothing(step: &Value, recording: &Value) -> bool {
    let Some(method) = step["method"].as_str() else {
        return false;
    };
    let results = recording["results"].as_array().unwrap();
    let result = results.iter().find(|result| result["id"] == step["id"]);
    method == "GET" || result.is_some_and(|result| result["code"].as_u64() >= Some(400))
}

/// The step takes a value from the answer to one of the others.
fn refers(step: &Value, others: &[Value]) -> bool {
    let text = step.to_string();
    let mut names = others.iter().filter_map(|other| other["id"].as_str());
    names.any(|id| text.contains(&format!("${{{id}")))
}

/// Words that mean something to the server, to a rule, or to the format of a scenario.
const FIXED: [&str; 59] = [
    "cidr",
    "kind",
    "name",
    "names",
    "namespace",
    "metadata",
    "labels",
    "annotations",
    "spec",
    "status",
    "type",
    "value",
    "values",
    "items",
    "data",
    "conditions",
    "reason",
    "message",
    "replicas",
    "selector",
    "size",
    "string",
    "list",
    "map",
    "self",
    "filter",
    "exists",
    "matches",
    "contains",
    "default",
    "format",
    "required",
    "properties",
    "pattern",
    "path",
    "body",
    "query",
    "rules",
    "template",
    "image",
    "phase",
    "time",
    "date",
    "duration",
    "email",
    "uuid",
    "ipv4",
    "ipv6",
    "byte",
    "password",
    "hostname",
    "version",
    "group",
    "scope",
    "open",
    "port",
    "ports",
    "protocol",
    "host",
];

/// The recording with other names for custom kinds and the fields of their schemas.
fn renamed(recording: &Value) -> Value {
    let mut words = BTreeMap::new();
    gather(&recording["scenario"], &mut words);
    let mut text = recording.to_string();
    for (word, instead) in words {
        let whole = Regex::new(&format!(r"\b{}\b", regex::escape(&word))).unwrap();
        text = whole.replace_all(&text, instead.as_str()).into_owned();
    }
    serde_json::from_str(&text).unwrap()
}

/// Finds what definitions name.
fn gather(value: &Value, words: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            if let Some(names) = map.get("names").filter(|names| names.get("plural").is_some()) {
                kinds(names, words);
            }
            if let Some(Value::Object(fields)) = map.get("properties") {
                for field in fields.keys() {
                    let plain = field.chars().all(|c| c.is_ascii_alphanumeric());
                    if plain && field.len() > 3 && !FIXED.contains(&field.as_str()) {
                        words.insert(field.clone(), format!("{field}ly"));
                    }
                }
            }
            map.values().for_each(|value| gather(value, words));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, words)),
        _ => {}
    }
}

fn kinds(names: &Value, words: &mut BTreeMap<String, String>) {
    let sane = |text: &&str| text.len() > 3 && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let Some(kind) = names["kind"].as_str().filter(sane) else {
        return;
    };
    words.insert(kind.to_owned(), format!("{kind}on"));
    words.insert(format!("{kind}List"), format!("{kind}onList"));
    words.insert(kind.to_lowercase(), format!("{}on", kind.to_lowercase()));
    if let Some(plural) = names["plural"].as_str().filter(sane) {
        words.insert(plural.to_owned(), format!("{plural}ons"));
    }
}
