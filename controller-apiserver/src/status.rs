//! The `Status` object with which an API server answers a failed request.
//!
//! Format: API conventions, "Response Status Kind". Every refusal in this crate is built here, so
//! that its code, reason and details stay together.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

/// One problem with one field, listed under `details.causes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// A machine-readable word, such as `FieldValueRequired`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What a person reads.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The path of the field as the API server writes it: `spec.ports[0].name`, or `<nil>`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Cause {
    /// A cause of any reason.
    pub fn new(reason: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            field: field.into(),
            message: message.into(),
        }
    }

    /// `FieldValueRequired`.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {detail}")
        };
        Self::new("FieldValueRequired", field, message)
    }

    /// `FieldValueInvalid`, with the offending value as the server prints it (strings quoted).
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {value}: {detail}"),
        )
    }

    /// `FieldValueForbidden`.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    /// `FieldValueNotSupported`; `supported` as it is printed, quotes included.
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &str) -> Self {
        Self::new(
            "FieldValueNotSupported",
            field,
            format!("Unsupported value: {value}: supported values: {supported}"),
        )
    }

    /// `FieldValueTooLong`.
    pub fn too_long(field: impl Into<String>, limit: usize) -> Self {
        Self::new(
            "FieldValueTooLong",
            field,
            format!("Too long: may not be more than {limit} bytes"),
        )
    }
}

/// A resource (`deployments`) or kind (`Deployment`) with its group, as errors name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource or the kind.
    pub name: String,
}

impl Named {
    /// A name in a group.
    pub fn new(group: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

/// What `details` of a `Status` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource or the kind, as the reason has it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The uid of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// What is wrong, field by field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// After how many seconds a client should try again; 0 is none.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Details {
    fn of(what: &Named, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            group: what.group.clone(),
            kind: what.name.clone(),
            ..Self::default()
        }
    }
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason; empty for plain 500s.
    pub reason: String,
    /// What a person reads.
    pub message: String,
    /// Absent for refusals that concern no object.
    pub details: Option<Box<Details>>,
    /// A token with which an expired list can go on (inconsistently).
    pub continue_token: Option<String>,
}

impl ApiError {
    /// A `Status` of any code and reason, without details.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    fn with(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Sets `details.retryAfterSeconds`, which is also sent as `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// 400 `BadRequest`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401 `Unauthorized`.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403 `Forbidden`; `why` follows "… is forbidden: ".
    pub fn forbidden(resource: &Named, name: &str, why: &str) -> Self {
        let message = if resource.name.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} \"{name}\" is forbidden: {why}")
        };
        Self::new(403, "Forbidden", message).with(Details::of(resource, name))
    }

    /// 404 `NotFound` of an object.
    pub fn not_found(resource: &Named, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found"))
            .with(Details::of(resource, name))
    }

    /// 404 `NotFound` of a path under a known group.
    pub fn no_such_resource() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with(Details::default())
    }

    /// 405 `MethodNotAllowed` of a path.
    pub fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with(Details::default())
    }

    /// 405 `MethodNotAllowed` of a resource and an action.
    pub fn method_not_supported(resource: &Named, action: &str) -> Self {
        let message = format!("{action} is not supported on resources of kind \"{resource}\"");
        Self::new(405, "MethodNotAllowed", message).with(Details::of(resource, ""))
    }

    /// 406 `NotAcceptable`.
    pub fn not_acceptable(available: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        Self::new(406, "NotAcceptable", message).with(Details::default())
    }

    /// 406 of endpoints that negotiate by themselves (discovery).
    pub fn only_media_types(accepted: &str) -> Self {
        let message = format!("only the following media types are accepted: {accepted}");
        Self::new(406, "NotAcceptable", message)
    }

    /// 415 `UnsupportedMediaType`.
    pub fn unsupported_media_type(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 409 `AlreadyExists`.
    pub fn already_exists(resource: &Named, name: &str) -> Self {
        let message = format!("{resource} \"{name}\" already exists");
        Self::new(409, "AlreadyExists", message).with(Details::of(resource, name))
    }

    /// 409 `Conflict`; `why` follows "Operation cannot be fulfilled on … : ".
    pub fn conflict(what: &Named, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {what} \"{name}\": {why}");
        Self::new(409, "Conflict", message).with(Details::of(what, name))
    }

    /// 409 `Conflict` of a write that carries an old resourceVersion.
    pub fn modified(resource: &Named, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 410 `Expired`.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 422 `Invalid`.
    pub fn invalid(kind: &Named, name: &str, causes: Vec<Cause>) -> Self {
        let mut seen = BTreeSet::new();
        let texts: Vec<_> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .filter(|text| seen.insert(text.clone()))
            .collect();
        let list = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{kind} \"{name}\" is invalid: {list}");
        let details = Details {
            causes,
            ..Details::of(kind, name)
        };
        Self::new(422, "Invalid", message).with(details)
    }

    /// 422 `Invalid` without a named object, as for patches that cannot be applied.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message).with(Details::default())
    }

    /// 429 `TooManyRequests`.
    pub fn too_many_requests(message: impl Into<String>, seconds: u32) -> Self {
        Self::new(429, "TooManyRequests", message).retry_after(seconds)
    }

    /// 413 `RequestEntityTooLarge`.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 500 without a reason, as the server answers errors it has no type for.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 501 `NotImplemented`: what this server does not model, it refuses.
    pub fn not_supported(what: impl fmt::Display) -> Self {
        Self::new(
            501,
            "NotImplemented",
            format!("this API server does not support {what}"),
        )
    }

    /// 504 `Timeout` of a read that asks for a revision that is not there yet.
    pub fn too_large_revision(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let details = Details {
            causes: vec![Cause::new(
                "ResourceVersionTooLarge",
                "",
                "Too large resource version",
            )],
            retry_after_seconds: 1,
            ..Details::default()
        };
        Self::new(504, "Timeout", message).with(details)
    }

    /// The `Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": self.code,
        });
        if !self.message.is_empty() {
            status["message"] = self.message.clone().into();
        }
        if !self.reason.is_empty() {
            status["reason"] = self.reason.clone().into();
        }
        if let Some(details) = &self.details {
            status["details"] = json!(details);
        }
        if let Some(token) = &self.continue_token {
            status["metadata"]["continue"] = token.clone().into();
        }
        status
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.reason, self.message)
    }
}

impl std::error::Error for ApiError {}
