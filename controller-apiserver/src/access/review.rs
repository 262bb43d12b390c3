//! The review kinds: questions about access, answered and never stored.
//!
//! `SubjectAccessReview` and its self and local forms, `SelfSubjectRulesReview`
//! (authorization.k8s.io), `SelfSubjectReview` and `TokenReview` (authentication.k8s.io). Each
//! function takes the body as decoded and gives the object to answer with 201, or the refusal.

use super::{Attributes, Policy, ResourceTarget, Rule, User};
use crate::status::Cause;
use serde_json::{Map, Value, json};

/// Why a review, or a token request, is not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// 400.
    #[error("{0}")]
    BadRequest(String),
    /// 422 of the review's group, without kind and name.
    #[error("the review is invalid")]
    Invalid(Vec<Cause>),
}

const AUTHORIZATION: &str = "authorization.k8s.io/v1";
const AUTHENTICATION: &str = "authentication.k8s.io/v1";

/// A `SelfSubjectAccessReview` of `user`.
///
/// # Errors
/// Not exactly one of resource and non-resource attributes, or metadata.
pub fn self_subject_access_review(body: &Value, user: &User, policy: &Policy) -> Result<Value, ReviewError> {
    let spec = body.get("spec").unwrap_or(&Value::Null);
    let mut causes = attribute_causes(spec);
    causes.extend(metadata_cause(body, &[]));
    refuse(causes)?;
    Ok(reviewed(
        "SelfSubjectAccessReview",
        &json!({}),
        spec,
        user,
        policy,
    ))
}

/// A `SubjectAccessReview` of the user its spec names.
///
/// # Errors
/// As the self form; or neither user nor groups.
pub fn subject_access_review(body: &Value, policy: &Policy) -> Result<Value, ReviewError> {
    let spec = body.get("spec").unwrap_or(&Value::Null);
    let mut causes = subject_causes(spec);
    causes.extend(metadata_cause(body, &[]));
    refuse(causes)?;
    Ok(reviewed(
        "SubjectAccessReview",
        &json!({}),
        spec,
        &subject(spec),
        policy,
    ))
}

/// A `LocalSubjectAccessReview` in `namespace`.
///
/// # Errors
/// As the cluster-wide form; or another namespace in its spec, or non-resource attributes.
pub fn local_subject_access_review(
    body: &Value,
    namespace: &str,
    policy: &Policy,
) -> Result<Value, ReviewError> {
    let spec = body.get("spec").unwrap_or(&Value::Null);
    let mut causes = subject_causes(spec);
    causes.extend(metadata_cause(body, &["namespace"]));
    let asked = spec
        .get("resourceAttributes")
        .filter(|attributes| attributes.is_object());
    if let Some(asked) = asked {
        let asked = asked.get("namespace").cloned().unwrap_or_else(|| json!(""));
        if asked != json!(namespace) {
            causes.push(Cause::invalid(
                "spec.resourceAttributes.namespace",
                &asked,
                "must match metadata.namespace",
            ));
        }
    }
    if let Some(path) = spec.get("nonResourceAttributes").filter(|path| path.is_object()) {
        causes.push(Cause::invalid(
            "spec.nonResourceAttributes",
            &go_path(path),
            "disallowed on this kind of request",
        ));
    }
    refuse(causes)?;
    let metadata = json!({"namespace": namespace});
    Ok(reviewed(
        "LocalSubjectAccessReview",
        &metadata,
        spec,
        &subject(spec),
        policy,
    ))
}

/// A `SelfSubjectRulesReview`: every rule of `user` in a namespace.
///
/// # Errors
/// No namespace.
pub fn self_subject_rules_review(body: &Value, user: &User, policy: &Policy) -> Result<Value, ReviewError> {
    let namespace = text(body.get("spec").unwrap_or(&Value::Null), "namespace");
    if namespace.is_empty() {
        return Err(ReviewError::BadRequest("no namespace on request".to_owned()));
    }
    let rules = policy.rules_for(user, namespace);
    let resources = rules.iter().filter(|rule| !rule.resources.is_empty());
    let paths = rules.iter().filter(|rule| !rule.non_resource_urls.is_empty());
    Ok(json!({
        "apiVersion": AUTHORIZATION,
        "kind": "SelfSubjectRulesReview",
        "metadata": {},
        "spec": {},
        "status": {
            "resourceRules": resources.map(|rule| resource_rule(rule)).collect::<Vec<_>>(),
            "nonResourceRules": paths
                .map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}))
                .collect::<Vec<_>>(),
            "incomplete": false,
        },
    }))
}

fn resource_rule(rule: &Rule) -> Value {
    let only_resources = Rule {
        non_resource_urls: Vec::new(),
        ..rule.clone()
    };
    super::rule_value(&only_resources)
}

/// A `SelfSubjectReview`: who the user is; `now` is its creation timestamp.
pub fn self_subject_review(user: &User, now: &str) -> Value {
    json!({
        "apiVersion": AUTHENTICATION,
        "kind": "SelfSubjectReview",
        "metadata": {"creationTimestamp": now},
        "status": {"userInfo": user.to_user_info()},
    })
}

/// A `TokenReview`; `authenticate` finds the user of a token for one of the audiences given (or
/// for the server itself, if none is), and the audiences for which it holds.
///
/// # Errors
/// No token.
pub fn token_review(
    body: &Value,
    authenticate: impl FnOnce(&str, &[String]) -> Option<(User, Vec<String>)>,
) -> Result<Value, ReviewError> {
    let spec = body.get("spec").unwrap_or(&Value::Null);
    let token = text(spec, "token");
    if token.is_empty() {
        return Err(ReviewError::BadRequest(
            "token is required for TokenReview in authentication".to_owned(),
        ));
    }
    let status = match authenticate(token, &texts(spec, "audiences")) {
        Some((user, audiences)) => {
            json!({"authenticated": true, "user": user.to_user_info(), "audiences": audiences})
        }
        None => json!({"user": {}, "error": "invalid bearer token"}),
    };
    let metadata = body
        .get("metadata")
        .filter(|metadata| metadata.is_object())
        .cloned();
    Ok(json!({
        "apiVersion": AUTHENTICATION,
        "kind": "TokenReview",
        "metadata": metadata.unwrap_or_else(|| json!({})),
        "spec": spec,
        "status": status,
    }))
}

fn refuse(causes: Vec<Cause>) -> Result<(), ReviewError> {
    if causes.is_empty() {
        Ok(())
    } else {
        Err(ReviewError::Invalid(causes))
    }
}

fn reviewed(kind: &str, metadata: &Value, spec: &Value, user: &User, policy: &Policy) -> Value {
    let attributes = match spec.get("nonResourceAttributes").filter(|path| path.is_object()) {
        Some(path) => Attributes::path(text(path, "verb"), text(path, "path")),
        None => resource_attributes(spec.get("resourceAttributes").unwrap_or(&Value::Null)),
    };
    let decision = policy.authorize(user, &attributes);
    let mut status = Map::from_iter([("allowed".to_owned(), json!(decision.is_allowed()))]);
    let reason = decision.reason();
    if !reason.is_empty() {
        status.insert("reason".to_owned(), json!(reason));
    }
    json!({
        "apiVersion": AUTHORIZATION,
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
        "status": status,
    })
}

fn resource_attributes(spec: &Value) -> Attributes {
    let member = |name: &str| text(spec, name).to_owned();
    let target = ResourceTarget {
        group: member("group"),
        version: member("version"),
        resource: member("resource"),
        subresource: member("subresource"),
        namespace: member("namespace"),
        name: member("name"),
    };
    Attributes::resource(text(spec, "verb"), target)
}

fn subject(spec: &Value) -> User {
    let extra = spec.get("extra").and_then(Value::as_object);
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: texts(spec, "groups"),
        extra: extra
            .into_iter()
            .flatten()
            .map(|(key, values)| (key.clone(), strings(values)))
            .collect(),
    }
}

fn attribute_causes(spec: &Value) -> Vec<Cause> {
    let given = |member: &str| spec.get(member).filter(|value| value.is_object());
    match (given("resourceAttributes"), given("nonResourceAttributes")) {
        (None, None) => vec![Cause::invalid(
            "spec.resourceAttributes",
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )],
        (Some(_), Some(path)) => vec![Cause::invalid(
            "spec.nonResourceAttributes",
            &go_path(path),
            "cannot be specified in combination with resourceAttributes",
        )],
        (Some(resource), None) => ["fieldSelector", "labelSelector"]
            .iter()
            .filter_map(|name| selector_cause(resource, name))
            .collect(),
        (None, Some(_)) => Vec::new(),
    }
}

/// Field and label selectors are one text or a list of requirements; RBAC does not look at them.
fn selector_cause(resource: &Value, name: &str) -> Option<Cause> {
    let selector = resource.get(name).filter(|selector| selector.is_object())?;
    let field = format!("spec.resourceAttributes.{name}");
    let raw = text(selector, "rawSelector");
    let requirements = selector
        .get("requirements")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty());
    match (raw.is_empty(), requirements) {
        (false, true) => Some(Cause::invalid(
            format!("{field}.rawSelector"),
            &json!(raw),
            "may not specified at the same time as requirements",
        )),
        (true, false) => {
            let detail = format!("when {field} is specified, requirements or rawSelector is required");
            Some(Cause::required(format!("{field}.requirements"), &detail))
        }
        _ => None,
    }
}

fn subject_causes(spec: &Value) -> Vec<Cause> {
    let mut causes = attribute_causes(spec);
    if text(spec, "user").is_empty() && texts(spec, "groups").is_empty() {
        causes.push(Cause::invalid(
            "spec.user",
            &json!(""),
            "at least one of user or group must be specified",
        ));
    }
    causes
}

/// Nobody names a question: metadata must be empty but for what the server itself adds.
fn metadata_cause(body: &Value, allowed: &[&str]) -> Option<Cause> {
    let metadata = body.get("metadata")?.as_object()?;
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    let filled = metadata
        .iter()
        .any(|(key, value)| key != "managedFields" && !allowed.contains(&key.as_str()) && !empty(value));
    let detail = if allowed.is_empty() {
        "must be empty"
    } else {
        "must be empty except for namespace"
    };
    filled.then(|| Cause::invalid("metadata", &Value::Object(metadata.clone()), detail))
}

/// Non-resource attributes as the server prints them: the members of its internal type.
fn go_path(path: &Value) -> Value {
    json!({"Path": text(path, "path"), "Verb": text(path, "verb")})
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn texts(value: &Value, member: &str) -> Vec<String> {
    value.get(member).map(strings).unwrap_or_default()
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
