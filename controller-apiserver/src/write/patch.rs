//! PATCH: which format, on which object, and what of it was not understood.

use std::sync::Arc;

use serde_json::Value;

use super::decode::{Expected, shape};
use super::options::{FieldValidation, WriteOptions};
use super::update::Tracked;
use crate::call::{Answer, Session};
use crate::codec::body::{self, Format};
use crate::object::{meta_mut, meta_str};
use crate::patch::{PatchError, json, merge, strategic, typed};
use crate::registry::Resource;
use crate::status::{ApiError, Cause, Named};
use crate::storage::Stored;
use crate::view;

/// The patch formats, by media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    /// The format of a request; a patch without one is refused.
    pub(super) fn of(content_type: Option<&str>, custom: bool) -> Result<Self, ApiError> {
        let media = content_type
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        match media {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(ApiError::unsupported_media_type(if custom {
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
            } else {
                "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml"
            })),
        }
    }
}

impl From<PatchError> for ApiError {
    fn from(error: PatchError) -> Self {
        if let PatchError::Rejected(_) = error {
            return Self::unprocessable(error.message());
        }
        Self::new(error.code(), error.reason(), error.message())
    }
}

/// A patched object before it is decoded.
pub(super) struct Patched {
    pub(super) object: Value,
    /// What is wrong with the patch itself: duplicate fields, unknown members.
    pub(super) complaints: Vec<String>,
}

impl Session<'_> {
    /// PATCH on an object or its status.
    pub(crate) fn patch(&mut self) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let format = PatchType::of(self.call.content_type.as_deref(), resource.is_custom())?;
        let options = WriteOptions::of(self.call, format == PatchType::Apply)?;
        if format == PatchType::Apply {
            return self.apply(&options);
        }
        let Some(existing) = self.existing() else {
            return Err(ApiError::not_found(&resource.named(), &self.call.target.name));
        };
        let current = view::value(resource, &existing);
        let patched = self.patched(format, &current, &Expected::of(resource))?;
        self.finish_patch(&existing, patched, &options)
    }

    /// Applies the request's patch to an object.
    pub(super) fn patched(
        &self,
        format: PatchType,
        current: &Value,
        expected: &Expected,
    ) -> Result<Patched, ApiError> {
        let body = body::parse(&self.call.body, Format::Json)
            .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
        let mut complaints: Vec<String> = body
            .duplicates
            .iter()
            .map(|path| format!("duplicate field {path:?}"))
            .collect();
        let object = match format {
            PatchType::Json => {
                complaints.extend(
                    json::unknown_fields(&body.value)
                        .iter()
                        .map(|path| format!("json patch unknown field {path:?}")),
                );
                json::apply(current, &body.value)?
            }
            PatchType::Merge => {
                let mut object = current.clone();
                merge::apply(&mut object, &body.value)?;
                object
            }
            PatchType::Strategic => strategic_patch(current, &body.value, expected)?,
            PatchType::Apply => return Err(ApiError::not_supported("an apply patch here")),
        };
        Ok(Patched { object, complaints })
    }

    fn finish_patch(
        &mut self,
        existing: &Arc<Stored>,
        patched: Patched,
        options: &WriteOptions,
    ) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let expected = Expected::of(resource);
        let patch_text = patched.object.to_string();
        let mut object = patched.object;
        check_identity(resource, &expected, &object, &patch_text)?;
        view::name(resource, &mut object);
        self.check_patched_name(&object)?;
        let decoded = shape(resource, object).map_err(|why| unusable(&patch_text, &why))?;
        let mut complaints = patched.complaints;
        complaints.extend(decoded.complaints);
        if options.validation == FieldValidation::Strict && !complaints.is_empty() {
            let detail = format!("strict decoding error: {}", complaints.join(", "));
            return Err(unusable(&patch_text, &detail));
        }
        self.complain(options, complaints);
        let mut object = decoded.object;
        keep_revision(&mut object);
        self.replace(existing, object, options, Tracked::Not)
    }

    /// A patch cannot rename or move its object.
    fn check_patched_name(&self, object: &Value) -> Result<(), ApiError> {
        let name = meta_str(object, "name");
        if name != self.call.target.name {
            return self.check_name(object);
        }
        self.check_namespace(object)
    }
}

/// A patch cannot make another kind of its object; what it removes comes back.
fn check_identity(
    resource: &Resource,
    expected: &Expected,
    object: &Value,
    patch: &str,
) -> Result<(), ApiError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let custom = resource.is_custom();
    if custom && !kind.is_empty() && kind != expected.kind {
        let cause = Cause::invalid(
            "kind",
            &kind.as_str().into(),
            &format!("must be {}", expected.kind),
        );
        let named = Named::new(&*expected.group, kind);
        return Err(ApiError::invalid(&named, meta_str(object, "name"), vec![cause]));
    }
    let other = |given: &str, wanted: &str| given != wanted && (custom || !given.is_empty());
    if other(&kind, &expected.kind) || other(&version, &expected.api_version()) {
        let why = format!("no kind {kind:?} is registered for version {version:?}");
        return Err(unusable(patch, &why));
    }
    Ok(())
}

/// A patched object that cannot be decoded.
fn unusable(patch: &str, why: &str) -> ApiError {
    let cause = Cause::invalid("patch", &patch.into(), why);
    ApiError::invalid(&Named::new("", ""), "", vec![cause])
}

/// A revision of 0 is none.
fn keep_revision(object: &mut Value) {
    let metadata = meta_mut(object);
    if metadata.get("resourceVersion").is_some_and(|v| v == "0") {
        metadata.remove("resourceVersion");
    }
}

fn strategic_patch(current: &Value, patch: &Value, expected: &Expected) -> Result<Value, ApiError> {
    let Some(schema) = typed::builtin(&expected.group, &expected.version, &expected.kind) else {
        return Err(ApiError::not_supported("strategic merge patches of this kind"));
    };
    Ok(strategic::apply(current, patch, &schema)?)
}
