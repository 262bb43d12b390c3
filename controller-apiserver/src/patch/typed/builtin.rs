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
use crate::{codec::types::document as published, registry::api_version};

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
        self.document.get_or_init(|| {
            let text = published(&api_version(self.group, self.version)).unwrap_or_default();
            serde_json::from_str(text).expect("an OpenAPI document")
        })
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

const fn lazy(group: &'static str, version: &'static str) -> Source {
    Source {
        group,
        version,
        document: OnceLock::new(),
        kinds: OnceLock::new(),
    }
}

static SOURCES: [Source; 19] = [
    lazy("", "v1"),
    lazy("admissionregistration.k8s.io", "v1"),
    lazy("apiextensions.k8s.io", "v1"),
    lazy("apps", "v1"),
    lazy("authentication.k8s.io", "v1"),
    lazy("authorization.k8s.io", "v1"),
    lazy("autoscaling", "v1"),
    lazy("autoscaling", "v2"),
    lazy("batch", "v1"),
    lazy("certificates.k8s.io", "v1"),
    lazy("coordination.k8s.io", "v1"),
    lazy("discovery.k8s.io", "v1"),
    lazy("events.k8s.io", "v1"),
    lazy("networking.k8s.io", "v1"),
    lazy("node.k8s.io", "v1"),
    lazy("policy", "v1"),
    lazy("rbac.authorization.k8s.io", "v1"),
    lazy("scheduling.k8s.io", "v1"),
    lazy("storage.k8s.io", "v1"),
];

/// Group and version of every document.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    SOURCES.iter().map(|source| (source.group, source.version))
}
