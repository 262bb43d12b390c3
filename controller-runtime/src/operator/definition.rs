//! The definition of a kind, from its Rust type: what the derive macro makes, or why it could not; and mended where an API server would
//! take it and still refuse what the type allows.
//!
//! An optional enumeration is the one such place. The macro says that it is nullable and lists `null` among its values, but a server
//! compares each value with the list and takes null for none of them (`basicCommonValidator` of kube-openapi). Where a field is *not*
//! nullable, the server drops a null before it validates, which is what `None` means; so the field is left optional and no more
//! (kube-rs/kube#1821).

use std::{any::Any, panic::catch_unwind};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::OperatorError;

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

/// # Errors
///
/// When the macro gives up on the type, which it does by a panic (kube-rs/kube#1279).
pub(super) fn of<K: CustomResourceExt>() -> Result<CustomResourceDefinition, Undefined> {
    let mut definition = catch_unwind(K::crd).map_err(|panic| Undefined {
        kind: std::any::type_name::<K>(),
        reason: reason(&*panic),
    })?;
    for version in &mut definition.spec.versions {
        let schema = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(schema) = schema {
            mend(schema);
        }
    }
    Ok(definition)
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

fn mend(schema: &mut JSONSchemaProps) {
    let required = schema.required.clone().unwrap_or_default();
    for (name, property) in schema.properties.iter_mut().flatten() {
        if !required.contains(name) {
            allow_absence_for_null(property);
        }
        mend(property);
    }
    match schema.items.as_mut() {
        Some(JSONSchemaPropsOrArray::Schema(items)) => mend(items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(mend),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = schema.additional_properties.as_mut() {
        mend(values);
    }
}

fn allow_absence_for_null(property: &mut JSONSchemaProps) {
    if let Some(values) = &mut property.enum_
        && property.nullable == Some(true)
    {
        values.retain(|value| !value.0.is_null());
        property.nullable = None;
    }
}
