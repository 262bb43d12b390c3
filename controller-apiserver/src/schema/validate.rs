//! Validation of a resource: all checks, in the order of the server.
//!
//! Values against keywords first; then embedded resources, the uniqueness of sets and keyed lists,
//! and the rules. Rules are written for sound objects: they do not run on one that is not.

use serde_json::Value;

use super::cel::Run;
use super::node::Node;
use super::path::Path;
use super::{embedded, unique, value};
use crate::status::Cause;

/// The outcome of a validation.
#[derive(Clone, Debug, Default)]
pub struct Review {
    /// What is wrong.
    pub causes: Vec<Cause>,
    /// What is wrong with parts that did not change, and is let through (KEP-4008).
    pub warnings: Vec<Cause>,
}

/// The reasons of failures that keep rules from running.
const BLOCKING: [&str; 5] = [
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
];

/// Everything that is wrong with `new`, which replaces `old`.
pub(crate) fn review(new: &Value, old: Option<&Value>, schema: &Node) -> Review {
    let mut causes = value::check(new, old, schema, &Path::Root);
    embedded::validate(new, schema, &mut causes);
    // Lists that were not unique before may stay so.
    if old.is_none_or(|old| unique::check(old, schema).is_empty()) {
        causes.extend(unique::check(new, schema));
    }
    let mut warnings = Vec::new();
    if schema.has_rules {
        if causes
            .iter()
            .any(|cause| BLOCKING.contains(&cause.reason.as_str()))
        {
            causes.push(not_checked());
        } else {
            let run = Run::over(schema, new, old);
            causes.extend(run.causes);
            warnings = run.warnings;
        }
    }
    Review { causes, warnings }
}

/// What is wrong with a default, which stands for a value of `schema`.
pub(crate) fn review_default(default: &Value, schema: &Node, path: &Path<'_>) -> Vec<Cause> {
    let mut causes = value::check(default, None, schema, path);
    if causes.is_empty() {
        causes = Run::at(schema, default, None, schema.extensions.embedded_resource, path).causes;
    }
    causes
}

fn not_checked() -> Cause {
    let detail = "some validation rules were not checked because the object was invalid; correct the existing errors \
                  to complete validation";
    Cause::invalid("<nil>", &Value::Null, detail)
}
