//! The `Status` object with which an API server answers a failed request.
//!
//! Format: API conventions, "Response Status Kind". Every refusal in this crate is built here, so
//! that its code, reason and details stay together.

use serde::Serialize;
use serde_json::Value;

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
}
