//! From a request's body to an object of the resource.

use serde_json::Value;

use super::options::{FieldValidation, WriteOptions};
use crate::call::Session;
use crate::codec::body::{self, Format};
use crate::codec::typed;
use crate::codec::types::{self, OBJECT_META, Type};
use crate::defaults;
use crate::object::meta;
use crate::registry::{Resource, api_version};
use crate::schema::normalize_numbers;
use crate::status::{ApiError, Cause, Named};
use crate::write::strategy;

/// An object as it was decoded, and what of it was not understood.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Texts such as `unknown field "spec.x"`.
    pub(crate) complaints: Vec<String>,
}

/// The kind a body must have: the resource's own, or its subresource's.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// A custom resource, whose bodies must name their kind.
    pub(crate) custom: bool,
}

impl Expected {
    /// A kind that is built in, as some subresources have.
    pub(crate) fn builtin(group: &str, version: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            custom: false,
        }
    }

    pub(crate) fn of(resource: &Resource) -> Self {
        Self {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            custom: resource.is_custom(),
        }
    }

    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    fn cannot_be_handled(&self, why: &str) -> String {
        format!(
            "{} in version {:?} cannot be handled as a {}: {why}",
            self.kind, self.version, self.kind
        )
    }
}

impl Session<'_> {
    /// Decodes the body as an object of the resource; unknown fields warn, or refuse it.
    pub(super) fn decode(&mut self, options: &WriteOptions) -> Result<Value, ApiError> {
        let resource = self.resource();
        self.decode_by(&Expected::of(resource), options, |object| shape(resource, object))
    }

    /// Decodes the body as an object of another built-in kind, as some subresources have.
    pub(super) fn decode_as(
        &mut self,
        expected: &Expected,
        options: &WriteOptions,
    ) -> Result<Value, ApiError> {
        self.decode_by(expected, options, |mut object| {
            let unknown = shape_as(expected, &mut object)?;
            let complaints = unknown
                .iter()
                .map(|path| format!("unknown field {path:?}"))
                .collect();
            Ok(Decoded { object, complaints })
        })
    }

    fn decode_by(
        &mut self,
        expected: &Expected,
        options: &WriteOptions,
        shape: impl FnOnce(Value) -> Result<Decoded, String>,
    ) -> Result<Value, ApiError> {
        let format = Format::of(self.call.content_type.as_deref())?;
        if format == Format::Protobuf && expected.custom {
            return Err(ApiError::unsupported_media_type(
                "application/json, application/yaml",
            ));
        }
        let body = body::parse(&self.call.body, format)
            .map_err(|error| ApiError::bad_request(expected.cannot_be_handled(&error)))?;
        let mut object = body.value;
        identify(expected, &mut object)?;
        let mut decoded =
            shape(object).map_err(|why| ApiError::bad_request(expected.cannot_be_handled(&why)))?;
        let duplicates = body
            .duplicates
            .iter()
            .map(|path| format!("duplicate field {path:?}"));
        decoded.complaints.splice(0..0, duplicates);
        if options.validation == FieldValidation::Strict && !decoded.complaints.is_empty() {
            let why = format!("strict decoding error: {}", decoded.complaints.join(", "));
            return Err(ApiError::bad_request(expected.cannot_be_handled(&why)));
        }
        self.complain(options, decoded.complaints);
        Ok(decoded.object)
    }

    /// Turns complaints into warnings, unless they are to be ignored.
    pub(super) fn complain(&mut self, options: &WriteOptions, complaints: Vec<String>) {
        if options.validation != FieldValidation::Ignore {
            self.warnings.extend(complaints);
        }
    }
}

/// Checks `apiVersion` and `kind`; built-in kinds take missing ones from the path.
fn identify(expected: &Expected, object: &mut Value) -> Result<(), ApiError> {
    if object.is_null() && !expected.custom {
        *object = Value::Object(serde_json::Map::new());
    }
    if !object.is_object() {
        let why = "json: cannot unmarshal the body into an object";
        return Err(ApiError::bad_request(expected.cannot_be_handled(why)));
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (given_version, given_kind) = (text("apiVersion"), text("kind"));
    let api_version = expected.api_version();
    if expected.custom {
        if given_kind.is_empty() {
            return Err(ApiError::bad_request(format!(
                "Object 'Kind' is missing in '{object}'"
            )));
        }
        if given_version.is_empty() {
            return Err(ApiError::bad_request(format!(
                "Object 'apiVersion' is missing in '{object}'"
            )));
        }
    }
    let other_version = !given_version.is_empty() && given_version != api_version;
    let other_kind = !given_kind.is_empty() && given_kind != expected.kind;
    if other_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({given_version}) does not match the expected API version ({api_version})"
        )));
    }
    if other_kind {
        if expected.custom {
            let name = meta(object)
                .and_then(|meta| meta.get("name")?.as_str())
                .unwrap_or_default();
            let cause = Cause::invalid("kind", &given_kind.into(), &format!("must be {}", expected.kind));
            let kind = Named::new(&*expected.group, &*expected.kind);
            return Err(ApiError::invalid(&kind, name, vec![cause]));
        }
        return Err(ApiError::bad_request(format!(
            "{given_kind} in version {:?} cannot be handled as a {}: converting ({given_version}.{given_kind}) to ({}.{}): unknown conversion",
            expected.version, expected.kind, api_version, expected.kind
        )));
    }
    object["apiVersion"] = api_version.into();
    object["kind"] = expected.kind.clone().into();
    Ok(())
}

/// Brings an object into the shape of its type: unknown fields go and are complained of.
pub(crate) fn shape(resource: &Resource, mut object: Value) -> Result<Decoded, String> {
    let complaints = match &resource.custom {
        None => {
            let unknown = shape_as(&Expected::of(resource), &mut object)?;
            defaults::apply(&resource.group, &resource.version, &resource.kind, &mut object);
            if resource.is("", "secrets") {
                strategy::write_string_data(&mut object);
            }
            unknown
        }
        Some(custom) => {
            normalize_numbers(&mut object);
            let mut unknown = shape_metadata(&mut object)?;
            unknown.sort();
            unknown.extend(custom.schema.prune(&mut object));
            let embedded = custom.schema.coerce(&mut object);
            unknown.extend(embedded.map_err(|cause| format!("{}: {}", cause.field, cause.message))?);
            custom.schema.default(&mut object);
            unknown
        }
    };
    Ok(Decoded {
        object,
        complaints: complaints
            .iter()
            .map(|path| format!("unknown field {path:?}"))
            .collect(),
    })
}

/// Decodes an object as a built-in kind.
pub(crate) fn shape_as(expected: &Expected, object: &mut Value) -> Result<Vec<String>, String> {
    let Some((types, ty)) = types::kind(&expected.api_version(), &expected.kind) else {
        return Ok(Vec::new());
    };
    typed::decode(object, &ty, types, &expected.kind).map_err(|mismatch| mismatch.0)
}

/// Decodes only `metadata`, which has one type whatever the kind.
pub(crate) fn shape_metadata(object: &mut Value) -> Result<Vec<String>, String> {
    let Some(types) = types::types("coordination.k8s.io/v1") else {
        return Ok(Vec::new());
    };
    let mut metadata = object["metadata"].take();
    let unknown = typed::decode(
        &mut metadata,
        &Type::Struct(OBJECT_META.into()),
        types,
        "ObjectMeta",
    )
    .map_err(|mismatch| mismatch.0)?;
    object["metadata"] = metadata;
    Ok(unknown
        .into_iter()
        .map(|path| format!("metadata.{path}"))
        .collect())
}
