//! What every namespace of a cluster has: a ServiceAccount `default`, and the CA of the API server.

use serde_json::{Value, json};

use crate::object::is_terminating;
use crate::state::State;

/// Creates both where they are missing.
pub(super) fn sync(state: &mut State, namespace: &str) {
    let living = state
        .store
        .get("namespaces", namespace)
        .is_some_and(|stored| !is_terminating(&stored.value()));
    if !living {
        return;
    }
    add(state, "serviceaccounts", namespace, "default", json!({}));
    let ca = state.ca.clone();
    let content = json!({
        "data": {"ca.crt": ca},
        "metadata": {"annotations": {
            "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
        }},
    });
    add(state, "configmaps", namespace, "kube-root-ca.crt", content);
}

/// The namespace that lacks what every namespace has when this object is gone.
pub(super) fn namespace_of<'a>(collection: &str, key: &'a str) -> Option<&'a str> {
    let (namespace, name) = key.split_once('/')?;
    matches!(
        (collection, name),
        ("serviceaccounts", "default") | ("configmaps", "kube-root-ca.crt")
    )
    .then_some(namespace)
}

fn add(state: &mut State, collection: &str, namespace: &str, name: &str, mut object: Value) {
    let key = format!("{namespace}/{name}");
    if state.store.get(collection, &key).is_some() {
        return;
    }
    let uid = state.ids.uid();
    let now = state.now();
    let metadata = crate::object::meta_mut(&mut object);
    metadata.insert("name".into(), name.into());
    metadata.insert("namespace".into(), namespace.into());
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), now.into());
    state.put_at(collection, &key, object, 0);
}
