//! Webhooks, admission policies, priorities.

use serde_json::{Value, json};

use super::{at, each, object, present, set, set_all};

pub(super) fn apply(kind: &str, value: &mut Value) {
    match kind {
        "MutatingWebhookConfiguration" => {
            for webhook in each(value, "webhooks") {
                set(webhook, "reinvocationPolicy", "Never");
                self::webhook(webhook);
            }
        }
        "ValidatingWebhookConfiguration" => each(value, "webhooks").for_each(webhook),
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
            if let Some(spec) = object(value, "spec") {
                set(spec, "failurePolicy", "Fail");
                if let Some(constraints) = present(spec, "matchConstraints") {
                    matched(constraints);
                }
            }
        }
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            if let Some(resources) = at(value, &["spec", "matchResources"]) {
                matched(resources);
            }
        }
        "PriorityClass" => set(value, "preemptionPolicy", "PreemptLowerPriority"),
        _ => {}
    }
}

fn webhook(webhook: &mut Value) {
    set_all(
        webhook,
        json!({
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "timeoutSeconds": 10,
        }),
    );
    each(webhook, "rules").for_each(|rule| set(rule, "scope", "*"));
    if let Some(service) = at(webhook, &["clientConfig", "service"]) {
        set(service, "port", 443);
    }
}

fn matched(resources: &mut Value) {
    set_all(
        resources,
        json!({"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}),
    );
    for rules in ["resourceRules", "excludeResourceRules"] {
        each(resources, rules).for_each(|rule| set(rule, "scope", "*"));
    }
}
