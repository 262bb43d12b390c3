//! Custom resources: what a `CustomResourceDefinition` says, ready for use.
//!
//! Source: the Kubernetes documentation on custom resource definitions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::{NameRule, Resource, Rules, Subresource, by_priority};
use crate::object::{is_terminating, str_at};
use crate::patch::typed::Schema;
use crate::schema::Structural;
use crate::table::Columns;

/// What a definition says of one version.
#[derive(Debug)]
pub(crate) struct Custom {
    /// The revision of the definition: objects that went through another schema carry another.
    pub(crate) stamp: u64,
    /// The version objects are stored in.
    pub(crate) storage_version: String,
    /// The stamp since which this has been the storage version.
    pub(crate) storage_since: u64,
    /// The schema of this version.
    pub(crate) schema: Arc<Structural>,
    /// The types of all versions, by name.
    pub(crate) typed: Arc<BTreeMap<String, Schema>>,
    /// The schema of the storage version: it prunes and defaults what is read.
    pub(crate) storage_schema: Arc<Structural>,
    /// `schema.openAPIV3Schema` of this version, as it was written.
    pub(crate) openapi: Value,
    /// Where the scale subresource finds its numbers.
    pub(crate) scale: Option<ScalePaths>,
    /// `additionalPrinterColumns`.
    pub(crate) columns: Columns,
    /// The JSON paths of `selectableFields`.
    pub(crate) selectable: Vec<String>,
    /// What is said in a `Warning` header of every answer.
    pub(crate) deprecation: Option<String>,
    /// The definition is being deleted: nothing can be created.
    pub(crate) terminating: bool,
}

/// The JSON paths of the scale subresource, without the leading dot.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Option<String>,
}

/// The resources that an established definition serves, one for each served version.
///
/// The definition has been validated when it was written.
pub(crate) fn served(definition: &Value, stamp: u64, storage_since: u64) -> Vec<Resource> {
    let spec = &definition["spec"];
    let empty = Vec::new();
    let versions = spec["versions"].as_array().unwrap_or(&empty);
    let schemas: Vec<_> = versions
        .iter()
        .map(|version| Arc::new(Structural::trusted(&version["schema"]["openAPIV3Schema"])))
        .collect();
    let storage = versions
        .iter()
        .position(|version| version["storage"] == true)
        .unwrap_or_default();
    let typed: BTreeMap<String, Schema> = versions
        .iter()
        .map(|version| {
            let schema = Schema::custom(&version["schema"]["openAPIV3Schema"]);
            (str_at(version, "name").to_owned(), schema)
        })
        .collect();
    let typed = Arc::new(typed);
    versions
        .iter()
        .zip(&schemas)
        .filter(|(version, _)| version["served"] == true)
        .map(|(version, schema)| {
            let custom = Custom {
                stamp,
                storage_version: str_at(&versions[storage], "name").to_owned(),
                storage_since,
                schema: Arc::clone(schema),
                typed: Arc::clone(&typed),
                storage_schema: Arc::clone(&schemas[storage]),
                openapi: version["schema"]["openAPIV3Schema"].clone(),
                scale: scale(version),
                columns: Columns::custom(version["additionalPrinterColumns"].as_array()),
                selectable: selectable(version),
                deprecation: deprecation(spec, version, versions),
                terminating: is_terminating(definition),
            };
            resource(spec, version, custom)
        })
        .collect()
}

fn resource(spec: &Value, version: &Value, custom: Custom) -> Resource {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().map(text).collect() };
    let names = &spec["names"];
    let group = text(&spec["group"]);
    let plural = text(&names["plural"]);
    let verbs = [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ];
    Resource {
        version: text(&version["name"]),
        kind: text(&names["kind"]),
        list_kind: text(&names["listKind"]),
        singular: text(&names["singular"]),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        verbs: verbs.map(str::to_owned).to_vec(),
        subresources: subresources(version),
        rules: Rules {
            put_creates: false,
            needs_version: true,
            generation: true,
            returns_deleted: false,
            names: NameRule::Subdomain,
        },
        collection: format!("{group}/{plural}").into(),
        group,
        plural,
        custom: Some(Arc::new(custom)),
    }
}

fn subresources(version: &Value) -> Vec<Subresource> {
    let verbs = || ["get", "patch", "update"].map(str::to_owned).to_vec();
    let declared = |name: &str| version["subresources"][name].is_object();
    let mut subresources = Vec::new();
    if declared("status") {
        subresources.push(Subresource {
            name: "status".to_owned(),
            verbs: verbs(),
            kind: None,
        });
    }
    if declared("scale") {
        subresources.push(Subresource {
            name: "scale".to_owned(),
            verbs: verbs(),
            kind: Some(("autoscaling".to_owned(), "v1".to_owned(), "Scale".to_owned())),
        });
    }
    subresources
}

fn scale(version: &Value) -> Option<ScalePaths> {
    let scale = &version["subresources"]["scale"];
    let path = |name: &str| Some(scale[name].as_str()?.trim_start_matches('.').to_owned());
    Some(ScalePaths {
        spec_replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        selector: path("labelSelectorPath"),
    })
}

fn selectable(version: &Value) -> Vec<String> {
    version["selectableFields"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|field| Some(field["jsonPath"].as_str()?.trim_start_matches('.').to_owned()))
        .collect()
}

/// The text given, or one that names the version to use instead.
fn deprecation(spec: &Value, version: &Value, versions: &[Value]) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(text) = version["deprecationWarning"].as_str() {
        return Some(text.to_owned());
    }
    let group = str_at(spec, "group");
    let kind = str_at(spec, "names.kind");
    let name = str_at(version, "name");
    let better = versions
        .iter()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| str_at(other, "name"))
        .filter(|other| by_priority(other, name).is_lt())
        .min_by(|a, b| by_priority(a, b));
    let mut text = format!("{group}/{name} {kind} is deprecated");
    if let Some(better) = better {
        let _ = write!(text, "; use {group}/{better} {kind}");
    }
    Some(text)
}
