//! The manifests, read back by the types of the API.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ManifestOptions, Operator, tests::fake};
use crate::declare::Namespaces;

fn operator() -> Operator {
    Operator::new("documents").controller(fake("documents", |_| async { Ok(()) }))
}

fn read<T: DeserializeOwned>(documents: &[Value], kind: &str) -> Vec<T> {
    let of_kind = documents.iter().filter(|document| document["kind"] == kind);
    of_kind
        .map(|document| serde_json::from_value(document.clone()).unwrap())
        .collect()
}

#[test]
fn every_role_is_bound_to_the_account_that_the_deployment_runs_as() {
    let only = Namespaces::Only(vec!["a".to_owned(), "b".to_owned()]);
    for namespaces in [Namespaces::All, only] {
        let options =
            ManifestOptions::new("operators", "registry.example/documents:1").namespaces(namespaces);
        let documents = operator().manifests(&options).unwrap();
        let account = read::<ServiceAccount>(&documents, "ServiceAccount")
            .remove(0)
            .metadata;
        let deployment = read::<Deployment>(&documents, "Deployment").remove(0);
        let spec = deployment.spec;
        let pod = spec.template.spec.unwrap();
        assert_eq!(pod.service_account_name, account.name);
        assert_eq!(deployment.metadata.namespace, account.namespace);
        assert_eq!(spec.selector.match_labels, spec.template.metadata.unwrap().labels);

        let roles = read::<Role>(&documents, "Role");
        let bindings = read::<RoleBinding>(&documents, "RoleBinding");
        let place = |metadata: &kube::api::ObjectMeta| (metadata.name.clone(), metadata.namespace.clone());
        let granted: Vec<_> = roles.iter().map(|role| place(&role.metadata)).collect();
        let bound: Vec<_> = bindings.iter().map(|binding| place(&binding.metadata)).collect();
        assert_eq!(granted, bound);
        for binding in &bindings {
            assert_eq!(Some(&binding.role_ref.name), binding.metadata.name.as_ref());
            let subject = &binding.subjects.as_ref().unwrap()[0];
            assert_eq!(
                (Some(&subject.name), &subject.namespace),
                (account.name.as_ref(), &account.namespace)
            );
        }
        let cluster_roles = read::<ClusterRole>(&documents, "ClusterRole").len();
        assert_eq!(
            cluster_roles,
            read::<ClusterRoleBinding>(&documents, "ClusterRoleBinding").len()
        );
    }
}

#[test]
fn what_others_need_comes_before_them() {
    let documents = operator()
        .manifests(&ManifestOptions::new("operators", "image"))
        .unwrap();
    let kinds: Vec<_> = documents
        .iter()
        .map(|document| document["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds.first(), Some(&"Namespace"));
    assert_eq!(kinds.last(), Some(&"Deployment"));
    assert_eq!(
        read::<Namespace>(&documents, "Namespace")[0]
            .metadata
            .name
            .as_deref(),
        Some("operators")
    );
    assert!(
        read::<Secret>(&documents, "Secret").is_empty()
            && read::<ConfigMap>(&documents, "ConfigMap").is_empty()
    );
}
