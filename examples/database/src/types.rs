//! The kind: what a user of this operator writes.

use controller_runtime::prelude::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A database on the server outside, and who may use it.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Database",
    plural = "databases",
    namespaced,
    status = "DatabaseStatus"
)]
#[kube(printcolumn = r#"{"name":"Users","type":"integer","jsonPath":".status.users"}"#)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DatabaseSpec {
    /// Each gets a Secret `NAME-USER` with its password.
    pub(crate) users: Vec<String>,
    /// After how many hours a password is replaced.
    #[serde(default = "a_week")]
    pub(crate) rotate_after_hours: u32,
}

fn a_week() -> u32 {
    7 * 24
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DatabaseStatus {
    /// How many users have a password.
    pub(crate) users: usize,
    pub(crate) observed_generation: Option<i64>,
    pub(crate) conditions: Vec<Condition>,
}
