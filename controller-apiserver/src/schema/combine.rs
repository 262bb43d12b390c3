//! `allOf`, `anyOf`, `oneOf` and `not`.
//!
//! If no alternative fits, the failures of one are told: of the one of which most checks were made,
//! the first of several. The counting follows the server's library, because it shows.

use serde_json::Value;

use super::node::Node;
use super::path::Path;
use super::value::Checks;

/// A number of checks.
pub(super) type Matches = usize;

/// How many of the validators for a kind of value apply to it.
pub(super) fn applying(value: &Value, schema: &Node) -> Matches {
    let typed = usize::from(
        !schema.type_name.is_empty() || schema.extensions.int_or_string || !schema.limits.format.is_empty(),
    );
    // The junctors and the enumeration always apply; strings, numbers, lists and objects have one of their own.
    let own = usize::from(!matches!(value, Value::Null | Value::Bool(_)));
    let format = usize::from(value.is_string() && !schema.limits.format.is_empty());
    1 + typed + own + format
}

pub(super) fn check(new: &Value, schema: &Node, path: &Path<'_>, checks: &mut Checks) {
    any_of(new, schema, path, checks);
    one_of(new, schema, path, checks);
    all_of(new, schema, path, checks);
    if let Some(not) = &schema.not
        && alternative(new, not, path).causes.is_empty()
    {
        checks.unattached(&format!("\"{path}\" must not validate the schema (not)"));
    }
}

fn alternative(new: &Value, schema: &Node, path: &Path<'_>) -> Checks {
    let mut checks = Checks::default();
    checks.value(new, None, schema, path);
    checks
}

fn merge(checks: &mut Checks, other: Checks) {
    checks.matches += other.matches;
    for cause in other.causes {
        checks.add(cause);
    }
}

fn any_of(new: &Value, schema: &Node, path: &Path<'_>, checks: &mut Checks) {
    let mut best: Option<Checks> = None;
    for one in &schema.any_of {
        let result = alternative(new, one, path);
        if result.causes.is_empty() {
            return merge(checks, result);
        }
        if best.as_ref().is_none_or(|best| result.matches > best.matches) {
            best = Some(result);
        }
    }
    if let Some(best) = best {
        checks.unattached(&format!("\"{path}\" must validate at least one schema (anyOf)"));
        merge(checks, best);
    }
}

fn one_of(new: &Value, schema: &Node, path: &Path<'_>, checks: &mut Checks) {
    let mut best: Option<Checks> = None;
    let mut first = None;
    let mut valid = 0;
    for one in &schema.one_of {
        let result = alternative(new, one, path);
        if result.causes.is_empty() {
            valid += 1;
            best = None;
            first.get_or_insert(result);
        } else if valid == 0 && best.as_ref().is_none_or(|best| result.matches > best.matches) {
            best = Some(result);
        }
    }
    match (valid, first) {
        (1, Some(first)) => merge(checks, first),
        _ if schema.one_of.is_empty() => {}
        _ => {
            let found = if valid == 0 {
                "Found none valid".to_owned()
            } else {
                format!("Found {valid} valid alternatives")
            };
            checks.unattached(&format!(
                "\"{path}\" must validate one and only one schema (oneOf). {found}"
            ));
            if let Some(best) = best {
                merge(checks, best);
            }
        }
    }
}

fn all_of(new: &Value, schema: &Node, path: &Path<'_>, checks: &mut Checks) {
    let mut valid = 0;
    for one in &schema.all_of {
        let result = alternative(new, one, path);
        valid += usize::from(result.causes.is_empty());
        merge(checks, result);
    }
    if valid < schema.all_of.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        checks.unattached(&format!("\"{path}\" must validate all the schemas (allOf){none}"));
    }
}
