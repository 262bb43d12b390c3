//! Paths into JSON, and the values that scenarios take from earlier answers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// What earlier steps were answered, by their ids.
pub type Answers = BTreeMap<String, Value>;

static STEP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^(?:\.?([^.\[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\[([^=\]]+)=([^\]]*)\])"#).unwrap()
});

static EXPRESSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\{([A-Za-z0-9_-]+)((?:[.\[][^}+]*)?)([+][0-9]+)?\}").unwrap());

/// `a.b[0]["x/y"][type=Ready].status`; `None` if nothing is there.
pub fn lookup<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = value;
    let mut rest = path;
    while !rest.is_empty() {
        let step = STEP.captures(rest).unwrap_or_else(|| panic!("bad path {path:?}"));
        rest = &rest[step[0].len()..];
        value = if let Some(key) = step.get(1).or(step.get(3)) {
            value.as_object()?.get(key.as_str())?
        } else if let Some(index) = step.get(2) {
            value.as_array()?.get(index.as_str().parse::<usize>().unwrap())?
        } else {
            let (field, wanted) = (&step[4], &step[5]);
            let matches = |item: &&Value| item.get(field).is_some_and(|v| text(v) == wanted);
            value.as_array()?.iter().find(matches)?
        };
    }
    Some(value)
}

/// A scalar as text.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Replaces `${…}` everywhere in a value.
pub fn substitute(value: &Value, answers: &Answers) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let key = substitute(&Value::from(key.as_str()), answers);
                (text(&key), substitute(value, answers))
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| substitute(item, answers)).collect(),
        Value::String(text) if text.contains("${") => substitute_text(text, answers),
        other => other.clone(),
    }
}

fn substitute_text(source: &str, answers: &Answers) -> Value {
    if let Some(whole) = EXPRESSION
        .captures(source)
        .filter(|found| found[0].len() == source.len())
    {
        return evaluate(&whole, answers);
    }
    EXPRESSION
        .replace_all(source, |found: &regex::Captures<'_>| {
            text(&evaluate(found, answers))
        })
        .into_owned()
        .into()
}

fn evaluate(found: &regex::Captures<'_>, answers: &Answers) -> Value {
    let (name, path) = (&found[1], &found[2]);
    if name == "repeat" {
        let (piece, count) = path[1..].split_once('.').unwrap();
        return piece.repeat(count.parse().unwrap()).into();
    }
    let answer = answers
        .get(name)
        .unwrap_or_else(|| panic!("nothing known as ${{{name}}}"));
    let value = lookup(answer, path).unwrap_or_else(|| panic!("the answer has no {}: {answer}", &found[0]));
    match found.get(3) {
        Some(plus) => {
            let sum = text(value).parse::<u64>().unwrap() + plus.as_str()[1..].parse::<u64>().unwrap();
            sum.to_string().into()
        }
        None => value.clone(),
    }
}

/// A dotted path with `*` for one element and `**` for any number.
pub type Pattern = Vec<String>;

/// Reads a pattern.
pub fn pattern(text: &str) -> Pattern {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(step) = STEP.captures(rest) {
        let part = step.iter().skip(1).flatten().next().unwrap();
        parts.push(part.as_str().to_owned());
        rest = &rest[step[0].len()..];
    }
    parts
}

/// The pattern fits the whole path.
pub fn fits(pattern: &[String], path: &[String]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((first, rest)) if first == "**" => (0..=path.len()).any(|skip| fits(rest, &path[skip..])),
        Some((first, rest)) => path
            .split_first()
            .is_some_and(|(head, tail)| (first == "*" || first == head) && fits(rest, tail)),
    }
}

/// Removes what patterns name.
pub fn strip(value: &mut Value, patterns: &[Pattern], path: &mut Vec<String>) {
    let named = |path: &Vec<String>| patterns.iter().any(|pattern| fits(pattern, path));
    match value {
        Value::Object(map) => map.retain(|key, member| {
            path.push(key.clone());
            let keep = !named(path);
            if keep {
                strip(member, patterns, path);
            }
            path.pop();
            keep
        }),
        Value::Array(items) => {
            let mut index = 0;
            items.retain_mut(|item| {
                path.push(index.to_string());
                index += 1;
                let keep = !named(path);
                if keep {
                    strip(item, patterns, path);
                }
                path.pop();
                keep
            });
        }
        _ => {}
    }
}

/// Sorts lists whose order means nothing.
pub fn sort(value: &mut Value, patterns: &[Pattern], path: &mut Vec<String>) {
    let members: Vec<(String, &mut Value)> = match value {
        Value::Object(map) => map.iter_mut().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(items) => items
            .iter_mut()
            .enumerate()
            .map(|(i, v)| (i.to_string(), v))
            .collect(),
        _ => return,
    };
    for (key, member) in members {
        path.push(key);
        sort(member, patterns, path);
        if patterns.iter().any(|pattern| fits(pattern, path))
            && let Value::Array(items) = member
        {
            items.sort_by_key(ToString::to_string);
        }
        path.pop();
    }
}

/// Keeps of long lists only the named elements.
pub fn pick(body: &mut Value, rules: &Value) {
    for rule in rules.as_array().into_iter().flatten() {
        let at = rule["at"].as_str().unwrap();
        let place = place(body, at);
        match place {
            Some(Value::Array(items)) => {
                let wanted = rule["in"].as_array().unwrap();
                let key = rule["key"].as_str().unwrap();
                let rank = |item: &Value| wanted.iter().position(|w| lookup(item, key) == Some(w));
                items.retain(|item| rank(item).is_some());
                items.sort_by_key(rank);
            }
            Some(Value::Object(map)) => {
                let keys = rule["keys"].as_array().unwrap();
                map.retain(|key, _| keys.iter().any(|k| k == key.as_str()));
            }
            _ => {}
        }
    }
}

fn place<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    pattern(path).iter().try_fold(value, |value, part| match value {
        Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?),
        other => other.get_mut(part.as_str()),
    })
}
