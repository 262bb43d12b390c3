//! `resourceVersion` and `resourceVersionMatch` of reads.
//!
//! Source: "Resource versions" in the API concepts documentation.

use crate::server::query::Query;
use crate::status::{ApiError, Cause, Named};

/// How a `resourceVersion` is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    NotOlderThan,
    Exact,
}

/// A `resourceVersion` of a request.
///
/// # Errors
///
/// The text is no number, in the words of the API server.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
}

/// The text of a bad `resourceVersion`.
pub(crate) fn problem(text: &str, why: &str) -> String {
    format!("resourceVersion: Invalid value: {text:?}: {why}")
}

/// A refused `ListOptions`.
pub(crate) fn invalid(causes: Vec<Cause>) -> ApiError {
    ApiError::invalid(&Named::new("meta.k8s.io", "ListOptions"), "", causes)
}

/// `resourceVersionMatch` of a list; `None` if it is not given.
pub(crate) fn list_match(query: &Query) -> Result<Option<Match>, ApiError> {
    const FIELD: &str = "resourceVersionMatch";
    let text = query.text(FIELD);
    let revision = query.text("resourceVersion");
    let mut causes = Vec::new();
    if !text.is_empty() {
        if revision.is_empty() {
            causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if !query.text("continue").is_empty() {
            causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if text == "Exact" && revision == "0" {
            causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ));
        }
    }
    if query.first("sendInitialEvents").is_some() {
        causes.push(Cause::forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ));
    }
    let matching = match text {
        "" => None,
        "NotOlderThan" => Some(Match::NotOlderThan),
        "Exact" => Some(Match::Exact),
        other => {
            causes.push(Cause::not_supported(
                FIELD,
                &other.into(),
                "\"Exact\", \"NotOlderThan\", \"\"",
            ));
            None
        }
    };
    if causes.is_empty() {
        Ok(matching)
    } else {
        Err(invalid(causes))
    }
}
