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
#[cfg(feature = "cli")]
use crate::declare::{RelationDeclaration, RelationKind, Watched};

fn operator() -> Operator {
    Operator::new("documents").controller(fake("documents", |_| async { Ok(()) }))
}

/// An operator that brings a kind and does all that needs a right.
#[cfg(feature = "cli")]
fn with_a_kind() -> Operator {
    let mut declaration = crate::declare::Declaration::new("documents", Watched::new::<Secret>(&()));
    declaration.relations = vec![RelationDeclaration::new(
        RelationKind::Owns,
        Watched::new::<ConfigMap>(&()),
    )];
    declaration.uses.children = true;
    declaration.uses.events = true;
    declaration.conditions = true;
    declaration.finalizer = Some("documents/cleanup".to_owned());
    Operator::new("documents")
        .crd::<super::tests::Brings>()
        .controller(super::tests::declared(declaration))
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

/// What a user applies is a file to be read. To write it anew after a change on purpose: `UPDATE_GOLDEN=1`, then read the difference.
#[cfg(feature = "cli")]
#[test]
fn the_manifests_are_these_bytes() {
    use super::manifests::yaml;
    let plain = ManifestOptions::new("operators", "registry.example/documents:1");
    let only = Namespaces::Only(vec!["a".to_owned(), "b".to_owned()]);
    let all = plain.clone().namespaces(only).replicas(2).protect_metrics();
    let all = all.env("DATABASE_HOST", "db.example");
    for (name, options) in [("plain", plain), ("all", all)] {
        let text = yaml(&with_a_kind().manifests(&options).unwrap()).unwrap();
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/operator/golden")
            .join(format!("{name}.yaml"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text == golden, "{name}.yaml is not what is printed:\n{text}");
    }
}

#[test]
fn a_budget_for_disruptions_is_for_several_replicas_only() {
    let options = ManifestOptions::new("operators", "image");
    for (replicas, budgets) in [(1, 0), (2, 1)] {
        let documents = operator().manifests(&options.clone().replicas(replicas)).unwrap();
        let kind = |document: &&Value| document["kind"] == "PodDisruptionBudget";
        assert_eq!(documents.iter().filter(kind).count(), budgets);
        let deployment = read::<Deployment>(&documents, "Deployment").remove(0);
        assert_eq!(deployment.spec.replicas, Some(i32::from(replicas)));
    }
}

/// Whoever is killed at work leaves it half done.
#[test]
fn the_grace_of_the_pod_is_longer_than_that_of_its_reconciles() {
    let documents = operator()
        .manifests(&ManifestOptions::new("operators", "image"))
        .unwrap();
    let deployment = read::<Deployment>(&documents, "Deployment").remove(0);
    let pod = deployment.spec.template.spec.unwrap();
    let grace = pod.termination_grace_period_seconds.unwrap();
    assert!(u64::try_from(grace).unwrap() > crate::Config::default().grace.as_secs());
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
