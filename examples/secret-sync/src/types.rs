//! The kind: what a user of this operator writes.

use std::collections::BTreeMap;

use controller_runtime::prelude::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Secret that is copied into each namespace with these labels.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "SecretSync",
    plural = "secretsyncs",
    namespaced,
    status = "SecretSyncStatus"
)]
#[kube(printcolumn = r#"{"name":"Secret","type":"string","jsonPath":".spec.secretName"}"#)]
#[kube(printcolumn = r#"{"name":"Copies","type":"integer","jsonPath":".status.copies"}"#)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecretSyncSpec {
    /// The Secret, in the namespace of this object.
    pub(crate) secret_name: String,
    /// Where to: the namespaces with all of these labels.
    pub(crate) match_labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SecretSyncStatus {
    /// How many copies there are.
    pub(crate) copies: usize,
    pub(crate) observed_generation: Option<i64>,
    pub(crate) conditions: Vec<Condition>,
}
