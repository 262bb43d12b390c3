//! Objects that are sound, and what is said when one thing in them is not.

use serde_json::{Value, json};

use super::{Taken, account_of, admit, agree, allocate, attach, keep, validate, validate_status};
use crate::defaults;

fn causes(group: &str, plural: &str, new: &Value, old: Option<&Value>) -> Vec<(String, String)> {
    let causes = validate(group, plural, new, old);
    causes
        .into_iter()
        .map(|cause| (cause.reason, cause.field))
        .collect()
}

/// A copy with other values at some places.
fn with(object: &Value, changes: &Value) -> Value {
    let mut object = object.clone();
    for (pointer, value) in changes.as_object().into_iter().flatten() {
        let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
        match object.pointer_mut(parent) {
            Some(Value::Object(map)) => {
                map.insert(name.to_owned(), value.clone());
            }
            Some(Value::Array(items)) => items.push(value.clone()),
            _ => panic!("{pointer} has no place"),
        }
    }
    object
}

fn sound(kind: &str) -> (&'static str, &'static str, Value) {
    let containers = json!([{"name": "m", "image": "i:1"}]);
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}});
    let selector = json!({"matchLabels": {"a": "b"}});
    let once = with(&template, &json!({"/spec/restartPolicy": "Never"}));
    let (group, plural, spec) = match kind {
        "Pod" => ("", "pods", json!({"containers": containers})),
        "Deployment" => (
            "apps",
            "deployments",
            json!({"selector": selector, "template": template}),
        ),
        "StatefulSet" => (
            "apps",
            "statefulsets",
            json!({"selector": selector, "template": template}),
        ),
        "DaemonSet" => (
            "apps",
            "daemonsets",
            json!({"selector": selector, "template": template}),
        ),
        "Job" => (
            "batch",
            "jobs",
            json!({"manualSelector": true, "selector": selector, "template": once}),
        ),
        "CronJob" => (
            "batch",
            "cronjobs",
            json!({"schedule": "@daily", "jobTemplate": {"spec": {"template": once}}}),
        ),
        "Service" => ("", "services", json!({"ports": [{"port": 80}]})),
        "Ingress" => (
            "networking.k8s.io",
            "ingresses",
            json!({"rules": [{"host": "*.a.example", "http": {"paths": [{
                "path": "/a", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}},
            }]}}]}),
        ),
        "PersistentVolumeClaim" => (
            "",
            "persistentvolumeclaims",
            json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}),
        ),
        "HorizontalPodAutoscaler" => (
            "autoscaling",
            "horizontalpodautoscalers",
            json!({"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}),
        ),
        _ => ("policy", "poddisruptionbudgets", json!({"minAvailable": 1})),
    };
    let mut object = json!({"kind": kind, "metadata": {"name": "x"}, "spec": spec});
    defaults::apply(
        group,
        if kind.starts_with('H') { "v2" } else { "v1" },
        kind,
        &mut object,
    );
    (group, plural, object)
}

const KINDS: [&str; 11] = [
    "Pod",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "Service",
    "Ingress",
    "PersistentVolumeClaim",
    "HorizontalPodAutoscaler",
    "PodDisruptionBudget",
];

#[test]
fn sound_objects_are_accepted_and_may_stay() {
    for kind in KINDS {
        let (group, plural, object) = sound(kind);
        assert_eq!(causes(group, plural, &object, None), [], "{kind}");
        assert_eq!(causes(group, plural, &object, Some(&object)), [], "{kind} again");
    }
}

/// Kind, where, the wrong value, the reason, the field.
const MISTAKES: &str = r#"
Pod | /spec/containers/0/image | "" | Required | spec.containers[0].image
Pod | /spec/containers/0/name | "A" | Invalid | spec.containers[0].name
Pod | /spec/containers/0/imagePullPolicy | "Now" | NotSupported | spec.containers[0].imagePullPolicy
Pod | /spec/containers/0/ports | [{"containerPort": 70000}] | Invalid | spec.containers[0].ports[0].containerPort
Pod | /spec/containers/0/volumeMounts | [{"name": "v", "mountPath": "/v"}] | NotFound | spec.containers[0].volumeMounts[0].name
Pod | /spec/containers/0/env | [{"name": "a=b"}] | Invalid | spec.containers[0].env[0].name
Pod | /spec/containers/0/livenessProbe | {} | Required | spec.containers[0].livenessProbe
Pod | /spec/containers/0/livenessProbe | {"exec": {}, "successThreshold": 2} | Invalid | spec.containers[0].livenessProbe.successThreshold
Pod | /spec/containers/0/env | [{"name": "A", "valueFrom": {}}] | Invalid | spec.containers[0].env[0].valueFrom
Pod | /spec/containers/0/env | [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}] | Required | spec.containers[0].env[0].valueFrom.secretKeyRef.key
Pod | /spec/containers/0/securityContext | {"runAsUser": -1} | Invalid | spec.containers[0].securityContext.runAsUser
Pod | /spec/containers/0/securityContext | {"privileged": true, "allowPrivilegeEscalation": false} | Invalid | spec.containers[0].securityContext
Pod | /spec/initContainers | [{"name": "i", "image": "i", "livenessProbe": {"exec": {}}}] | Forbidden | spec.initContainers[0].livenessProbe
Pod | /spec/securityContext | {"fsGroup": -1} | Invalid | spec.securityContext.fsGroup
Pod | /spec/securityContext | {"fsGroupChangePolicy": "Never"} | NotSupported | spec.securityContext.fsGroupChangePolicy
Pod | /spec/securityContext | {"seccompProfile": {"type": "Localhost"}} | Required | spec.securityContext.seccompProfile.localhostProfile
Pod | /spec/hostname | "A" | Invalid | spec.hostname
Pod | /spec/nodeName | "A_" | Invalid | spec.nodeName
Pod | /spec/dnsPolicy | "None" | Required | spec.dnsConfig
Pod | /spec/hostAliases | [{"ip": "x"}] | Invalid | spec.hostAliases[0].ip
Pod | /spec/tolerations | [{"operator": "Equal"}] | Invalid | spec.tolerations[0].operator
Pod | /spec/tolerations | [{"key": "a", "operator": "Exists", "value": "b"}] | Invalid | spec.tolerations[0].operator
Pod | /spec/tolerations | [{"key": "a", "operator": "Odd"}] | NotSupported | spec.tolerations[0].operator
Pod | /spec/tolerations | [{"key": "a", "effect": "Odd"}] | NotSupported | spec.tolerations[0].effect
Pod | /spec/tolerations | [{"key": "a", "tolerationSeconds": 1}] | Invalid | spec.tolerations[0].effect
Pod | /spec/affinity | {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}} | Required | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
Pod | /spec/affinity | {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]}}} | Required | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values
Pod | /spec/affinity | {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "podAffinityTerm": {"topologyKey": "a"}}]}} | Invalid | spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight
Pod | /spec/topologySpreadConstraints | [{"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}] | Invalid | spec.topologySpreadConstraints[0].maxSkew
Pod | /spec/topologySpreadConstraints | [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "Give up"}] | NotSupported | spec.topologySpreadConstraints[0].whenUnsatisfiable
Pod | /spec/restartPolicy | "Sometimes" | NotSupported | spec.restartPolicy
Pod | /spec/activeDeadlineSeconds | 0 | Invalid | spec.activeDeadlineSeconds
Pod | /spec/volumes | [{"name": "v", "secret": {}}] | Required | spec.volumes[0].secret.secretName
Deployment | /spec/template/spec/containers/0/image | "" | Required | spec.template.spec.containers[0].image
Deployment | /spec/replicas | -1 | Invalid | spec.replicas
Deployment | /spec/strategy | {"type": "Sudden"} | NotSupported | spec.strategy.type
StatefulSet | /spec/updateStrategy | {"type": "Recreate"} | NotSupported | spec.updateStrategy.type
DaemonSet | /spec/template/metadata/labels | {} | Invalid | spec.template.metadata.labels
Job | /spec/template/spec/restartPolicy | "Always" | Required | spec.template.spec.restartPolicy
Job | /spec/backoffLimit | -1 | Invalid | spec.backoffLimit
CronJob | /spec/schedule | "x" | Invalid | spec.schedule
CronJob | /spec/timeZone | "x/y" | Invalid | spec.timeZone
CronJob | /spec/concurrencyPolicy | "x" | NotSupported | spec.concurrencyPolicy
Deployment | /spec/progressDeadlineSeconds | 0 | Invalid | spec.progressDeadlineSeconds
Service | /spec/type | "Odd" | NotSupported | spec.type
Service | /spec/selector | {"a b": "c"} | Invalid | spec.selector
Service | /spec/ports/0/nodePort | 30000 | Forbidden | spec.ports[0].nodePort
Service | /spec/externalTrafficPolicy | "Local" | Invalid | spec.externalTrafficPolicy
Service | /spec/healthCheckNodePort | 30000 | Invalid | spec.healthCheckNodePort
Service | /spec/externalIPs | ["10.0.0.1", "127.0.0.1"] | Invalid | spec.externalIPs[1]
Service | /spec/ports/0/targetPort | "Http" | Invalid | spec.ports[0].targetPort
Ingress | /spec/rules/0/http/paths/0/path | "a" | Invalid | spec.rules[0].http.paths[0].path
Ingress | /spec/rules/0/http/paths/0/path | "/a//b" | Invalid | spec.rules[0].http.paths[0].path
Ingress | /spec/rules/0/http/paths/0/pathType | "Regex" | NotSupported | spec.rules[0].http.paths[0].pathType
Ingress | /spec/rules/0/http/paths/0/backend | {} | Required | spec.rules[0].http.paths[0].backend
Ingress | /spec/rules/0/host | "1.2.3.4" | Invalid | spec.rules[0].host
Ingress | /spec/rules | [] | Invalid | spec
PersistentVolumeClaim | /spec/accessModes | [] | Required | spec.accessModes
PersistentVolumeClaim | /spec/resources | {} | Required | spec.resources[storage]
HorizontalPodAutoscaler | /spec/maxReplicas | 0 | Invalid | spec.maxReplicas
PodDisruptionBudget | /spec/minAvailable | "x" | Invalid | spec.minAvailable
PodDisruptionBudget | /spec/maxUnavailable | 1 | Invalid | spec
"#;

#[test]
fn one_mistake_is_one_cause() {
    for line in MISTAKES.trim().lines() {
        let [kind, pointer, value, reason, field] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let value: Value = serde_json::from_str(value).expect(line);
        let (group, plural, object) = sound(kind);
        let told = causes(group, plural, &with(&object, &json!({pointer: value})), None);
        let expected = (format!("FieldValue{reason}"), field.to_owned());
        assert!(told.contains(&expected), "{line}: {told:?}");
        assert!(told.iter().all(|(_, told)| told == field), "{line}: {told:?}");
    }
}

#[test]
fn what_is_fixed_may_not_change() {
    const INVALID: &str = "FieldValueInvalid";
    const FORBIDDEN: &str = "FieldValueForbidden";
    let other = json!({"matchLabels": {"a": "c"}});
    let labels = json!({"a": "c"});
    let both = json!({"/spec/selector": other, "/spec/template/metadata/labels": labels});
    let cases = [
        ("Pod", json!({"/spec/nodeName": "n"}), FORBIDDEN, "spec"),
        (
            "Pod",
            json!({"/spec/containers/-": {"name": "n", "image": "i"}}),
            FORBIDDEN,
            "spec.containers",
        ),
        ("Deployment", both.clone(), INVALID, "spec.selector"),
        ("DaemonSet", both, INVALID, "spec.selector"),
        (
            "StatefulSet",
            json!({"/spec/serviceName": "s"}),
            FORBIDDEN,
            "spec",
        ),
        (
            "Job",
            json!({"/spec/completions": 5}),
            INVALID,
            "spec.completions",
        ),
        (
            "Job",
            json!({"/spec/template/metadata/annotations": {"a": "b"}}),
            INVALID,
            "spec.template",
        ),
        (
            "PersistentVolumeClaim",
            json!({"/spec/accessModes": ["ReadOnlyMany"]}),
            FORBIDDEN,
            "spec",
        ),
    ];
    for (kind, changes, reason, field) in cases {
        let (group, plural, object) = sound(kind);
        let told = causes(group, plural, &with(&object, &changes), Some(&object));
        assert_eq!(told, [(reason.to_owned(), field.to_owned())], "{kind} {changes}");
    }
    let may = [
        ("Pod", json!({"/spec/containers/0/image": "i:2"})),
        ("Pod", json!({"/spec/activeDeadlineSeconds": 5})),
        ("Pod", json!({"/spec/tolerations": [{"key": "a"}]})),
        ("StatefulSet", json!({"/spec/replicas": 3})),
        ("Job", json!({"/spec/parallelism": 3})),
        ("PersistentVolumeClaim", json!({"/spec/volumeName": "v"})),
    ];
    for (kind, changes) in may {
        let (group, plural, object) = sound(kind);
        let told = causes(group, plural, &with(&object, &changes), Some(&object));
        assert_eq!(told, [], "{kind} {changes}");
    }
}

#[test]
fn counts_of_a_status_fit_together() {
    let told = |plural: &str, status: Value| -> Vec<String> {
        let causes = validate_status("apps", plural, &json!({"status": status}));
        causes.into_iter().map(|cause| cause.field).collect()
    };
    assert_eq!(
        told("deployments", json!({"replicas": 2, "readyReplicas": 1})),
        [""; 0]
    );
    assert_eq!(
        told("deployments", json!({"replicas": 1, "readyReplicas": 2})),
        ["status.readyReplicas"]
    );
    assert_eq!(
        told("statefulsets", json!({"replicas": 2, "availableReplicas": 1})),
        ["status.availableReplicas"]
    );
    assert_eq!(
        told("daemonsets", json!({"numberReady": -1})),
        ["status.numberReady"]
    );
}

fn service(spec: &Value) -> Value {
    let mut object = json!({"spec": spec});
    defaults::apply("", "v1", "Service", &mut object);
    agree(&mut object);
    object
}

#[test]
fn services_get_addresses_and_ports_of_nodes() {
    let mut one = service(&json!({"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}));
    let mut taken = Taken::none(0);
    allocate(&mut one, &mut taken).unwrap();
    assert_eq!(one["spec"]["clusterIP"], "10.96.0.2");
    assert_eq!(one["spec"]["ports"][0]["nodePort"], 30000);
    assert_eq!(one["spec"]["ports"][1]["nodePort"], 30001);

    let mut taken = Taken::none(0);
    taken.note(&one);
    let mut two = service(&json!({"type": "NodePort", "ports": [{"port": 80}]}));
    allocate(&mut two, &mut taken).unwrap();
    assert_eq!(two["spec"]["clusterIP"], "10.96.0.3");
    assert_eq!(two["spec"]["ports"][0]["nodePort"], 30002);

    let refused = [
        (
            json!({"clusterIP": "10.96.0.2", "ports": [{"port": 80}]}),
            "spec.clusterIPs",
        ),
        (
            json!({"clusterIP": "1.2.3.4", "ports": [{"port": 80}]}),
            "spec.clusterIPs",
        ),
        (
            json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30000}]}),
            "spec.ports[0].nodePort",
        ),
        (
            json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}),
            "spec.ports[0].nodePort",
        ),
        (
            json!({"ipFamilyPolicy": "RequireDualStack", "ports": [{"port": 80}]}),
            "spec.ipFamilyPolicy",
        ),
        (
            json!({"ipFamilies": ["IPv6"], "ports": [{"port": 80}]}),
            "spec.ipFamilies[0]",
        ),
    ];
    for (spec, field) in refused {
        assert_eq!(
            allocate(&mut service(&spec), &mut taken).unwrap_err().field,
            field,
            "{spec}"
        );
    }
}

#[test]
fn services_change_their_type() {
    let mut old = service(&json!({"type": "NodePort", "ports": [{"port": 80}]}));
    allocate(&mut old, &mut Taken::none(0)).unwrap();

    let mut inner = with(&old, &json!({"/spec/type": "ClusterIP"}));
    keep(&old, &mut inner);
    assert_eq!(inner["spec"]["ports"][0].get("nodePort"), None);
    assert_eq!(inner["spec"]["clusterIP"], old["spec"]["clusterIP"]);
    assert_eq!(causes("", "services", &inner, Some(&old)), []);

    let mut name = with(
        &old,
        &json!({"/spec/type": "ExternalName", "/spec/externalName": "a.example"}),
    );
    keep(&old, &mut name);
    assert_eq!(name["spec"].get("clusterIP"), None);
    assert_eq!(causes("", "services", &name, Some(&old)), []);

    let mut anew = service(&json!({"type": "NodePort", "ports": [{"port": 80}]}));
    keep(&old, &mut anew);
    assert_eq!(anew["spec"], old["spec"]);
}

/// A balancer that asks nodes gets a port for it, which stays as long as it asks.
#[test]
fn a_local_balancer_has_a_port_that_tells_its_health() {
    const PORT: &str = "/spec/healthCheckNodePort";
    let spec = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]});
    let mut old = service(&spec);
    allocate(&mut old, &mut Taken::none(0)).unwrap();
    assert_eq!(old.pointer(PORT), Some(&json!(30001)));
    let mut taken = Taken::none(0);
    taken.note(&old);
    let mut other = service(&spec);
    allocate(&mut other, &mut taken).unwrap();
    assert_eq!(other.pointer(PORT), Some(&json!(30003)));

    let mut same = service(&spec);
    keep(&old, &mut same);
    assert_eq!(same.pointer(PORT), old.pointer(PORT));
    let mut cluster = with(&old, &json!({"/spec/externalTrafficPolicy": "Cluster"}));
    keep(&old, &mut cluster);
    assert_eq!(cluster.pointer(PORT), None);
    assert_eq!(causes("", "services", &cluster, Some(&old)), []);
}

#[test]
fn the_address_of_a_service_stays_whichever_field_is_changed() {
    let mut old = service(&json!({"ports": [{"port": 80}]}));
    allocate(&mut old, &mut Taken::none(0)).unwrap();
    for address in ["10.96.0.99", "None"] {
        let mut new = with(&old, &json!({"/spec/clusterIP": address}));
        keep(&old, &mut new);
        assert_eq!(new["spec"]["clusterIPs"], json!([address]));
        let told = causes("", "services", &new, Some(&old));
        assert_eq!(
            told,
            [("FieldValueInvalid".to_owned(), "spec.clusterIPs[0]".to_owned())]
        );
    }
}

#[test]
fn only_balancers_have_a_status_with_addresses() {
    let told = |kind: &str, ingress: Value| -> Vec<String> {
        let object = json!({"spec": {"type": kind}, "status": {"loadBalancer": {"ingress": [ingress]}}});
        let causes = validate_status("", "services", &object);
        causes.into_iter().map(|cause| cause.field).collect()
    };
    assert_eq!(told("LoadBalancer", json!({"ip": "1.2.3.4"})), [""; 0]);
    assert_eq!(told("LoadBalancer", json!({"hostname": "a.example"})), [""; 0]);
    assert_eq!(
        told("LoadBalancer", json!({"ip": "x", "hostname": "1.2.3.4"})),
        [
            "status.loadBalancer.ingress[0].ip",
            "status.loadBalancer.ingress[0].hostname"
        ]
    );
    assert_eq!(
        told("ClusterIP", json!({"ip": "1.2.3.4"})),
        ["status.loadBalancer.ingress"]
    );
}

#[test]
fn tokens_are_mounted_unless_somebody_objects() {
    let pod = json!({"spec": {"containers": [{"name": "m"}]}});
    let mounts = |pod: &Value, account: &Value| {
        let mut pod = pod.clone();
        attach(&mut pod, account, "kube-api-access-x");
        admit(&mut pod);
        assert_eq!(account_of(&pod), "default");
        assert_eq!(pod["spec"]["tolerations"].as_array().map(Vec::len), Some(2));
        pod["spec"]["volumes"].as_array().map_or(0, Vec::len)
    };
    let unwilling = json!({"automountServiceAccountToken": false});
    assert_eq!(mounts(&pod, &json!({})), 1);
    assert_eq!(mounts(&pod, &unwilling), 0);
    assert_eq!(
        mounts(
            &with(&pod, &json!({"/spec/automountServiceAccountToken": true})),
            &unwilling
        ),
        1
    );
    assert_eq!(
        mounts(
            &with(&pod, &json!({"/spec/automountServiceAccountToken": false})),
            &json!({})
        ),
        0
    );
}
