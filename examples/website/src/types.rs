//! The kind: what a user of this operator writes.

use std::collections::BTreeMap;

use controller_runtime::prelude::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pages that are served by a number of web servers.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Website",
    plural = "websites",
    namespaced,
    status = "WebsiteStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    )
)]
#[kube(printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.ready"}"#)]
#[kube(printcolumn = r#"{"name":"Host","type":"string","jsonPath":".spec.host"}"#)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebsiteSpec {
    /// Texts by file name: `index.html`.
    pub(crate) pages: BTreeMap<String, String>,
    /// How many servers.
    #[serde(default = "one")]
    pub(crate) replicas: i32,
    /// The name under which the world finds it. Without one it is found in the cluster only.
    pub(crate) host: Option<String>,
    /// The image of the servers; they serve `/usr/share/nginx/html` at port 80.
    #[serde(default = "nginx")]
    pub(crate) image: String,
}

fn one() -> i32 {
    1
}

fn nginx() -> String {
    "nginx:1.29".to_owned()
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WebsiteStatus {
    /// `2/3`: how many servers are ready, of how many.
    pub(crate) ready: String,
    /// For `kubectl scale` and autoscalers.
    pub(crate) replicas: i32,
    /// For autoscalers: the labels of the servers.
    pub(crate) selector: String,
    pub(crate) observed_generation: Option<i64>,
    pub(crate) conditions: Vec<Condition>,
}
