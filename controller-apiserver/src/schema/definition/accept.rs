//! Which names a definition gets, and whether it is established.
//!
//! Within a group every name of a resource belongs to one definition, and every kind. A definition
//! gets those of its names that are free; it is established once it has them all.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::approval;

/// Sets `acceptedNames` and the conditions of a definition, given the other definitions.
pub(crate) fn accept<'a>(definition: &mut Value, others: impl Iterator<Item = &'a Value>, now: &str) {
    let group = definition["spec"]["group"].clone();
    let mut resources = HashSet::new();
    let mut kinds = HashSet::new();
    for other in others.filter(|other| other["spec"]["group"] == group) {
        let names = &other["status"]["acceptedNames"];
        resources.extend(
            ["plural", "singular"]
                .iter()
                .filter_map(|key| names[*key].as_str()),
        );
        resources.extend(
            names["shortNames"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str),
        );
        kinds.extend(["kind", "listKind"].iter().filter_map(|key| names[*key].as_str()));
    }
    let conflict = take_names(definition, &resources, &kinds);
    if let Some((status, reason, message)) = approval::condition(definition) {
        set(
            definition,
            "KubernetesAPIApprovalPolicyConformant",
            status,
            reason,
            &message,
            now,
        );
    }
    match conflict {
        None => {
            set(
                definition,
                "NamesAccepted",
                "True",
                "NoConflicts",
                "no conflicts found",
                now,
            );
            if !is_true(definition, "Established") {
                let message = "the initial names have been accepted";
                set(
                    definition,
                    "Established",
                    "True",
                    "InitialNamesAccepted",
                    message,
                    now,
                );
            }
        }
        Some((reason, message)) => {
            set(definition, "NamesAccepted", "False", reason, &message, now);
            if !is_true(definition, "Established") {
                set(
                    definition,
                    "Established",
                    "False",
                    "NotAccepted",
                    "not all names are accepted",
                    now,
                );
            }
        }
    }
}

/// Takes every name that is free; returns the last conflict.
fn take_names(
    definition: &mut Value,
    resources: &HashSet<&str>,
    kinds: &HashSet<&str>,
) -> Option<(&'static str, String)> {
    let wanted = definition["spec"]["names"].clone();
    let mut accepted = definition["status"]["acceptedNames"].take();
    if !accepted.is_object() {
        accepted = json!({"kind": "", "plural": ""});
    }
    let in_use = |names: &[&str]| {
        let quoted: Vec<String> = names
            .iter()
            .map(|name| format!("{name:?} is already in use"))
            .collect();
        if quoted.len() == 1 {
            quoted.concat()
        } else {
            format!("[{}]", quoted.join(", "))
        }
    };
    let mut conflict = None;
    let singles = [
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ];
    for (index, (key, reason, taken)) in singles.into_iter().enumerate() {
        if index == 2 {
            let mine: Vec<&str> = texts(&accepted["shortNames"]);
            let lost: Vec<&str> = texts(&wanted["shortNames"])
                .into_iter()
                .filter(|name| !mine.contains(name) && resources.contains(name))
                .collect();
            if lost.is_empty() {
                copy(&wanted, &mut accepted, "shortNames");
            } else {
                conflict = Some(("ShortNamesConflict", in_use(&lost)));
            }
        }
        let name = wanted[key].as_str().unwrap_or_default();
        if accepted[key] != wanted[key] && taken.contains(name) {
            conflict = Some((reason, in_use(&[name])));
        } else {
            copy(&wanted, &mut accepted, key);
        }
    }
    copy(&wanted, &mut accepted, "categories");
    definition["status"]["acceptedNames"] = accepted;
    conflict
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn copy(from: &Value, to: &mut Value, key: &str) {
    match (from.get(key), to.as_object_mut()) {
        (Some(value), Some(to)) => {
            to.insert(key.to_owned(), value.clone());
        }
        (None, Some(to)) => {
            to.remove(key);
        }
        (_, None) => {}
    }
}

fn find<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    definition["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

fn is_true(definition: &Value, kind: &str) -> bool {
    find(definition, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Sets a condition; its time changes only with its status.
fn set(definition: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    let old = find(definition, kind);
    let time = old
        .filter(|old| old["status"] == status)
        .and_then(|old| old["lastTransitionTime"].as_str());
    let new = json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": time.unwrap_or(now),
    });
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(all) = conditions.as_array_mut() {
        match all.iter_mut().find(|condition| condition["type"] == kind) {
            Some(old) => *old = new,
            None => all.push(new),
        }
    }
}
