//! What a cluster needs to run this operator: CRDs, roles, a Deployment. Derived from the declarations, printed, never applied.

use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Operator, OperatorError, people, workload};
use crate::declare::{
    Namespaces,
    rbac::{self, Roles},
};

/// Where and how the operator shall run.
#[derive(Clone, Debug)]
#[must_use]
pub struct ManifestOptions {
    pub(super) namespace: String,
    pub(super) image: String,
    pub(super) namespaces: Namespaces,
    pub(super) replicas: u16,
    pub(super) protect_metrics: bool,
    pub(super) env: Vec<(String, String)>,
}

impl ManifestOptions {
    /// One Pod runs this image, in this namespace, and watches all namespaces.
    pub fn new(namespace: impl Into<String>, image: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            image: image.into(),
            namespaces: Namespaces::All,
            replicas: 1,
            protect_metrics: false,
            env: Vec::new(),
        }
    }

    /// So many Pods run it: one of them reconciles, the others stand by.
    pub fn replicas(mut self, replicas: u16) -> Self {
        self.replicas = replicas;
        self
    }

    /// Who reads `/metrics` has to show a token, and the right to `get` that path.
    pub fn protect_metrics(mut self) -> Self {
        self.protect_metrics = true;
        self
    }

    /// It has this environment variable, which its own code reads. Not for secrets: a Deployment can be read by many.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// It watches these namespaces.
    pub fn namespaces(mut self, namespaces: Namespaces) -> Self {
        self.namespaces = namespaces;
        self
    }
}

/// A role, the binding that gives it to the operator's service account, and the other way round.
struct Granted<'a> {
    /// The operator's name, which is its service account's.
    name: &'a str,
    /// The namespace of the service account.
    home: &'a str,
}

impl Operator {
    /// The roles that it needs, and no more.
    pub fn roles(&self, options: &ManifestOptions) -> Roles {
        let roles = rbac::roles(
            &self.name,
            &options.namespace,
            &options.namespaces,
            self.declarations(),
        );
        if options.protect_metrics {
            roles.with_reviews(&self.name)
        } else {
            roles
        }
    }

    /// The roles that it needs and the bindings to its service account `home`/`name`.
    pub fn rbac(&self, options: &ManifestOptions) -> Vec<Value> {
        let Roles {
            cluster,
            watched,
            lease,
        } = self.roles(options);
        let granted = Granted {
            name: &self.name,
            home: &options.namespace,
        };
        let mut documents = Vec::new();
        documents.extend(cluster.iter().flat_map(|role| granted.in_cluster(role)));
        documents.extend(
            watched
                .iter()
                .chain([&lease])
                .flat_map(|role| granted.in_namespace(role)),
        );
        documents
    }

    /// Everything to apply, in an order in which it can be applied.
    ///
    /// # Errors
    ///
    /// When a kind has no definition, or one that cannot be written as JSON.
    pub fn manifests(&self, options: &ManifestOptions) -> Result<Vec<Value>, OperatorError> {
        self.check_definitions()?;
        let mut documents = Vec::new();
        for crd in &self.crds {
            documents.push(to_value(crd)?);
        }
        documents
            .push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace}}));
        documents.push(json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": self.name, "namespace": options.namespace},
        }));
        documents.extend(self.rbac(options));
        documents.extend(people::roles(&self.name, &self.crds, options.protect_metrics));
        documents.extend(workload::documents(&self.name, options));
        Ok(documents)
    }
}

impl Granted<'_> {
    fn in_cluster(&self, role: &ClusterRole) -> [Value; 2] {
        let binding = self.binding("ClusterRole", &role.metadata.name, &None);
        [
            written(
                "ClusterRole",
                json!({"metadata": role.metadata, "rules": role.rules}),
            ),
            binding,
        ]
    }

    fn in_namespace(&self, role: &Role) -> [Value; 2] {
        let binding = self.binding("Role", &role.metadata.name, &role.metadata.namespace);
        [
            written("Role", json!({"metadata": role.metadata, "rules": role.rules})),
            binding,
        ]
    }

    #[expect(clippy::ref_option, reason = "fields of metadata are options")]
    fn binding(&self, kind: &str, role: &Option<String>, namespace: &Option<String>) -> Value {
        let mut metadata = json!({"name": role});
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        let body = json!({
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": self.name, "namespace": self.home}],
        });
        written(&format!("{kind}Binding"), body)
    }
}

fn written(kind: &str, mut body: Value) -> Value {
    body["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
    body["kind"] = json!(kind);
    body
}

fn to_value(document: &impl Serialize) -> Result<Value, OperatorError> {
    serde_json::to_value(document).map_err(|error| OperatorError::Print(error.into()))
}

/// Documents as YAML, as `kubectl apply -f -` takes them.
#[cfg(feature = "cli")]
pub(super) fn yaml(documents: &[Value]) -> Result<String, OperatorError> {
    let mut text = String::new();
    for document in documents {
        text.push_str("---\n");
        let document = serde_saphyr::to_string(document).map_err(std::io::Error::other);
        text.push_str(&document.map_err(OperatorError::Print)?);
    }
    Ok(text)
}
