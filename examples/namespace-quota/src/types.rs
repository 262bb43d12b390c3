//! The kind: what an administrator writes.

use std::collections::BTreeMap;

use controller_runtime::prelude::*;
use k8s_openapi::{
    api::core::v1::ResourceQuotaSpec,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits that hold in each namespace with these labels.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "NamespaceQuota",
    plural = "namespacequotas",
    status = "NamespaceQuotaStatus"
)]
#[kube(printcolumn = r#"{"name":"Namespaces","type":"integer","jsonPath":".status.namespaces"}"#)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NamespaceQuotaSpec {
    /// Which namespaces: those with all of these labels.
    pub(crate) match_labels: BTreeMap<String, String>,
    /// How much of each resource a namespace may use: `pods: "10"`, `requests.cpu: "4"`.
    pub(crate) hard: BTreeMap<String, Quantity>,
}

impl NamespaceQuotaSpec {
    pub(crate) fn quota(&self) -> ResourceQuotaSpec {
        ResourceQuotaSpec {
            hard: Some(self.hard.clone()),
            ..ResourceQuotaSpec::default()
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NamespaceQuotaStatus {
    /// In how many namespaces it holds.
    pub(crate) namespaces: usize,
    pub(crate) observed_generation: Option<i64>,
    pub(crate) conditions: Vec<Condition>,
}
