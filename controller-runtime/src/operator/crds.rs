//! The CRDs an operator brings, as YAML.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::Operator;
#[cfg(feature = "cli")]
use super::OperatorError;

impl Operator {
    /// The CRDs it brings, in the order they were added.
    pub fn crds(&self) -> &[CustomResourceDefinition] {
        &self.crds
    }

    /// One YAML document for each CRD, as `kubectl apply -f -` takes them.
    #[cfg(feature = "cli")]
    pub(super) fn crds_yaml(&self) -> Result<String, OperatorError> {
        let mut text = String::new();
        for crd in &self.crds {
            // By way of JSON, so that numbers and orders are as the API server would print them.
            let document = serde_json::to_value(crd).map_err(std::io::Error::from);
            let document =
                document.and_then(|crd| serde_saphyr::to_string(&crd).map_err(std::io::Error::other));
            text.push_str("---\n");
            text.push_str(&document.map_err(OperatorError::Print)?);
        }
        Ok(text)
    }
}
