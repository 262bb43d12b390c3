//! Field selectors.
//!
//! Every kind can be selected by name and namespace, some built-in kinds by a few fields more, and
//! custom resources by their `selectableFields` (KEP-4358). Source: "Field Selectors" in the
//! Kubernetes documentation.

use serde_json::Value;

use crate::object::at;
use crate::registry::Resource;
use crate::storage::Stored;

/// A conjunction of comparisons; the empty one selects everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug)]
struct Term {
    field: Field,
    equal: bool,
    value: String,
}

#[derive(Clone, Debug)]
enum Field {
    Name,
    Namespace,
    /// A path into the object, and what stands for its absence.
    Path(String, &'static str),
}

impl FieldSelector {
    /// Reads a selector for a resource.
    ///
    /// # Errors
    ///
    /// What cannot be understood, in the words of the API server.
    pub(crate) fn parse(text: &str, resource: &Resource) -> Result<Self, String> {
        split(text)
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(|part| term(&part, text, resource))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, key: &str, object: &Stored) -> bool {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let mut value = None;
        self.0.iter().all(|term| {
            let equal = match &term.field {
                Field::Name => name == term.value,
                Field::Namespace => namespace == term.value,
                Field::Path(path, absent) => {
                    let value = value.get_or_insert_with(|| object.value());
                    text(at(value, path)).as_deref().unwrap_or(absent) == term.value
                }
            };
            equal == term.equal
        })
    }
}

/// A field as selectors compare it: scalars as text.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        scalar @ (Value::Bool(_) | Value::Number(_)) => Some(scalar.to_string()),
        _ => None,
    }
}

/// Splits at commas that are not escaped.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == ',' && !escaped {
            parts.push(String::new());
            continue;
        }
        escaped = c == '\\' && !escaped;
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

fn term(part: &str, whole: &str, resource: &Resource) -> Result<Term, String> {
    let not_understood = || format!("invalid selector: '{whole}'; can't understand '{part}'");
    let operator = part.find(['=', '!']).ok_or_else(not_understood)?;
    let (name, rest) = part.split_at(operator);
    let (equal, value) = if let Some(value) = rest.strip_prefix("!=") {
        (false, value)
    } else if let Some(value) = rest.strip_prefix("==") {
        (true, value)
    } else if let Some(value) = rest.strip_prefix('=') {
        (true, value)
    } else {
        return Err(not_understood());
    };
    Ok(Term {
        field: field(name, resource)?,
        equal,
        value: unescape(value)?,
    })
}

fn unescape(text: &str) -> Result<String, String> {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => value.push(escaped),
                other => {
                    let other = other.map(String::from).unwrap_or_default();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{other}"
                    ));
                }
            },
            '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {c}"
                ));
            }
            c => value.push(c),
        }
    }
    Ok(value)
}

fn field(name: &str, resource: &Resource) -> Result<Field, String> {
    match name {
        "metadata.name" => return Ok(Field::Name),
        "metadata.namespace" if resource.namespaced => return Ok(Field::Namespace),
        "metadata.namespace" if !resource.is_custom() => return Ok(Field::Namespace),
        _ => {}
    }
    if let Some(custom) = &resource.custom {
        return if custom.selectable.iter().any(|path| path == name) {
            Ok(Field::Path(name.to_owned(), ""))
        } else {
            Err(format!("field label not supported: {name}"))
        };
    }
    if let Some((_, path, absent)) = special(resource).iter().find(|(label, _, _)| *label == name) {
        return Ok(Field::Path((*path).to_owned(), absent));
    }
    Err(format!(
        "\"{name}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    ))
}

/// Label, path in the stored object, and the value that stands for absence.
type Special = &'static [(&'static str, &'static str, &'static str)];

fn special(resource: &Resource) -> Special {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => &[
            ("spec.nodeName", "spec.nodeName", ""),
            ("spec.restartPolicy", "spec.restartPolicy", ""),
            ("spec.schedulerName", "spec.schedulerName", ""),
            ("spec.serviceAccountName", "spec.serviceAccountName", ""),
            ("spec.hostNetwork", "spec.hostNetwork", "false"),
            ("status.phase", "status.phase", ""),
            ("status.podIP", "status.podIP", ""),
            ("status.nominatedNodeName", "status.nominatedNodeName", ""),
        ],
        ("", "secrets") => &[("type", "type", "")],
        ("", "namespaces") => &[("status.phase", "status.phase", "")],
        ("", "nodes") => &[("spec.unschedulable", "spec.unschedulable", "false")],
        ("", "services") => &[
            ("spec.clusterIP", "spec.clusterIP", ""),
            ("spec.type", "spec.type", ""),
        ],
        ("", "replicationcontrollers") | ("apps", "replicasets") => {
            &[("status.replicas", "status.replicas", "0")]
        }
        ("batch", "jobs") => &[("status.successful", "status.succeeded", "0")],
        ("certificates.k8s.io", "certificatesigningrequests") => {
            &[("spec.signerName", "spec.signerName", "")]
        }
        ("" | "events.k8s.io", "events") => EVENTS,
        _ => &[],
    }
}

const EVENTS: Special = &[
    ("involvedObject.kind", "involvedObject.kind", ""),
    ("involvedObject.namespace", "involvedObject.namespace", ""),
    ("involvedObject.name", "involvedObject.name", ""),
    ("involvedObject.uid", "involvedObject.uid", ""),
    ("involvedObject.apiVersion", "involvedObject.apiVersion", ""),
    (
        "involvedObject.resourceVersion",
        "involvedObject.resourceVersion",
        "",
    ),
    ("involvedObject.fieldPath", "involvedObject.fieldPath", ""),
    ("regarding.kind", "involvedObject.kind", ""),
    ("regarding.namespace", "involvedObject.namespace", ""),
    ("regarding.name", "involvedObject.name", ""),
    ("regarding.uid", "involvedObject.uid", ""),
    ("reason", "reason", ""),
    ("reportingComponent", "reportingComponent", ""),
    ("reportingController", "reportingComponent", ""),
    ("source", "source.component", ""),
    ("type", "type", ""),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;
    use crate::storage::{Limits, Store};
    use serde_json::json;

    fn selects(resource: (&str, &str), selector: &str, key: &str, object: Value) -> bool {
        let registry = Registry::new();
        let resource = registry.get(resource.0, "v1", resource.1).unwrap();
        let stored = Store::new(0, Limits::default()).put("c", key, object, 0);
        FieldSelector::parse(selector, resource)
            .unwrap()
            .matches(key, &stored)
    }

    #[test]
    fn names_namespaces_and_the_fields_of_a_kind() {
        let pod = || json!({"spec": {"nodeName": "n1"}});
        for selector in [
            "",
            "metadata.name=a",
            "metadata.name==a",
            "metadata.name!=b",
            "metadata.namespace=ns",
            "spec.nodeName=n1",
            "spec.hostNetwork=false",
            "metadata.name=a,spec.nodeName!=n2",
        ] {
            assert!(selects(("", "pods"), selector, "ns/a", pod()), "{selector}");
        }
        for selector in ["metadata.name=b", "spec.nodeName=", "metadata.name=a\\,b"] {
            assert!(!selects(("", "pods"), selector, "ns/a", pod()), "{selector}");
        }
    }

    #[test]
    fn other_fields_are_refused() {
        let registry = Registry::new();
        let resource = registry.get("", "v1", "configmaps").unwrap();
        for selector in [
            "data.k=v",
            "metadata.name",
            "metadata.name in (a)",
            "metadata.name=a\\b",
            "a!b",
        ] {
            assert!(FieldSelector::parse(selector, resource).is_err(), "{selector}");
        }
    }
}
