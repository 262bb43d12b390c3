//! Holds an answer against the recording: placeholders are bound one to one, everything else must be
//! equal, but for the texts of messages.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::path::{self, Pattern, fits, pattern};
use crate::player::Outcome;
use crate::prepare::Preparation;

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    let kinds: Vec<_> = KINDS.iter().map(|(kind, _)| *kind).collect();
    Regex::new(&format!("<({})(?::(\\d+))?>", kinds.join("|"))).unwrap()
});

const KINDS: [(&str, &str); 13] = [
    (
        "uid",
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    ("rv", r"\d+"),
    ("lrv", r"\d+"),
    ("continue", r"\S+"),
    ("gen", "[a-z0-9]+"),
    (
        "time",
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)",
    ),
    (
        "microtime",
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)",
    ),
    ("ip", "[0-9a-f.:]+"),
    ("nodeport", r"\d+"),
    ("rand", "[a-z0-9]+"),
    ("hash", "[0-9A-Za-z+/=_-]+"),
    ("age", r"\S+"),
    ("num", r"\d+"),
];

/// Different where the recording differs; the others only agree where it agrees.
const BIJECTIVE: [&str; 5] = ["uid", "rv", "gen", "ip", "nodeport"];

type Key = (String, String);

/// Compares one scenario.
pub struct Checker<'a> {
    preparation: &'a Preparation,
    recording: &'a Value,
    bound: BTreeMap<Key, String>,
    taken: BTreeMap<Key, String>,
    soft: Vec<Pattern>,
    /// Step, place, and what is different there.
    pub differences: Vec<(String, String)>,
}

impl<'a> Checker<'a> {
    pub fn new(preparation: &'a Preparation, recording: &'a Value, global: &Value) -> Self {
        let soft = [&global["soft"], &recording["scenario"]["soft"]]
            .into_iter()
            .flat_map(|list| list.as_array().into_iter().flatten())
            .map(|text| pattern(text.as_str().unwrap()))
            .collect();
        Self {
            preparation,
            recording,
            bound: BTreeMap::new(),
            taken: BTreeMap::new(),
            soft,
            differences: Vec::new(),
        }
    }

    fn note(&mut self, step: &str, place: &str, what: impl Into<String>) {
        let mut parts = pattern(place);
        if !parts.is_empty() {
            parts.remove(0);
        }
        let anywhere = |soft: &Pattern| {
            let mut any = vec!["**".to_owned()];
            any.extend(soft.iter().cloned());
            fits(soft, &parts) || fits(&any, &pattern(place))
        };
        if !self.soft.iter().any(anywhere) {
            self.differences
                .push((step.to_owned(), format!("{place}: {}", what.into())));
        }
    }

    /// Compares one step.
    pub fn outcome(&mut self, expected: &Value, actual: &Outcome, prefix: &str) {
        let step = format!("{prefix}{}", path::text(&expected["id"]));
        let during = expected["during"].as_array().cloned().unwrap_or_default();
        if during.len() != actual.during.len() {
            self.note(&step, "during", "another number of steps");
        }
        for (expected, actual) in during.iter().zip(&actual.during) {
            self.outcome(expected, actual, &format!("{step}/"));
        }
        if expected["code"] != actual.code {
            let told = actual
                .body
                .as_ref()
                .or(actual.events.as_ref().and_then(|e| e.first()));
            self.note(
                &step,
                "code",
                format!(
                    "expected {}, got {} {}",
                    expected["code"],
                    actual.code,
                    show(told)
                ),
            );
            return;
        }
        if media(path::text(&expected["contentType"]).trim_matches('"')) != media(&actual.content_type)
            && !(expected["contentType"].is_null() && actual.content_type.is_empty())
        {
            self.note(
                &step,
                "contentType",
                format!(
                    "expected {}, got {}",
                    expected["contentType"], actual.content_type
                ),
            );
        }
        let warnings = expected["warnings"].as_array().map_or(0, Vec::len);
        if warnings != actual.warnings.len() {
            self.note(
                &step,
                "warnings",
                format!("expected {}, got {:?}", expected["warnings"], actual.warnings),
            );
        }
        for (name, value) in expected["headers"].as_object().into_iter().flatten() {
            if value.is_null() != actual.headers[name].is_null() {
                self.note(
                    &step,
                    name,
                    format!("expected {value}, got {}", actual.headers[name]),
                );
            }
        }
        if expected["code"].as_u64() < Some(400) && expected["text"].as_str() != actual.text.as_deref() {
            self.note(
                &step,
                "text",
                format!("expected {}, got {:?}", expected["text"], actual.text),
            );
        }
        match (expected.get("body"), &actual.body) {
            (Some(expected), Some(actual)) => self.value(&step, "body", expected, actual),
            (None, None) => {}
            (_, actual) => self.note(&step, "body", format!("got {}", show(actual.as_ref()))),
        }
        if expected.get("events").is_some() {
            self.events(&step, expected, actual);
        }
    }

    fn events(&mut self, step: &str, expected: &Value, actual: &Outcome) {
        let wanted = expected["events"].as_array().unwrap();
        let events = actual.events.clone().unwrap_or_default();
        if wanted.len() != events.len() {
            let what = format!(
                "expected {} events, got {}: {}",
                wanted.len(),
                events.len(),
                show(Some(&events.clone().into()))
            );
            self.note(step, "events", what);
        }
        for (index, (expected, actual)) in wanted.iter().zip(&events).enumerate() {
            self.value(step, &format!("events[{index}]"), expected, actual);
        }
        if expected["ended"].as_str() != actual.ended || expected["inTime"].as_bool() != actual.in_time {
            self.note(
                step,
                "ended",
                format!(
                    "expected {} {}, got {:?} {:?}",
                    expected["ended"], expected["inTime"], actual.ended, actual.in_time
                ),
            );
        }
    }

    fn value(&mut self, step: &str, place: &str, expected: &Value, actual: &Value) {
        match (expected, actual) {
            (Value::Object(map), Value::Object(_))
                if map.get("kind").is_some_and(|k| k == "Status")
                    && map.get("status").is_some_and(|s| s == "Failure") =>
            {
                self.failure(step, place, expected, actual);
            }
            (Value::Object(expected), Value::Object(actual)) => self.object(step, place, expected, actual),
            (Value::Array(wanted), Value::Array(items)) => {
                if wanted.len() != items.len() {
                    let what = format!(
                        "expected {} elements, got {}: {actual}",
                        wanted.len(),
                        items.len()
                    );
                    return self.note(step, place, what);
                }
                for (index, (expected, actual)) in wanted.iter().zip(items).enumerate() {
                    self.value(step, &format!("{place}[{index}]"), expected, actual);
                }
            }
            (Value::String(text), actual) if PLACEHOLDER.is_match(text) => {
                let given = path::text(actual);
                let ported = actual.is_string() || text.starts_with("<nodeport:");
                if !ported || !self.bind(text, &given) {
                    self.note(step, place, format!("expected {text}, got {given}"));
                }
            }
            (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
            (expected, actual) if expected == actual => {}
            _ => self.note(step, place, format!("expected {expected}, got {actual}")),
        }
    }

    fn object(
        &mut self,
        step: &str,
        place: &str,
        expected: &serde_json::Map<String, Value>,
        actual: &serde_json::Map<String, Value>,
    ) {
        let mut left: Vec<&String> = actual.keys().collect();
        for (key, wanted) in expected {
            let found = if PLACEHOLDER.is_match(key) {
                left.iter().find(|candidate| self.bind(key, candidate)).copied()
            } else {
                left.iter().find(|candidate| **candidate == key).copied()
            };
            match found {
                Some(found) => {
                    left.retain(|candidate| *candidate != found);
                    self.value(step, &format!("{place}.{key}"), wanted, &actual[found]);
                }
                None => self.note(
                    step,
                    &format!("{place}.{key}"),
                    format!("missing; expected {wanted}"),
                ),
            }
        }
        for key in left {
            self.note(
                step,
                &format!("{place}.{key}"),
                format!("unexpected {}", actual[key]),
            );
        }
    }

    /// A `Status`: texts are not compared.
    fn failure(&mut self, step: &str, place: &str, expected: &Value, actual: &Value) {
        for field in ["kind", "apiVersion", "status", "code", "reason"] {
            if expected[field] != actual[field] {
                let what = format!("expected {}, got {}", expected[field], actual[field]);
                self.note(step, &format!("{place}.{field}"), what);
            }
        }
        for field in ["kind", "name", "group", "uid", "retryAfterSeconds"] {
            let value = |status: &Value| match &status["details"][field] {
                Value::Null => String::new(),
                other => path::text(other),
            };
            let (wanted, given) = (value(expected), value(actual));
            if wanted != given && !self.bind(&wanted, &given) {
                let what = format!("expected {wanted:?}, got {given:?}");
                self.note(step, &format!("{place}.details.{field}"), what);
            }
        }
        let has = |status: &Value, at: &str| path::lookup(status, at).is_some_and(|v| *v != "");
        for at in ["metadata.continue", "message"] {
            if has(expected, at) != has(actual, at) {
                self.note(step, &format!("{place}.{at}"), "there in one of both only");
            }
        }
        let causes = |status: &Value| {
            let list = status["details"]["causes"].as_array();
            let mut causes: Vec<(String, String)> = list
                .into_iter()
                .flatten()
                .map(|cause| {
                    let part = |field: &str| cause[field].as_str().unwrap_or_default().to_owned();
                    (part("reason"), part("field"))
                })
                .collect();
            causes.sort();
            causes
        };
        let (wanted, given) = (causes(expected), causes(actual));
        let alike = wanted.len() == given.len()
            && wanted
                .iter()
                .zip(&given)
                .all(|(w, g)| w.0 == g.0 && (w.1 == g.1 || self.bind(&w.1, &g.1)));
        if !alike {
            let what = format!("expected {wanted:?}, got {given:?}");
            self.note(step, &format!("{place}.details.causes"), what);
        }
    }

    /// Binds the placeholders of a text to what stands in their place.
    fn bind(&mut self, expected: &str, actual: &str) -> bool {
        let mut parts: Vec<Key> = Vec::new();
        let mut regex = String::from("(?s)^");
        let mut at = 0;
        for found in PLACEHOLDER.captures_iter(expected) {
            let whole = found.get(0).unwrap();
            regex.push_str(&regex::escape(&expected[at..whole.start()]));
            at = whole.end();
            let number = found.get(2).map_or("", |number| number.as_str());
            if number.is_empty() && actual.contains(whole.as_str()) {
                regex.push_str(&regex::escape(whole.as_str()));
                continue;
            }
            let (_, form) = KINDS.iter().find(|(kind, _)| *kind == &found[1]).unwrap();
            regex.push_str(&format!("({form})"));
            parts.push((found[1].to_owned(), number.to_owned()));
        }
        regex.push_str(&regex::escape(&expected[at..]));
        regex.push('$');
        let regex = Regex::new(&regex).unwrap();
        let Some(found) = regex.captures(actual) else {
            return false;
        };
        let mut new = Vec::new();
        for (index, (kind, number)) in parts.into_iter().enumerate() {
            let value = found[index + 1].to_owned();
            let timely = self.preparation.is_recent(&value);
            if matches!(kind.as_str(), "time" | "microtime") && !timely {
                return false;
            }
            if number.is_empty() {
                continue;
            }
            match self.bound.get(&(kind.clone(), number.clone())) {
                Some(bound) if *bound != value => return false,
                Some(_) => {}
                None => {
                    let taken = self.taken.get(&(kind.clone(), value.clone()));
                    if BIJECTIVE.contains(&kind.as_str()) && taken.is_some_and(|by| *by != number) {
                        return false;
                    }
                    new.push((kind, number, value));
                }
            }
        }
        for (kind, number, value) in new {
            self.taken.insert((kind.clone(), value.clone()), number.clone());
            self.bound.insert((kind, number), value);
        }
        true
    }

    /// Revisions rise in the order of the recording, and no list is older than a write before it.
    pub fn order(&mut self) {
        if self.recording["scenario"]["rvOrder"] == false {
            return;
        }
        let order = &self.recording["order"];
        let value = |bound: &BTreeMap<Key, String>, kind: &str, number: &str| -> Option<u64> {
            bound.get(&(kind.to_owned(), number.to_owned()))?.parse().ok()
        };
        let mut last = 0;
        for number in order["rv"].as_array().into_iter().flatten() {
            if let Some(revision) = value(&self.bound, "rv", &number.to_string()) {
                if revision <= last {
                    self.note(
                        "(all)",
                        "order",
                        format!("<rv:{number}> ({revision}) after {last}"),
                    );
                }
                last = revision;
            }
        }
        for (list, write) in order["lrvAtLeast"].as_object().into_iter().flatten() {
            let list_revision = value(&self.bound, "lrv", list);
            let write_revision = value(&self.bound, "rv", &write.to_string());
            if list_revision < write_revision && list_revision.is_some() {
                self.note(
                    "(all)",
                    "order",
                    format!("list <lrv:{list}> is older than <rv:{write}>"),
                );
            }
        }
    }
}

/// Media type and parameters, without the charset.
fn media(content_type: &str) -> Vec<String> {
    let mut parts: Vec<String> = content_type
        .to_lowercase()
        .split(';')
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty() && !part.starts_with("charset="))
        .collect();
    parts.sort();
    parts
}

fn show(value: Option<&Value>) -> String {
    let text = value.map(ToString::to_string).unwrap_or_default();
    text.chars().take(300).collect()
}
