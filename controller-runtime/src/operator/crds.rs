//! The CRDs an operator brings, as YAML.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::Operator;
#[cfg(feature = "cli")]
use super::{OperatorError, manifests::yaml};

impl Operator {
    /// The CRDs it brings, in the order they were added.
    pub fn crds(&self) -> &[CustomResourceDefinition] {
        &self.crds
    }

    /// One YAML document for each CRD, as `kubectl apply -f -` takes them.
    #[cfg(feature = "cli")]
    pub(super) fn crds_yaml(&self) -> Result<String, OperatorError> {
        // By way of JSON, so that numbers and orders are as the API server would print them.
        let documents: Result<Vec<_>, _> = self.crds.iter().map(serde_json::to_value).collect();
        yaml(&documents.map_err(|error| OperatorError::Print(error.into()))?)
    }
}
