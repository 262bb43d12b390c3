//! The built-in kinds: Kubernetes' own `OpenAPI` v3 documents, one per group version.
//!
//! Data of Kubernetes v1.36 (Apache-2.0), without descriptions. A document is parsed when one of its
//! kinds is first asked for, and kept for the life of the process.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use super::{Schema, Type, TypeId, convert::Converter};

/// The typed schema of a built-in kind; `None` if there is no such kind.
///
/// ```
/// use controller_apiserver::patch::typed;
///
/// assert!(typed::builtin("apps", "v1", "Deployment").is_some());
/// assert!(typed::builtin("apps", "v1", "Widget").is_none());
/// ```
pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Schema> {
    // Kinds of subresources stand in the documents of what they belong to: `Scale`, `TokenRequest`.
    let places = [(group, version), ("", "v1"), ("apps", "v1")];
    let name = (group.to_owned(), version.to_owned(), kind.to_owned());
    places.into_iter().find_map(|(group, version)| {
        let kinds = source(group, version)?.kinds();
        Some(Schema {
            types: Arc::clone(&kinds.types),
            root: *kinds.roots.get(&name)?,
        })
    })
}

/// The `OpenAPI` v3 document of a built-in group version, with `components` and without `paths`.
pub fn document(group: &str, version: &str) -> Option<&'static Value> {
    Some(source(group, version)?.document())
}

fn source(group: &str, version: &str) -> Option<&'static Source> {
    SOURCES
        .iter()
        .find(|source| source.group == group && source.version == version)
}

struct Source {
    group: &'static str,
    version: &'static str,
    text: &'static str,
    document: OnceLock<Value>,
    kinds: OnceLock<Kinds>,
}

/// The types of a document, and where its kinds begin.
struct Kinds {
    types: Arc<Vec<Type>>,
    /// By group, version and kind.
    roots: BTreeMap<(String, String, String), TypeId>,
}

impl Source {
    #[expect(
        clippy::expect_used,
        reason = "the documents are part of this crate, and tested"
    )]
    fn document(&self) -> &Value {
        self.document
            .get_or_init(|| serde_json::from_str(self.text).expect("an OpenAPI document"))
    }

    fn kinds(&self) -> &Kinds {
        self.kinds.get_or_init(|| {
            let document = self.document();
            let mut converter = Converter::new(document, true);
            let mut roots = BTreeMap::new();
            let schemas = document["components"]["schemas"].as_object();
            for (name, schema) in schemas.into_iter().flatten() {
                let id = converter.named(name);
                let kinds = schema.get("x-kubernetes-group-version-kind");
                for kind in kinds.and_then(Value::as_array).into_iter().flatten() {
                    let text = |key: &str| kind[key].as_str().unwrap_or_default().to_owned();
                    roots.insert((text("group"), text("version"), text("kind")), id);
                }
            }
            let (types, _) = converter.into_parts();
            Kinds { types, roots }
        })
    }
}

macro_rules! source {
    ($group:literal, $version:literal, $file:literal) => {
        Source {
            group: $group,
            version: $version,
            text: include_str!(concat!("../../../data/openapi/", $file)),
            document: OnceLock::new(),
            kinds: OnceLock::new(),
        }
    };
}

static SOURCES: [Source; 19] = [
    source!("", "v1", "api__v1.json"),
    source!(
        "admissionregistration.k8s.io",
        "v1",
        "apis__admissionregistration.k8s.io__v1.json"
    ),
    source!(
        "apiextensions.k8s.io",
        "v1",
        "apis__apiextensions.k8s.io__v1.json"
    ),
    source!("apps", "v1", "apis__apps__v1.json"),
    source!(
        "authentication.k8s.io",
        "v1",
        "apis__authentication.k8s.io__v1.json"
    ),
    source!(
        "authorization.k8s.io",
        "v1",
        "apis__authorization.k8s.io__v1.json"
    ),
    source!("autoscaling", "v1", "apis__autoscaling__v1.json"),
    source!("autoscaling", "v2", "apis__autoscaling__v2.json"),
    source!("batch", "v1", "apis__batch__v1.json"),
    source!("certificates.k8s.io", "v1", "apis__certificates.k8s.io__v1.json"),
    source!("coordination.k8s.io", "v1", "apis__coordination.k8s.io__v1.json"),
    source!("discovery.k8s.io", "v1", "apis__discovery.k8s.io__v1.json"),
    source!("events.k8s.io", "v1", "apis__events.k8s.io__v1.json"),
    source!("networking.k8s.io", "v1", "apis__networking.k8s.io__v1.json"),
    source!("node.k8s.io", "v1", "apis__node.k8s.io__v1.json"),
    source!("policy", "v1", "apis__policy__v1.json"),
    source!(
        "rbac.authorization.k8s.io",
        "v1",
        "apis__rbac.authorization.k8s.io__v1.json"
    ),
    source!("scheduling.k8s.io", "v1", "apis__scheduling.k8s.io__v1.json"),
    source!("storage.k8s.io", "v1", "apis__storage.k8s.io__v1.json"),
];

/// Group and version of every document.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    SOURCES.iter().map(|source| (source.group, source.version))
}
