//! From client-side to server-side apply: the manager `kubectl` may overrule others where the object
//! still is what it applied from the client, and its annotation is kept up to date.

use serde_json::Value;

use super::{
    ApplyError,
    compare::compare,
    error::Conflicts,
    fieldset::field_set,
    update::Writer,
    validate::{Duplicates, validate},
};
use crate::patch::fields::Set;

pub(super) const MANAGER: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn annotation(object: &Value) -> Option<&str> {
    let text = object["metadata"]["annotations"][ANNOTATION].as_str()?;
    Some(text).filter(|text| !text.is_empty())
}

/// # Errors
///
/// The conflicts that the annotation does not excuse.
pub(super) fn excuse(writer: &Writer<'_>, live: &Value, conflicts: Conflicts) -> Result<(), ApplyError> {
    let Some(excused) = excused(writer, live) else {
        return Err(ApplyError::Conflict(conflicts));
    };
    let rest: Vec<_> = conflicts
        .0
        .into_iter()
        .filter(|(_, path)| !excused.contains(path))
        .collect();
    if rest.is_empty() {
        Ok(())
    } else {
        Err(ApplyError::Conflict(Conflicts(rest)))
    }
}

/// The fields of the last client-side apply that the live object still has with these values.
fn excused(writer: &Writer<'_>, live: &Value) -> Option<Set> {
    let applied: Value = serde_json::from_str(annotation(live)?).ok()?;
    if applied["apiVersion"] != writer.api_version {
        return None;
    }
    validate(&writer.schema, &applied, Duplicates::Refused).ok()?;
    let compared = compare(&writer.schema, &applied, live).ok()?;
    let fields = field_set(&writer.schema, &applied);
    Some(
        fields
            .difference(&compared.modified)
            .difference(&compared.added)
            .difference(&compared.removed),
    )
}

/// Writes the configuration into the annotation, if the object has it.
pub(super) fn renew(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    let annotations = applied["metadata"].get_mut("annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    object["metadata"]["annotations"][ANNOTATION] = Value::from(format!("{applied}\n"));
}
