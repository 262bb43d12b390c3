//! The scale subresource: one number of an object, as `autoscaling/v1` `Scale`.
//!
//! Source: API conventions, "Special subresources"; paths of custom resources as their definition
//! names them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::WriteOptions;
use super::decode::{Expected, shape_as};
use super::patch::PatchType;
use crate::call::{Answer, Session, Verb};
use crate::object::{at, meta_mut, meta_str};
use crate::patch::apply;
use crate::registry::{Resource, ScalePaths};
use crate::status::{ApiError, Cause, Named};
use crate::storage::Stored;
use crate::view;

impl Session<'_> {
    /// GET, PUT or PATCH of a Scale.
    pub(crate) fn scale(&mut self) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let Some(existing) = self.existing() else {
            return Err(ApiError::not_found(&resource.named(), &self.call.target.name));
        };
        let object = view::value(resource, &existing);
        match self.call.verb {
            Verb::Get => Ok(Answer::value(200, scale_of(resource, &object, true)?)),
            Verb::Update => {
                let options = WriteOptions::of(self.call, false)?;
                let mut scale = self.decode_as(&expected(), &options)?;
                self.check_name(&scale)?;
                self.track_scale(&object, &mut scale, &options)?;
                self.write_scale(&existing, object, &scale, &options)
            }
            _ => {
                let format = PatchType::of(self.call.content_type.as_deref(), resource.is_custom())?;
                let options = WriteOptions::of(self.call, format == PatchType::Apply)?;
                if format == PatchType::Apply {
                    let scale = self.applied_scale(&object, &options)?;
                    return self.write_scale(&existing, object, &scale, &options);
                }
                let current = scale_of(resource, &object, false)?;
                let mut scale = self.patched(format, &current, &expected())?.object;
                check(&mut scale)?;
                self.track_scale(&object, &mut scale, &options)?;
                self.write_scale(&existing, object, &scale, &options)
            }
        }
    }

    /// Writes the number of a Scale into its object.
    pub(super) fn write_scale(
        &mut self,
        existing: &Arc<Stored>,
        mut object: Value,
        scale: &Value,
        options: &WriteOptions,
    ) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
        if replicas < 0 {
            return Err(negative(resource, meta_str(&object, "name"), replicas));
        }
        let given = meta_str(scale, "resourceVersion");
        if !matches!(given, "" | "0") && given != existing.revision.to_string() {
            return Err(ApiError::modified(&resource.named(), meta_str(&object, "name")));
        }
        let given = meta_str(scale, "uid");
        if !given.is_empty() && *given != *existing.uid {
            return Err(ApiError::conflict(
                &resource.named(),
                meta_str(&object, "name"),
                &format!(
                    "Precondition failed: UID in precondition: {given}, UID in object meta: {}",
                    existing.uid
                ),
            ));
        }
        set_path(&mut object, &paths(resource).spec_replicas, replicas.into());
        let old = view::value(resource, existing);
        super::generation::advance(resource, &old, &mut object);
        let causes = super::strategy::review(resource, &object, Some(&old)).causes;
        if !causes.is_empty() {
            return Err(ApiError::invalid(
                &resource.named_kind(),
                meta_str(&object, "name"),
                causes,
            ));
        }
        self.disown_scale(&mut object, scale);
        apply::keep_times(&old, &mut object);
        let written = match self.commit_change(existing, &old, object, options) {
            Answer::Stored { stored, .. } => view::value(resource, &stored),
            Answer::Value { value, .. } => value,
            other => return Ok(other),
        };
        Ok(Answer::value(200, scale_of(resource, &written, true)?))
    }
}

/// The kind of a Scale.
pub(super) fn expected() -> Expected {
    Expected::builtin("autoscaling", "v1", "Scale")
}

fn check(scale: &mut Value) -> Result<(), ApiError> {
    let right = scale["kind"] == "Scale" && scale["apiVersion"] == "autoscaling/v1";
    if !right {
        return Err(ApiError::bad_request(format!(
            "expected autoscaling/v1, Kind=Scale, got {}, Kind={}",
            scale["apiVersion"], scale["kind"]
        )));
    }
    shape_as(&expected(), scale).map(drop).map_err(|why| {
        ApiError::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: {why}"
        ))
    })
}

fn negative(resource: &Resource, name: &str, replicas: i64) -> ApiError {
    if resource.is_custom() {
        let path = format!(".{}", paths(resource).spec_replicas);
        let cause = Cause::invalid(path, &replicas.into(), "should be a non-negative integer");
        return ApiError::invalid(&resource.named_kind(), name, vec![cause]);
    }
    let cause = Cause::invalid(
        "spec.replicas",
        &replicas.into(),
        "must be greater than or equal to 0",
    );
    ApiError::invalid(&Named::new("autoscaling", "Scale"), name, vec![cause])
}

pub(super) fn paths(resource: &Resource) -> ScalePaths {
    resource
        .custom
        .as_ref()
        .and_then(|custom| custom.scale.clone())
        .unwrap_or_else(|| ScalePaths {
            spec_replicas: "spec.replicas".to_owned(),
            status_replicas: "status.replicas".to_owned(),
            selector: None,
        })
}

fn set_path(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.split('.') {
        if !place.is_object() {
            *place = Value::Object(serde_json::Map::new());
        }
        place = &mut place[part];
    }
    *place = value;
}

/// The Scale of an object.
///
/// # Errors
///
/// A custom resource has no such number, and one is `needed`.
pub(super) fn scale_of(resource: &Resource, object: &Value, needed: bool) -> Result<Value, ApiError> {
    let paths = paths(resource);
    let number = |path: &str| at(object, path).and_then(Value::as_i64);
    let replicas = number(&paths.spec_replicas);
    if replicas.is_none() && needed && resource.is_custom() {
        let why = format!(
            "the spec replicas field \".{}\" does not exist",
            paths.spec_replicas
        );
        let mut error = ApiError::new(500, "InternalError", format!("Internal error occurred: {why}"));
        error.details.get_or_insert_default().causes = vec![Cause::new("", "", why)];
        return Err(error);
    }
    let mut status = json!({"replicas": number(&paths.status_replicas).unwrap_or_default()});
    let selector = match &paths.selector {
        Some(path) => at(object, path).and_then(Value::as_str).map(str::to_owned),
        None if resource.is_custom() => None,
        None => Some(selector_text(&object["spec"]["selector"])),
    };
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status["selector"] = selector.into();
    }
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {}, "spec": {}, "status": status,
    });
    if let Some(replicas) = replicas.filter(|replicas| *replicas != 0) {
        scale["spec"]["replicas"] = replicas.into();
    }
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            meta_mut(&mut scale).insert(field.to_owned(), value.clone());
        }
    }
    Ok(scale)
}

/// A label selector as text; the selector of a `ReplicationController` is a plain map.
fn selector_text(selector: &Value) -> String {
    let pairs = |map: &Value| -> Vec<String> {
        map.as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
            .collect()
    };
    let labelled = selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    if !labelled {
        return pairs(selector).join(",");
    }
    let mut terms = pairs(&selector["matchLabels"]);
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values: Vec<_> = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let values = values.join(",");
        terms.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    terms.sort();
    terms.join(",")
}
