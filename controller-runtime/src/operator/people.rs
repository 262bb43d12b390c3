//! Roles for people and scrapers: the operator itself is bound to none of them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

/// What of each kind comes with the cluster's role of this name. Kubernetes adds what `view` may to `edit`, and what `edit` may to `admin`
/// ("Using RBAC Authorization", user-facing roles).
const FACES: [(&str, &[&str], &[&str]); 3] = [
    ("view", &["get", "list", "watch"], &["get"]),
    (
        "edit",
        &["create", "update", "patch", "delete", "deletecollection"],
        &[],
    ),
    ("admin", &[], &["update", "patch"]),
];

/// Roles that grow the cluster's `view`, `edit` and `admin` by the operator's own kinds, and one that lets scrape protected metrics.
pub(super) fn roles(name: &str, crds: &[CustomResourceDefinition], protect_metrics: bool) -> Vec<Value> {
    let faces = FACES
        .iter()
        .filter(|_| !crds.is_empty())
        .map(|(face, verbs, of_status)| {
            let label = format!("rbac.authorization.k8s.io/aggregate-to-{face}");
            let rules = crds.iter().flat_map(|crd| {
                let (group, plural) = (&crd.spec.group, &crd.spec.names.plural);
                [(plural.clone(), verbs), (format!("{plural}/status"), of_status)]
                    .into_iter()
                    .filter(|(_, verbs)| !verbs.is_empty())
                    .map(move |(resource, verbs)| {
                        json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
                    })
            });
            role(
                &format!("{name}-{face}"),
                json!({label: "true"}),
                &rules.collect::<Vec<_>>(),
            )
        });
    let reader = protect_metrics.then(|| {
        let rule = json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]});
        role(&format!("{name}-metrics-reader"), json!({}), &[rule])
    });
    faces.chain(reader).collect()
}

fn role(name: &str, labels: Value, rules: &[Value]) -> Value {
    let mut metadata = json!({"name": name});
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        metadata["labels"] = labels;
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": rules,
    })
}
