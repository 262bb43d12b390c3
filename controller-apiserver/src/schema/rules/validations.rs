//! `x-kubernetes-validations`: the declarations of rules. The rules themselves are compiled by `cel`.

use serde_json::Value;

use super::Level;
use super::keywords::{Found, Surroundings, unsupported};
use crate::schema::cel;
use crate::schema::json::{objects, text};
use crate::schema::node::Node;
use crate::schema::path::Path;
use crate::status::Cause;

/// The reasons a rule can give, as the server lists them.
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

pub(super) fn check(level: &Level, path: &Path<'_>, around: &Surroundings, found: &mut Found) {
    let key = path.child("x-kubernetes-validations");
    for (index, rule) in objects(level, "x-kubernetes-validations") {
        declaration(level, rule, &key.index(index), &mut found.keywords);
    }
    if !around.compile || !found.keywords.is_empty() {
        return;
    }
    let mut node = None;
    for (index, rule) in objects(level, "x-kubernetes-validations") {
        let node = node.get_or_insert_with(|| Node::read(&Value::Object(level.clone())));
        let resource = around.is_resource(level);
        compiled(rule, node, resource, &key.index(index), around, &mut found.rules);
    }
}

fn declaration(level: &Level, rule: &Level, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let (source, message) = (text(rule, "rule"), text(rule, "message"));
    let invalid = |key: &str, detail: &str| {
        Cause::invalid(path.child(key).to_string(), &text(rule, key).into(), detail)
    };
    let required = |key: &str, detail: &str| Cause::required(path.child(key).to_string(), detail);
    if source.trim().is_empty() {
        causes.push(required("rule", "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        causes.push(invalid("message", "must be non-empty if specified"));
    } else if breaks_line(message.trim()) {
        causes.push(invalid("message", "must not contain line breaks"));
    } else if breaks_line(source.trim()) && message.trim().is_empty() {
        causes.push(required(
            "message",
            "message must be specified if rule contains line breaks",
        ));
    }
    let expression = text(rule, "messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        causes.push(required(
            "messageExpression",
            "messageExpression must be non-empty if specified",
        ));
    }
    if let Some(reason) = rule.get("reason").and_then(Value::as_str)
        && !REASONS.contains(&reason)
    {
        causes.push(unsupported(&path.child("reason"), reason, &REASONS));
    }
    let field_path = text(rule, "fieldPath");
    if !field_path.is_empty() {
        if field_path.trim().is_empty() {
            causes.push(invalid("fieldPath", "must be non-empty if specified"));
        }
        if breaks_line(field_path) {
            causes.push(invalid("fieldPath", "must not contain line breaks"));
        }
        let node = Node::read(&Value::Object(level.clone()));
        if cel::field_path(field_path, &node, cel::Brackets::Allowed).is_err() {
            causes.push(invalid("fieldPath", "must be a valid path"));
        }
    }
}

fn compiled(
    rule: &Level,
    node: &Node,
    resource: bool,
    path: &Path<'_>,
    around: &Surroundings,
    causes: &mut Vec<Cause>,
) {
    let whole = Value::Object(rule.clone());
    let invalid =
        |key: &str, value: &Value, detail: &str| Cause::invalid(path.child(key).to_string(), value, detail);
    let optional = rule.get("optionalOldSelf") == Some(&Value::Bool(true));
    let check = cel::check(text(rule, "rule"), cel::Wanted::Bool, node, resource, optional);
    if let Some(error) = &check.error {
        causes.push(invalid("rule", &whole, error));
    }
    let expression = text(rule, "messageExpression");
    if !expression.is_empty()
        && let Some(error) = cel::check(expression, cel::Wanted::Text, node, resource, optional).error
    {
        causes.push(invalid("messageExpression", &whole, &error));
    }
    if check.uses_old_self {
        if let Some(level) = &around.uncorrelatable {
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {level}");
            causes.push(invalid("rule", &text(rule, "rule").into(), &detail));
        }
    } else if let Some(optional) = rule.get("optionalOldSelf").filter(|value| !value.is_null()) {
        causes.push(invalid(
            "optionalOldSelf",
            optional,
            "may not be set if oldSelf is not used in rule",
        ));
    }
}

fn breaks_line(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
