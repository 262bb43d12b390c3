//! The definition of a kind, from its Rust type: what the derive macro makes, mended; or why there is none that an API server takes.

use std::{any::Any, panic::catch_unwind};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use super::{OperatorError, schema};

/// The longest reason that is told; the macro quotes whole schemas.
const REASON: usize = 200;

/// A type that makes no definition, and why.
#[derive(Clone, Debug)]
pub(super) struct Undefined {
    kind: &'static str,
    reason: String,
}

impl Undefined {
    pub(super) fn error(&self) -> OperatorError {
        OperatorError::NoSchema {
            kind: self.kind,
            reason: self.reason.clone(),
        }
    }
}

/// A definition, and where it says less than the type.
///
/// # Errors
///
/// When the macro gives up on the type, which it does by a panic (kube-rs/kube#1279), or makes of it what no server takes.
pub(super) fn of<K: CustomResourceExt>() -> Result<(CustomResourceDefinition, Vec<String>), Undefined> {
    let undefined = |reason| Undefined {
        kind: std::any::type_name::<K>(),
        reason,
    };
    let mut definition = catch_unwind(K::crd).map_err(|panic| undefined(reason(&*panic)))?;
    let mut warnings = Vec::new();
    let schemas = definition.spec.versions.iter_mut().filter_map(|version| {
        let schema = version.schema.as_mut()?;
        schema.open_api_v3_schema.as_mut()
    });
    for schema in schemas {
        let review = schema::review(schema);
        if !review.faults.is_empty() {
            return Err(undefined(review.faults.join("; ")));
        }
        warnings.extend(review.warnings);
    }
    let kind = &definition.spec.names.kind;
    let warnings = warnings
        .iter()
        .map(|warning| format!("{kind}: {warning}"))
        .collect();
    Ok((definition, warnings))
}

/// The first sentence of a panic.
fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given");
    let sentence = match text.split_once(" has the schema ") {
        Some((property, _)) => format!("{property} has another schema in each variant"),
        None => text.to_owned(),
    };
    sentence.chars().take(REASON).collect()
}
