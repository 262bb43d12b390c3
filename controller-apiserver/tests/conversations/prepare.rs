//! What is made of an answer before it is compared: the names of the run become placeholders, and
//! values that are never the same become words.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use regex::{Captures, Regex};
use serde_json::Value;

use crate::path::{self, Answers, Pattern, pattern};

static TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").unwrap());
static ACCESS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(kube-api-access-)[a-z0-9]{5}\b").unwrap());
static HASH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\?hash=)[0-9A-F]+").unwrap());
static REVISION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(resource ?version[^0-9<]{0,30}|current: )\d+( \(\d+\))?").unwrap());
static AGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^((\d+[smhdy])+|<time>|<microtime>)$").unwrap());

/// The names of a run, and what is ignored in it.
#[derive(Debug)]
pub struct Preparation {
    /// Name and placeholder, longest name first.
    pub names: Vec<(String, String)>,
    pub ignore: Vec<Pattern>,
    pub any_order: Vec<Pattern>,
    pub now: Timestamp,
    columns: Vec<String>,
}

impl Preparation {
    pub fn new(scenario: &Value, global: &Value, answers: &Answers, now: Timestamp) -> Self {
        let list = |value: &Value| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            items.map(|item| item.as_str().unwrap().to_owned()).collect()
        };
        let keep = list(&scenario["keep"]);
        let mut ignore: Vec<Pattern> = list(&global["ignore"])
            .iter()
            .filter(|text| !keep.contains(text))
            .map(|text| pattern(text))
            .collect();
        ignore.extend(list(&scenario["ignore"]).iter().map(|text| pattern(text)));
        let any_order = list(&global["anyOrder"])
            .iter()
            .chain(&list(&scenario["anyOrder"]))
            .map(|text| pattern(text))
            .collect();
        let names = ["ns3", "ns2", "ns", "group", "revgroup"]
            .map(|name| (path::text(&answers[name]), format!("<{name}>")))
            .into();
        Self {
            names,
            ignore,
            any_order,
            now,
            columns: Vec::new(),
        }
    }

    /// Names of the run as placeholders.
    pub fn named(&self, text: &str) -> String {
        self.names
            .iter()
            .fold(text.to_owned(), |text, (name, placeholder)| {
                text.replace(name, placeholder)
            })
    }

    /// A time of this run, not one that the scenario sent.
    pub fn is_recent(&self, text: &str) -> bool {
        let day = SignedDuration::from_hours(24);
        text.parse::<Timestamp>()
            .is_ok_and(|time| time > self.now - day && time < self.now + day * 400)
    }

    /// Prepares a body or an event.
    pub fn prepare(&mut self, mut body: Value, step: &Value, answers: &Answers) -> Value {
        path::pick(&mut body, &path::substitute(&step["pick"], answers));
        if body["kind"] == "Status" && body["apiVersion"] == "v1" {
            return self.soften(body, "");
        }
        let own = |field: &str| -> Vec<Pattern> {
            path::substitute(&step[field], answers)
                .as_array()
                .into_iter()
                .flatten()
                .map(|text| pattern(text.as_str().unwrap()))
                .collect()
        };
        let mut ignore = self.ignore.clone();
        ignore.extend(own("ignore"));
        path::strip(&mut body, &ignore, &mut Vec::new());
        let mut body = self.soften(body, "");
        let mut order = self.any_order.clone();
        order.extend(own("anyOrder"));
        path::sort(&mut body, &order, &mut Vec::new());
        body
    }

    fn soften(&mut self, value: Value, key: &str) -> Value {
        match value {
            Value::Object(map) => {
                let is_table = map.get("kind").is_some_and(|kind| kind == "Table");
                let columns = map.get("columnDefinitions").cloned();
                let mut softened: serde_json::Map<_, _> = map
                    .into_iter()
                    .map(|(key, value)| (self.named(&key), self.soften(value, &key)))
                    .collect();
                if is_table {
                    self.soften_ages(columns.as_ref(), &mut softened);
                }
                softened.into()
            }
            Value::Array(items) => {
                let mut items: Vec<Value> = items.into_iter().map(|item| self.soften(item, key)).collect();
                if key == "managedFields" {
                    let parts = ["manager", "operation", "subresource", "apiVersion"];
                    items.sort_by_key(|entry| parts.map(|part| path::text(&entry[part])));
                }
                items.into()
            }
            Value::String(text) => self.soften_text(&text, key).into(),
            other => other,
        }
    }

    fn soften_text(&self, text: &str, key: &str) -> String {
        let mut text = self.named(text);
        if !matches!(key, "creationTimestamp" | "deletionTimestamp") {
            text = TIME
                .replace_all(&text, |found: &Captures<'_>| {
                    match (self.is_recent(&found[0]), found.get(1)) {
                        (false, _) => found[0].to_owned(),
                        (true, Some(_)) => "<microtime>".to_owned(),
                        (true, None) => "<time>".to_owned(),
                    }
                })
                .into_owned();
        }
        text = ACCESS.replace_all(&text, "${1}<rand>").into_owned();
        text = HASH.replace_all(&text, "${1}<hash>").into_owned();
        if key == "message" {
            text = REVISION.replace_all(&text, "${1}<num>").into_owned();
        }
        text
    }

    fn soften_ages(&mut self, columns: Option<&Value>, table: &mut serde_json::Map<String, Value>) {
        if let Some(columns) = columns.and_then(Value::as_array) {
            self.columns = columns.iter().map(|column| path::text(&column["name"])).collect();
        }
        let ages = ["Age", "First Seen", "Last Seen", "Created At"];
        for row in table
            .get_mut("rows")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            for (cell, column) in row["cells"]
                .as_array_mut()
                .into_iter()
                .flatten()
                .zip(&self.columns)
            {
                if ages.contains(&column.as_str()) && AGE.is_match(&path::text(cell)) {
                    *cell = "<age>".into();
                }
            }
        }
    }
}
