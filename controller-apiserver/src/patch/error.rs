//! Why a patch was refused, and the code with which a server says so.

use serde_json::Value;

/// A patch that was not applied; the target is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The body is no patch of the named format: 400 `BadRequest` with this message.
    #[error("{0}")]
    Malformed(String),
    /// The patch has more operations than a server takes: 413 `RequestEntityTooLarge`.
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {count}")]
    TooManyOperations {
        /// How many are taken.
        limit: usize,
        /// How many came.
        count: usize,
    },
    /// The patch does not fit the object: 422 `Invalid`. A server keeps this detail to itself and
    /// answers [`PatchError::REJECTED`].
    #[error("{0}")]
    Rejected(String),
    /// A mistake that servers answer with a 500 without reason and this message.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The public message of [`PatchError::Rejected`].
    pub const REJECTED: &'static str = "the server rejected our request due to an error in our request";

    /// The HTTP status code of the refusal.
    pub fn code(&self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::TooManyOperations { .. } => 413,
            Self::Rejected(_) => 422,
            Self::Internal(_) => 500,
        }
    }

    /// `Status.reason`; empty where servers give none.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "BadRequest",
            Self::TooManyOperations { .. } => "RequestEntityTooLarge",
            Self::Rejected(_) => "Invalid",
            Self::Internal(_) => "",
        }
    }

    /// `Status.message`.
    pub fn message(&self) -> String {
        match self {
            Self::Rejected(_) => Self::REJECTED.to_owned(),
            other => other.to_string(),
        }
    }

    /// The body decodes, but to another JSON type than the format asks for.
    pub(crate) fn not_a(got: &Value, wanted: &str) -> Self {
        Self::Malformed(format!(
            "json: cannot unmarshal {} into Go {wanted}",
            json_type(got)
        ))
    }
}

/// The word servers use for the type of a JSON value.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
