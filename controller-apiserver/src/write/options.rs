//! `CreateOptions`, `UpdateOptions`, `PatchOptions` and `DeleteOptions` of a request.
//!
//! Source: API reference, "Common parameters" and `DeleteOptions`.

use serde_json::Value;

use crate::call::{Call, Verb};
use crate::codec::body::{self, Format};
use crate::patch::apply;
use crate::server::query::Query;
use crate::status::{ApiError, Cause, Named};

/// What becomes of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// The options of a create, update or patch.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    /// Who the fields written are attributed to.
    pub(crate) manager: String,
    pub(crate) validation: FieldValidation,
    /// Server-side apply takes over conflicting fields.
    pub(crate) force: bool,
}

impl WriteOptions {
    /// Reads and checks the options of a request; `apply` is a server-side apply.
    pub(crate) fn of(call: &Call, apply: bool) -> Result<Self, ApiError> {
        let query = &call.query;
        let mut causes = Vec::new();
        let dry_run = dry_run(query.all("dryRun"), &mut causes);
        let validation = match query.text("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                causes.push(Cause::not_supported(
                    "fieldValidation",
                    &other.into(),
                    "\"\", \"Ignore\", \"Strict\", \"Warn\"",
                ));
                FieldValidation::Warn
            }
        };
        let manager = query.text("fieldManager");
        if apply && manager.is_empty() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
        causes.extend(manager_problem(manager));
        if query.first("force").is_some() && !apply && call.verb == Verb::Patch {
            causes.push(Cause::forbidden(
                "force",
                "may not be specified for non-apply patch",
            ));
        }
        if !causes.is_empty() {
            let kind = match call.verb {
                Verb::Create => "CreateOptions",
                Verb::Update => "UpdateOptions",
                _ => "PatchOptions",
            };
            return Err(ApiError::invalid(&Named::new("meta.k8s.io", kind), "", causes));
        }
        Ok(Self {
            dry_run,
            manager: if manager.is_empty() {
                apply::default_manager(&call.agent)
            } else {
                manager.to_owned()
            },
            validation,
            force: query.flag("force"),
        })
    }
}

const MANAGER_LIMIT: usize = 128;

fn manager_problem(manager: &str) -> Option<Cause> {
    if manager.len() > MANAGER_LIMIT {
        return Some(Cause::too_long("fieldManager", MANAGER_LIMIT));
    }
    let (position, bad) = manager.chars().enumerate().find(|(_, c)| c.is_control())?;
    let detail = format!(
        "invalid character U+{:04X} (at position {position})",
        u32::from(bad)
    );
    Some(Cause::invalid("fieldManager", &manager.into(), &detail))
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>, causes: &mut Vec<Cause>) -> bool {
    let values: Vec<_> = values.collect();
    if values.iter().any(|value| *value != "All") {
        causes.push(Cause::not_supported(
            "dryRun",
            &serde_json::json!(values),
            "\"All\"",
        ));
    }
    !values.is_empty()
}

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// The options of a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) grace_seconds: Option<i64>,
    /// `None` is the kind's default.
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) revision: Option<String>,
}

impl DeleteOptions {
    /// From the body if there is one, else from the query.
    pub(crate) fn of(call: &Call) -> Result<Self, ApiError> {
        if call.body.is_empty() {
            return Self::from_query(&call.query);
        }
        let format = Format::of(call.content_type.as_deref())?;
        let body = body::parse(&call.body, format).map_err(|error| {
            ApiError::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
        })?;
        Self::from_value(&body.value)
    }

    /// From the object in a request's body.
    pub(crate) fn from_value(options: &Value) -> Result<Self, ApiError> {
        let wrong_kind = options
            .get("kind")
            .and_then(Value::as_str)
            .is_some_and(|kind| !kind.is_empty() && kind != "DeleteOptions");
        if wrong_kind || !(options.is_object() || options.is_null()) {
            return Err(ApiError::bad_request(format!(
                "no kind {} is registered for version {} in scheme",
                options["kind"], options["apiVersion"]
            )));
        }
        let texts = |value: &Value| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            items
                .map(|item| item.as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let orphan = &options["orphanDependents"];
        Self::checked(
            texts(&options["dryRun"]).iter().map(String::as_str),
            options["gracePeriodSeconds"].as_i64(),
            options["propagationPolicy"].as_str(),
            orphan.as_bool(),
            &options["preconditions"],
        )
    }

    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let grace = match query.first("gracePeriodSeconds") {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| {
                ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
            })?),
        };
        let orphan = query
            .first("orphanDependents")
            .map(|_| query.flag("orphanDependents"));
        Self::checked(
            query.all("dryRun"),
            grace,
            query.first("propagationPolicy"),
            orphan,
            &Value::Null,
        )
    }

    fn checked<'a>(
        dry: impl Iterator<Item = &'a str>,
        grace_seconds: Option<i64>,
        policy: Option<&str>,
        orphan: Option<bool>,
        preconditions: &Value,
    ) -> Result<Self, ApiError> {
        let mut causes = Vec::new();
        let dry_run = dry_run(dry, &mut causes);
        let mut propagation = orphan.map(|orphan| {
            if orphan {
                Propagation::Orphan
            } else {
                Propagation::Background
            }
        });
        match policy.unwrap_or_default() {
            "" => {}
            "Background" => propagation = Some(Propagation::Background),
            "Foreground" => propagation = Some(Propagation::Foreground),
            "Orphan" => propagation = Some(Propagation::Orphan),
            other => causes.push(Cause::not_supported(
                "propagationPolicy",
                &other.into(),
                "\"Background\", \"Foreground\", \"Orphan\"",
            )),
        }
        if policy.is_some() && orphan.is_some() {
            causes.push(Cause::invalid(
                "propagationPolicy",
                &policy.into(),
                "orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        if !causes.is_empty() {
            let kind = Named::new("meta.k8s.io", "DeleteOptions");
            return Err(ApiError::invalid(&kind, "", causes));
        }
        let text = |name: &str| preconditions[name].as_str().map(str::to_owned);
        Ok(Self {
            dry_run,
            grace_seconds,
            propagation,
            uid: text("uid"),
            revision: text("resourceVersion"),
        })
    }
}
