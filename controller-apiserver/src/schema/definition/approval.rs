//! Groups of the Kubernetes community need its approval.
//!
//! Source: KEP-1111 (API approval), the annotation `api-approved.kubernetes.io`.

use serde_json::Value;

use crate::status::Cause;

const ANNOTATION: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Approval {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.ends_with(&format!(".{domain}")))
}

fn annotation(definition: &Value) -> &str {
    definition["metadata"]["annotations"][ANNOTATION]
        .as_str()
        .unwrap_or_default()
}

fn approval(definition: &Value) -> (Approval, String) {
    let text = annotation(definition);
    let has_host = |rest: &str| rest.starts_with(|c: char| c != '/' && !c.is_whitespace());
    match text {
        "" => (
            Approval::Missing,
            format!("protected groups must have approval annotation {ANNOTATION:?}, {SEE}"),
        ),
        _ if text.starts_with("unapproved") => (Approval::Bypassed, format!("not approved: {text:?}")),
        _ if text
            .split_once("://")
            .is_some_and(|(scheme, rest)| !scheme.is_empty() && has_host(rest)) =>
        {
            (Approval::Approved, format!("approved in {text}"))
        }
        _ => (
            Approval::Invalid,
            format!(
                "protected groups must have approval annotation {ANNOTATION:?} with either a URL or a reason starting \
                 with \"unapproved\", {SEE}"
            ),
        ),
    }
}

/// Reports a definition of a protected group without a word of approval, unless it was so before.
pub(super) fn validate(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let group = new["spec"]["group"].as_str().unwrap_or_default();
    let (now, reason) = approval(new);
    if !is_protected(group) || old.is_some_and(|old| approval(old).0 == now) {
        return;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    match now {
        Approval::Missing => causes.push(Cause::required(field, &reason)),
        Approval::Invalid => causes.push(Cause::invalid(field, &annotation(new).into(), &reason)),
        Approval::Bypassed | Approval::Approved => {}
    }
}

/// The condition of a definition of a protected group: status, reason and message.
pub(super) fn condition(definition: &Value) -> Option<(&'static str, &'static str, String)> {
    if !is_protected(definition["spec"]["group"].as_str().unwrap_or_default()) {
        return None;
    }
    let (approval, message) = approval(definition);
    let (status, reason) = match approval {
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
    };
    Some((status, reason, message))
}
