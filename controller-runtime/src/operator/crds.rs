//! The CRDs an operator brings, as YAML.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
};

#[cfg(feature = "cli")]
use super::manifests::yaml;
use super::{Operator, OperatorError};

impl Operator {
    /// The CRDs it brings, in the order they were added.
    pub fn crds(&self) -> &[CustomResourceDefinition] {
        &self.crds
    }

    /// Where the CRDs say less than their Rust types, a line each that begins with the kind and the path of the field. `crds` and
    /// `manifests` print them on standard error.
    pub fn crd_warnings(&self) -> &[String] {
        &self.crd_warnings
    }

    /// One YAML document for each CRD, as `kubectl apply -f -` takes them.
    #[cfg(feature = "cli")]
    pub(super) fn crds_yaml(&self) -> Result<String, OperatorError> {
        self.check_definitions()?;
        // By way of JSON, so that numbers and orders are as the API server would print them.
        let documents: Result<Vec<_>, _> = self.crds.iter().map(serde_json::to_value).collect();
        yaml(&documents.map_err(|error| OperatorError::Print(error.into()))?)
    }

    /// Every kind that it brings has a definition.
    pub(super) fn check_definitions(&self) -> Result<(), OperatorError> {
        self.undefined
            .as_ref()
            .map_or(Ok(()), |undefined| Err(undefined.error()))
    }

    /// Conditions have a place in the schema of every kind whose controller writes them.
    ///
    /// Without one, the API server drops them silently, and every run would write them again.
    pub(super) fn check_conditions(&self) -> Result<(), OperatorError> {
        for declaration in self.declarations().filter(|declaration| declaration.conditions) {
            let kind = &declaration.primary.resource;
            let versions = self
                .crds
                .iter()
                .filter(|crd| crd.spec.group == kind.group && crd.spec.names.kind == kind.kind)
                .flat_map(|crd| &crd.spec.versions)
                .filter(|version| version.name == kind.version);
            for version in versions {
                if let Some(field) = ["conditions", "observedGeneration"]
                    .into_iter()
                    .find(|field| !keeps(version, field))
                {
                    return Err(OperatorError::NoConditions {
                        controller: declaration.name.clone(),
                        kind: kind.kind.clone(),
                        field,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Whether a schema keeps a field of the status.
fn keeps(version: &CustomResourceDefinitionVersion, field: &str) -> bool {
    let schema = version
        .schema
        .as_ref()
        .and_then(|it| it.open_api_v3_schema.as_ref());
    let Some(schema) = schema else { return true };
    let preserves = |schema: &JSONSchemaProps| schema.x_kubernetes_preserve_unknown_fields == Some(true);
    let Some(status) = schema.properties.as_ref().and_then(|fields| fields.get("status")) else {
        return preserves(schema);
    };
    preserves(status)
        || status
            .properties
            .as_ref()
            .is_some_and(|fields| fields.contains_key(field))
}
