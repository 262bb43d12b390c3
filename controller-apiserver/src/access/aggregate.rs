//! Aggregated cluster roles: a role whose rules are those of the roles its selectors match.
//!
//! Kubernetes documentation, "Aggregated `ClusterRole`s". The controller that fills them in on a real
//! cluster runs after the write; here the server asks [`aggregated`] after each write of a cluster
//! role and stores the difference.

use super::Rule;
use super::policy::rules_of;
use serde_json::{Map, Value};

/// The rules that `role` should have, were these all cluster roles; `None` if it is not an
/// aggregated one or already has them, in whatever order: then there is nothing to write, and two
/// roles that aggregate each other come to rest.
pub fn aggregated<'a>(role: &Value, all: impl IntoIterator<Item = &'a Value>) -> Option<Vec<Rule>> {
    let selectors = role
        .pointer("/aggregationRule/clusterRoleSelectors")?
        .as_array()?;
    let own = name(role);
    let mut rules: Vec<Rule> = Vec::new();
    let mut sources: Vec<&Value> = all.into_iter().filter(|other| name(other) != own).collect();
    sources.sort_by_key(|other| name(other));
    for source in sources {
        let labels = source.pointer("/metadata/labels").and_then(Value::as_object);
        if selectors.iter().any(|selector| matches(selector, labels)) {
            for rule in rules_of(source) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    let present = rules_of(role);
    let same = present.len() == rules.len() && rules.iter().all(|rule| present.contains(rule));
    (!same).then_some(rules)
}

fn name(role: &Value) -> Option<&str> {
    role.pointer("/metadata/name").and_then(Value::as_str)
}

/// A `LabelSelector`; an empty one matches everything, a malformed one nothing.
fn matches(selector: &Value, labels: Option<&Map<String, Value>>) -> bool {
    let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
    let by_labels = selector.get("matchLabels").and_then(Value::as_object);
    let by_expressions = selector.get("matchExpressions").and_then(Value::as_array);
    by_labels.is_none_or(|wanted| {
        wanted
            .iter()
            .all(|(key, value)| value.as_str() == label(key) && value.is_string())
    }) && by_expressions
        .is_none_or(|terms| terms.iter().all(|term| expression(term, &label).unwrap_or(false)))
}

fn expression<'a>(term: &Value, label: &impl Fn(&str) -> Option<&'a str>) -> Option<bool> {
    let actual = label(term.get("key")?.as_str()?);
    let among = || -> Option<bool> {
        let values = term.get("values")?.as_array()?;
        Some(
            values
                .iter()
                .any(|value| value.as_str() == actual && actual.is_some()),
        )
    };
    Some(match term.get("operator")?.as_str()? {
        "In" => among()?,
        "NotIn" => !among()?,
        "Exists" => actual.is_some(),
        "DoesNotExist" => actual.is_none(),
        _ => return None,
    })
}
