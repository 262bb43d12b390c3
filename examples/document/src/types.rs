//! The kind: what a user of this operator writes.

use controller_runtime::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text that is published as a ConfigMap of the same name.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Document",
    plural = "documents",
    namespaced
)]
#[kube(printcolumn = r#"{"name":"Title","type":"string","jsonPath":".spec.title"}"#)]
#[kube(printcolumn = r#"{"name":"Secret","type":"string","jsonPath":".spec.secretName"}"#)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentSpec {
    /// What the text is called.
    pub(crate) title: String,
    /// The text.
    pub(crate) content: String,
    /// The Secret that readers of the text need, in the same namespace.
    pub(crate) secret_name: String,
}
