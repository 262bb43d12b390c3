//! What runs the operator: a Deployment, a Service for its metrics, and a budget for disruptions where several Pods run.

use serde_json::{Value, json};

use super::ManifestOptions;
use crate::{Config, declare::Namespaces};

/// The user of distroless images, which is nobody in particular.
const NOBODY: u32 = 65532;
/// How much longer than the reconciles the process may take to end, in seconds.
const FAREWELL: u64 = 10;

pub(super) fn documents(name: &str, options: &ManifestOptions) -> Vec<Value> {
    let labels = json!({"app.kubernetes.io/name": name});
    let mut documents = vec![service(name, options, &labels)];
    // With one Pod it would only hold up whoever drains the node.
    if options.replicas > 1 {
        documents.push(budget(name, options, &labels));
    }
    documents.push(deployment(name, options, &labels));
    documents
}

fn service(name: &str, options: &ManifestOptions, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": format!("{name}-metrics"), "namespace": options.namespace, "labels": labels},
        "spec": {
            "selector": labels,
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP", "targetPort": "http"}],
        },
    })
}

fn budget(name: &str, options: &ManifestOptions, labels: &Value) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": options.namespace, "labels": labels},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
    })
}

/// Longer than the reconciles may take after the first signal, so that nobody is killed at work.
fn grace() -> u64 {
    Config::default().grace.as_secs() + FAREWELL
}

/// Hardened by the restricted Pod Security Standard, which asks for no root, no capabilities and the default seccomp profile.
fn deployment(name: &str, options: &ManifestOptions, labels: &Value) -> Value {
    let mut env = vec![
        json!({"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
        json!({"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}),
        json!({"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}),
    ];
    if let Namespaces::Only(namespaces) = &options.namespaces {
        env.push(json!({"name": "OPERATOR_WATCH_NAMESPACES", "value": namespaces.join(",")}));
    }
    if options.protect_metrics {
        env.push(json!({"name": "OPERATOR_PROTECT_METRICS", "value": "true"}));
    }
    let own = options.env.iter();
    env.extend(own.map(|(name, value)| json!({"name": name, "value": value})));
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "http"}, "periodSeconds": 10});
    let container = json!({
        "name": "operator",
        "image": options.image,
        "args": ["run", "--leader-elect"],
        "env": env,
        "ports": [{"name": "http", "containerPort": 8080}],
        "livenessProbe": probe("/livez"),
        "readinessProbe": probe("/readyz"),
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
    });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": options.namespace, "labels": labels},
        "spec": {
            "replicas": options.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": name,
                    "terminationGracePeriodSeconds": grace(),
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": NOBODY,
                        "runAsGroup": NOBODY,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [container],
                },
            },
        },
    })
}
