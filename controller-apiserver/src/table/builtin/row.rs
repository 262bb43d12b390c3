//! What printers ask of an object, in the words in which servers answer.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::table::age;

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// An object that is printed at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

impl<'a> Row<'a> {
    pub(super) fn name(&self) -> Value {
        self.text("metadata.name")
    }

    pub(super) fn age(&self) -> Value {
        self.since("metadata.creationTimestamp")
    }

    pub(super) fn since(&self, path: &str) -> Value {
        age::since(self.at(path), self.now)
    }

    /// The value at a dotted path; `null` where there is none.
    pub(super) fn at(&self, path: &str) -> &'a Value {
        path.split('.').fold(self.object, |value, part| &value[part])
    }

    pub(super) fn str(&self, path: &str) -> &'a str {
        self.at(path).as_str().unwrap_or_default()
    }

    /// The text at a path, empty where there is none.
    pub(super) fn text(&self, path: &str) -> Value {
        json!(self.str(path))
    }

    /// The text at a path, or other words where there is none.
    pub(super) fn text_or(&self, path: &str, other: &str) -> Value {
        json!(
            Some(self.str(path))
                .filter(|text| !text.is_empty())
                .unwrap_or(other)
        )
    }

    /// The number at a path, 0 where there is none.
    pub(super) fn number(&self, path: &str) -> i64 {
        self.at(path).as_i64().unwrap_or_default()
    }

    pub(super) fn is(&self, path: &str) -> bool {
        self.at(path).as_bool().unwrap_or_default()
    }

    pub(super) fn list(&self, path: &str) -> &'a [Value] {
        items(self.at(path))
    }

    /// How many elements or members are at a path.
    pub(super) fn count(&self, path: &str) -> usize {
        match self.at(path) {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        }
    }

    /// The names and images of the containers of a pod template.
    pub(super) fn containers(&self, path: &str) -> [Value; 2] {
        let containers = self.list(path);
        let joined = |field: &str| {
            let texts: Vec<_> = containers
                .iter()
                .map(|c| c[field].as_str().unwrap_or_default())
                .collect();
            json!(texts.join(","))
        };
        [joined("name"), joined("image")]
    }
}

pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Texts with commas between them, `<none>` without any.
pub(super) fn joined<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts: Vec<_> = texts.into_iter().collect();
    if texts.is_empty() {
        NONE.to_owned()
    } else {
        texts.join(",")
    }
}

/// Labels as `a=1,b=2`.
pub(super) fn labels(map: &Value) -> String {
    let pairs: Vec<_> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    joined(pairs.iter().map(String::as_str))
}

/// A label selector in one line.
pub(super) fn selector(selector: &Value) -> String {
    let requirement = |key: &str, operator: &str, values: &str| match operator {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    };
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    let mut terms: Vec<(String, String)> = equal
        .map(|(key, value)| {
            (
                key.clone(),
                format!("{key}={}", value.as_str().unwrap_or_default()),
            )
        })
        .collect();
    for expression in items(&selector["matchExpressions"]) {
        let key = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<_> = items(&expression["values"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let operator = expression["operator"].as_str().unwrap_or_default();
        terms.push((key.to_owned(), requirement(key, operator, &values.join(","))));
    }
    terms.sort();
    joined(terms.iter().map(|(_, term)| term.as_str()))
}

/// A number or text, as in `maxUnavailable`.
pub(super) fn int_or_string(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The status of a condition, empty where there is none of that type.
pub(super) fn condition<'a>(conditions: &'a Value, kind: &str) -> &'a str {
    items(conditions)
        .iter()
        .find(|condition| condition["type"] == kind)
        .and_then(|condition| condition["status"].as_str())
        .unwrap_or_default()
}
