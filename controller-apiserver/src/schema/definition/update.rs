//! What must not change in a definition.

use serde_json::Value;

use super::validate::{validate_spec, validate_stored};
use super::{approval, names, spec};
use crate::schema::json::flag;
use crate::schema::path::Path;
use crate::status::Cause;

/// What is wrong with a definition that replaces another.
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (spec, before) = (spec(new), spec(old));
    validate_spec(&spec, &mut causes);
    let established = old["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    let mut immutable = |pointer: &str, field: &str| {
        let (new, old) = (&new["spec"].pointer(pointer), &old["spec"].pointer(pointer));
        if new != old {
            let value = new.cloned().unwrap_or_default();
            causes.push(Cause::invalid(field, &value, "field is immutable"));
        }
    };
    if established {
        immutable("/scope", "spec.scope");
        immutable("/names/kind", "spec.names.kind");
    }
    immutable("/group", "spec.group");
    immutable("/names/plural", "spec.names.plural");
    validate_accepted(new, &mut causes);
    validate_stored(new, &mut causes);
    approval::validate(new, Some(old), &mut causes);
    if flag(&spec, "preserveUnknownFields") && !flag(&before, "preserveUnknownFields") {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        causes.push(Cause::invalid(
            "spec.preserveUnknownFields",
            &Value::Bool(true),
            detail,
        ));
    }
    causes
}

/// What is wrong with a status that replaces another.
pub(crate) fn validate_status(new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    validate_accepted(new, &mut causes);
    causes
}

fn validate_accepted(new: &Value, causes: &mut Vec<Cause>) {
    if let Some(accepted) = new["status"]["acceptedNames"].as_object() {
        names::validate(accepted, &Path::Base("status.acceptedNames"), causes);
    }
}
