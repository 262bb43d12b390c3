//! The roles and bindings that every cluster starts with and clients rely on.
//!
//! Kubernetes documentation, "Default roles and role bindings". Those for components of a control
//! plane that does not run here (scheduler, kubelet, the controllers) are left out.

use super::{RBAC_GROUP, Rule, aggregated};
use serde_json::{Value, json};

/// Words are separated by spaces.
struct Grant {
    verbs: &'static str,
    group: &'static str,
    resources: &'static str,
}

const fn grant(verbs: &'static str, group: &'static str, resources: &'static str) -> Grant {
    Grant {
        verbs,
        group,
        resources,
    }
}

const READ: &str = "get list watch";
const WRITE: &str = "create delete deletecollection patch update";
const READ_WRITE: &str = "create delete deletecollection get list patch update watch";
const CREATE: &str = "create";

const HEALTH: &str = "/healthz /livez /readyz /version /version/";
const DISCOVERY: &str =
    "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/";
const MONITORING: &str = "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*";
const ISSUER_DISCOVERY: &str = "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks \
     /openid/v1/jwks/";

const VIEW: &[Grant] = &[
    grant(
        READ,
        "",
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods \
     replicationcontrollers replicationcontrollers/scale serviceaccounts services \
     services/status",
    ),
    grant(
        READ,
        "",
        "bindings events limitranges namespaces/status pods/log pods/status \
     replicationcontrollers/status resourcequotas resourcequotas/status",
    ),
    grant(READ, "", "namespaces"),
    grant(READ, "discovery.k8s.io", "endpointslices"),
    grant(
        READ,
        "apps",
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale \
     deployments/status replicasets replicasets/scale replicasets/status statefulsets \
     statefulsets/scale statefulsets/status",
    ),
    grant(
        READ,
        "autoscaling",
        "horizontalpodautoscalers horizontalpodautoscalers/status",
    ),
    grant(READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
    grant(
        READ,
        "extensions",
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses \
     ingresses/status networkpolicies replicasets replicasets/scale replicasets/status \
     replicationcontrollers/scale",
    ),
    grant(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    grant(
        READ,
        "networking.k8s.io",
        "ingresses ingresses/status networkpolicies",
    ),
    grant(
        READ,
        "resource.k8s.io",
        "resourceclaims resourceclaims/status resourceclaimtemplates",
    ),
];

const EDIT: &[Grant] = &[
    grant(
        READ,
        "",
        "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy",
    ),
    grant("impersonate", "", "serviceaccounts"),
    grant(
        WRITE,
        "",
        "pods pods/attach pods/exec pods/portforward pods/proxy",
    ),
    grant(CREATE, "", "pods/eviction"),
    grant(
        WRITE,
        "",
        "configmaps events persistentvolumeclaims replicationcontrollers \
     replicationcontrollers/scale secrets serviceaccounts services services/proxy",
    ),
    grant(CREATE, "", "serviceaccounts/token"),
    grant(
        WRITE,
        "apps",
        "daemonsets deployments deployments/rollback deployments/scale replicasets \
     replicasets/scale statefulsets statefulsets/scale",
    ),
    grant(WRITE, "autoscaling", "horizontalpodautoscalers"),
    grant(WRITE, "batch", "cronjobs jobs"),
    grant(
        WRITE,
        "extensions",
        "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies \
     replicasets replicasets/scale replicationcontrollers/scale",
    ),
    grant(WRITE, "policy", "poddisruptionbudgets"),
    grant(WRITE, "networking.k8s.io", "ingresses networkpolicies"),
    grant(READ_WRITE, "coordination.k8s.io", "leases"),
    grant(WRITE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
];

const ADMIN: &[Grant] = &[
    grant(CREATE, "authorization.k8s.io", "localsubjectaccessreviews"),
    grant(READ_WRITE, RBAC_GROUP, "rolebindings roles"),
];

const BASIC_USER: &[Grant] = &[
    grant(
        CREATE,
        "authorization.k8s.io",
        "selfsubjectaccessreviews selfsubjectrulesreviews",
    ),
    grant(CREATE, "authentication.k8s.io", "selfsubjectreviews"),
];

const AUTH_DELEGATOR: &[Grant] = &[
    grant(CREATE, "authentication.k8s.io", "tokenreviews"),
    grant(CREATE, "authorization.k8s.io", "subjectaccessreviews"),
];

/// All default objects, ready to be stored: cluster roles, their bindings, and what a delegating
/// API server reads in `kube-system`.
pub fn default_objects() -> Vec<Value> {
    let mut objects = vec![
        everything(),
        role("system:aggregate-to-admin", Some("admin"), &resources(ADMIN)),
        role("system:aggregate-to-edit", Some("edit"), &resources(EDIT)),
        role("system:aggregate-to-view", Some("view"), &resources(VIEW)),
        role("system:auth-delegator", None, &resources(AUTH_DELEGATOR)),
        role("system:basic-user", None, &resources(BASIC_USER)),
        role("system:discovery", None, &paths(DISCOVERY)),
        role("system:monitoring", None, &paths(MONITORING)),
        role("system:public-info-viewer", None, &paths(HEALTH)),
        role(
            "system:service-account-issuer-discovery",
            None,
            &paths(ISSUER_DISCOVERY),
        ),
    ];
    for (name, into) in [("view", Some("edit")), ("edit", Some("admin")), ("admin", None)] {
        let union = union(name, into, &objects);
        objects.push(union);
    }
    objects.extend([
        binding("cluster-admin", &["system:masters"]),
        binding("system:basic-user", &["system:authenticated"]),
        binding("system:discovery", &["system:authenticated"]),
        binding("system:monitoring", &["system:monitoring"]),
        binding(
            "system:public-info-viewer",
            &["system:authenticated", "system:unauthenticated"],
        ),
        binding(
            "system:service-account-issuer-discovery",
            &["system:serviceaccounts"],
        ),
    ]);
    objects.push(authentication_reader());
    objects
}

fn metadata(name: &str) -> Value {
    json!({
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    })
}

fn role(name: &str, aggregate_to: Option<&str>, rules: &Value) -> Value {
    let mut metadata = metadata(name);
    if let Some(target) = aggregate_to {
        metadata["labels"][aggregation_label(target)] = json!("true");
    }
    json!({"apiVersion": format!("{RBAC_GROUP}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules})
}

fn aggregation_label(target: &str) -> String {
    format!("{RBAC_GROUP}/aggregate-to-{target}")
}

fn everything() -> Value {
    role(
        "cluster-admin",
        None,
        &json!([
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ]),
    )
}

/// `admin`, `edit` or `view`: a role that unites those labelled for it.
fn union(name: &str, into: Option<&str>, all: &[Value]) -> Value {
    let mut union = role(name, into, &json!([]));
    union["aggregationRule"] =
        json!({"clusterRoleSelectors": [{"matchLabels": {aggregation_label(name): "true"}}]});
    let rules = aggregated(&union, all).unwrap_or_default();
    union["rules"] = rules.iter().map(rule_value).collect();
    union
}

/// A rule as it is stored: without its empty members.
pub fn rule_value(rule: &Rule) -> Value {
    let mut value = json!({"verbs": rule.verbs});
    let members = [
        ("apiGroups", &rule.api_groups),
        ("resources", &rule.resources),
        ("resourceNames", &rule.resource_names),
        ("nonResourceURLs", &rule.non_resource_urls),
    ];
    for (name, list) in members.into_iter().filter(|(_, list)| !list.is_empty()) {
        value[name] = json!(list);
    }
    value
}

fn resources(grants: &[Grant]) -> Value {
    grants
        .iter()
        .map(|grant| json!({"apiGroups": [grant.group], "resources": words(grant.resources), "verbs": words(grant.verbs)}))
        .collect()
}

fn paths(paths: &str) -> Value {
    json!([{"nonResourceURLs": words(paths), "verbs": ["get"]}])
}

fn binding(role: &str, groups: &[&str]) -> Value {
    let subjects: Vec<Value> = groups
        .iter()
        .map(|group| json!({"apiGroup": RBAC_GROUP, "kind": "Group", "name": group}))
        .collect();
    json!({
        "apiVersion": format!("{RBAC_GROUP}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": metadata(role),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role},
        "subjects": subjects,
    })
}

fn authentication_reader() -> Value {
    let name = "extension-apiserver-authentication-reader";
    let mut metadata = metadata(name);
    metadata["namespace"] = json!("kube-system");
    json!({
        "apiVersion": format!("{RBAC_GROUP}/v1"),
        "kind": "Role",
        "metadata": metadata,
        "rules": [{
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["extension-apiserver-authentication"],
            "verbs": ["get", "list", "watch"],
        }],
    })
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}
