//! Defaults and validation of the RBAC kinds.
//!
//! What a role or binding must hold before it is stored, with the causes of the real server in its
//! order. Metadata is checked elsewhere, with that of all other kinds.

use super::RBAC_GROUP;
use crate::status::Cause;
use serde_json::{Map, Value, json};

/// Fills in the API groups that a binding may leave out.
pub fn set_policy_defaults(object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    if let Some(role) = object.get_mut("roleRef").and_then(Value::as_object_mut) {
        fill_group(role);
    }
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(subject) = subject.as_object_mut()
            && matches!(
                subject.get("kind").and_then(Value::as_str),
                Some("User" | "Group")
            )
        {
            fill_group(subject);
        }
    }
}

fn fill_group(reference: &mut Map<String, Value>) {
    if reference
        .get("apiGroup")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty()
    {
        reference.insert("apiGroup".to_owned(), json!(RBAC_GROUP));
    }
}

/// What is wrong with an object of `resource`; `old` is what it would replace.
pub fn validate_policy(resource: &str, old: Option<&Value>, new: &Value) -> Vec<Cause> {
    match resource {
        "roles" | "clusterroles" => role(new, resource == "roles"),
        "rolebindings" | "clusterrolebindings" => {
            let mut causes = binding(new, resource == "rolebindings");
            if old.is_some_and(|old| old.get("roleRef") != new.get("roleRef")) {
                let value = new.get("roleRef").unwrap_or(&Value::Null);
                causes.push(Cause::invalid("roleRef", value, "cannot change roleRef"));
            }
            causes
        }
        _ => Vec::new(),
    }
}

fn role(role: &Value, namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, rule) in list(role, "rules").iter().enumerate() {
        check_rule(rule, namespaced, &format!("rules[{index}]"), &mut causes);
    }
    let aggregation = role.get("aggregationRule").filter(|rule| rule.is_object());
    if aggregation.is_some_and(|rule| list(rule, "clusterRoleSelectors").is_empty()) {
        causes.push(Cause::required(
            "aggregationRule.clusterRoleSelectors",
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        ));
    }
    causes
}

fn check_rule(rule: &Value, namespaced: bool, field: &str, causes: &mut Vec<Cause>) {
    let empty = |member: &str| list(rule, member).is_empty();
    if empty("verbs") {
        causes.push(Cause::required(
            format!("{field}.verbs"),
            "verbs must contain at least one value",
        ));
    }
    if empty("nonResourceURLs") {
        for (member, thing) in [("apiGroups", "api group"), ("resources", "resource")] {
            if empty(member) {
                let detail = format!("resource rules must supply at least one {thing}");
                causes.push(Cause::required(format!("{field}.{member}"), &detail));
            }
        }
        return;
    }
    let mixed = ["apiGroups", "resources", "resourceNames"]
        .into_iter()
        .any(|member| !empty(member));
    let problems = [
        (namespaced, "namespaced rules cannot apply to non-resource URLs"),
        (
            mixed,
            "rules cannot apply to both regular resources and non-resource URLs",
        ),
    ];
    for (_, detail) in problems.into_iter().filter(|(applies, _)| *applies) {
        causes.push(Cause::invalid(
            format!("{field}.nonResourceURLs"),
            &rule["nonResourceURLs"],
            detail,
        ));
    }
}

fn binding(binding: &Value, namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let role = binding.get("roleRef").unwrap_or(&Value::Null);
    let kinds: &[&str] = if namespaced {
        &["ClusterRole", "Role"]
    } else {
        &["ClusterRole"]
    };
    causes.extend(unsupported(
        "roleRef.apiGroup",
        text(role, "apiGroup"),
        &[RBAC_GROUP],
    ));
    causes.extend(unsupported("roleRef.kind", text(role, "kind"), kinds));
    match text(role, "name") {
        "" => causes.push(Cause::required("roleRef.name", "")),
        name => {
            let problem = path_segment_problem(name);
            causes.extend(problem.map(|detail| Cause::invalid("roleRef.name", &json!(name), &detail)));
        }
    }
    for (index, subject) in list(binding, "subjects").iter().enumerate() {
        check_subject(subject, namespaced, &format!("subjects[{index}]"), &mut causes);
    }
    causes
}

fn check_subject(subject: &Value, namespaced: bool, field: &str, causes: &mut Vec<Cause>) {
    let (kind, name, group) = (
        text(subject, "kind"),
        text(subject, "name"),
        text(subject, "apiGroup"),
    );
    if name.is_empty() {
        causes.push(Cause::required(format!("{field}.name"), ""));
    }
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() && !is_subdomain(name) {
                causes.push(Cause::invalid(format!("{field}.name"), &json!(name), SUBDOMAIN));
            }
            causes.extend(unsupported(&format!("{field}.apiGroup"), group, &[""]));
            if !namespaced && text(subject, "namespace").is_empty() {
                causes.push(Cause::required(format!("{field}.namespace"), ""));
            }
        }
        "User" | "Group" => causes.extend(unsupported(&format!("{field}.apiGroup"), group, &[RBAC_GROUP])),
        _ => causes.extend(unsupported(
            &format!("{field}.kind"),
            kind,
            &["Group", "ServiceAccount", "User"],
        )),
    }
}

fn unsupported(field: &str, value: &str, supported: &[&str]) -> Option<Cause> {
    if supported.contains(&value) {
        return None;
    }
    let known: Vec<String> = supported.iter().map(|known| format!("{known:?}")).collect();
    let message = format!(
        "Unsupported value: {value:?}: supported values: {}",
        known.join(", ")
    );
    Some(Cause::new("FieldValueNotSupported", field, message))
}

/// Names of roles may hold anything that can stand in a path.
fn path_segment_problem(name: &str) -> Option<String> {
    if matches!(name, "." | "..") {
        return Some(format!("may not be '{name}'"));
    }
    ["/", "%"]
        .into_iter()
        .find(|part| name.contains(part))
        .map(|part| format!("may not contain '{part}'"))
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

pub(super) fn is_subdomain(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value
        .get(member)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(resource: &str, object: &Value) -> Vec<String> {
        validate_policy(resource, None, object)
            .into_iter()
            .map(|cause| {
                format!(
                    "{} {}",
                    cause.reason.trim_start_matches("FieldValue"),
                    cause.field
                )
            })
            .collect()
    }

    #[test]
    fn a_rule_is_for_resources_or_for_paths() {
        let rules = |rule: Value| json!({"rules": [rule]});
        assert_eq!(
            fields("roles", &rules(json!({}))),
            [
                "Required rules[0].verbs",
                "Required rules[0].apiGroups",
                "Required rules[0].resources"
            ]
        );
        let path = json!({"verbs": ["get"], "nonResourceURLs": ["/x"]});
        assert_eq!(
            fields("roles", &rules(path.clone())),
            ["Invalid rules[0].nonResourceURLs"]
        );
        assert_eq!(fields("clusterroles", &rules(path)), [""; 0]);
        let mixed = json!({"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]});
        assert_eq!(
            fields("clusterroles", &rules(mixed)),
            ["Invalid rules[0].nonResourceURLs"]
        );
        assert_eq!(
            fields("clusterroles", &json!({"aggregationRule": {}})),
            ["Required aggregationRule.clusterRoleSelectors"]
        );
    }

    #[test]
    fn a_binding_names_a_role_and_its_subjects() {
        let mut good = json!({
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}],
        });
        set_policy_defaults(&mut good);
        assert_eq!(
            good["subjects"],
            json!([{"kind": "User", "name": "u", "apiGroup": RBAC_GROUP}, {"kind": "ServiceAccount", "name": "s"}])
        );
        assert_eq!(fields("rolebindings", &good), [""; 0]);
        assert_eq!(
            fields("clusterrolebindings", &good),
            ["NotSupported roleRef.kind", "Required subjects[1].namespace"]
        );
        assert_eq!(
            fields(
                "rolebindings",
                &json!({"subjects": [{"kind": "Robot"}, {"kind": "ServiceAccount", "name": "A", "apiGroup": "x"}]})
            ),
            [
                "NotSupported roleRef.apiGroup",
                "NotSupported roleRef.kind",
                "Required roleRef.name",
                "Required subjects[0].name",
                "NotSupported subjects[0].kind",
                "Invalid subjects[1].name",
                "NotSupported subjects[1].apiGroup",
            ]
        );
        let mut other = good.clone();
        other["roleRef"]["name"] = json!("q");
        assert_eq!(
            validate_policy("rolebindings", Some(&good), &other)[0].field,
            "roleRef"
        );
    }
}
