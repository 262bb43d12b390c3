//! Decoding as the Go types of Kubernetes do: unknown fields go, nulls go, empty collections go,
//! and a value of another type is refused.

use serde_json::{Map, Value};

use super::scalars;
use super::types::{Field, Type, Types, short_name};

/// How deep an object may be nested.
const DEPTH: usize = 256;

/// A value that does not fit its type; the request is a 400 with this text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mismatch(pub(crate) String);

/// Decodes in place, and returns the paths of unknown fields, in the order of the object.
pub(crate) fn decode(
    value: &mut Value,
    ty: &Type,
    types: &Types,
    root: &str,
) -> Result<Vec<String>, Mismatch> {
    let mut decoder = Decoder {
        types,
        root,
        unknown: Vec::new(),
    };
    decoder.value(value, ty, "", 0)?;
    Ok(decoder.unknown)
}

struct Decoder<'a> {
    types: &'a Types,
    /// What messages call the object: `ConfigMap`.
    root: &'a str,
    unknown: Vec<String>,
}

impl Decoder<'_> {
    fn value(&mut self, value: &mut Value, ty: &Type, path: &str, depth: usize) -> Result<(), Mismatch> {
        if depth > DEPTH {
            return Err(Mismatch("exceeded max depth".to_owned()));
        }
        match ty {
            Type::Any => Ok(()),
            Type::Struct(name) => self.structure(value, name, path, depth),
            Type::Map(of) => self.map(value, of, path, depth),
            Type::List(of) => self.list(value, of, path, depth),
            scalar => {
                if value.is_null() {
                    *value = zero(scalar);
                    return Ok(());
                }
                self.scalar(value, scalar, path)
            }
        }
    }

    fn structure(&mut self, value: &mut Value, name: &str, path: &str, depth: usize) -> Result<(), Mismatch> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let Some(fields) = self.types.fields(name) else {
            return Ok(());
        };
        let short = name.rsplit('.').next().unwrap_or_default();
        let Value::Object(object) = value else {
            return Err(self.mismatch(value, path, &format!("v1.{short}")));
        };
        let given = std::mem::take(object);
        for (key, mut member) in given {
            let path = join(path, &key);
            let Some(field) = fields.get(&key) else {
                self.unknown.push(path);
                continue;
            };
            if member.is_null() && !field.inline {
                continue;
            }
            self.value(&mut member, &field.ty, &path, depth + 1)?;
            if !is_empty(&member, field) {
                object.insert(key, member);
            }
        }
        for (key, field) in fields {
            if (field.required || field.inline) && !object.contains_key(key) {
                let mut empty = empty(&field.ty);
                if field.inline {
                    self.value(&mut empty, &field.ty, "", depth + 1)?;
                }
                object.insert(key.clone(), empty);
            }
        }
        for (key, nothing) in always(name) {
            object.entry(key).or_insert(nothing);
        }
        Ok(())
    }

    fn map(&mut self, value: &mut Value, of: &Type, path: &str, depth: usize) -> Result<(), Mismatch> {
        let Value::Object(object) = value else {
            return Err(self.mismatch(value, path, &format!("map[string]{}", go_name(of))));
        };
        for (key, member) in object {
            self.value(member, of, &join(path, key), depth + 1)?;
        }
        Ok(())
    }

    fn list(&mut self, value: &mut Value, of: &Type, path: &str, depth: usize) -> Result<(), Mismatch> {
        let Value::Array(items) = value else {
            return Err(self.mismatch(value, path, &format!("[]{}", go_name(of))));
        };
        for (index, item) in items.iter_mut().enumerate() {
            self.value(item, of, &format!("{path}[{index}]"), depth + 1)?;
        }
        Ok(())
    }

    fn scalar(&self, value: &mut Value, ty: &Type, path: &str) -> Result<(), Mismatch> {
        let rewritten = match (ty, &*value) {
            (Type::String | Type::IntOrString, Value::String(_))
            | (Type::Bool, Value::Bool(_))
            | (Type::Float, Value::Number(_)) => return Ok(()),
            (Type::Integer(bits), Value::Number(number)) => {
                Some(integer(number, *bits).ok_or_else(|| {
                    self.problem(
                        path,
                        &format!("cannot unmarshal number {number}"),
                        &format!("int{bits}"),
                    )
                })?)
            }
            (Type::IntOrString, Value::Number(number)) => integer(number, 32),
            (Type::Bytes, Value::String(text)) => {
                check_base64(text)?;
                return Ok(());
            }
            (Type::Time, Value::String(text)) => Some(
                scalars::time(text)
                    .ok_or_else(|| Mismatch(not_a_time(text, "2006-01-02T15:04:05Z07:00")))?
                    .into(),
            ),
            (Type::MicroTime, Value::String(text)) => Some(
                scalars::micro_time(text)
                    .ok_or_else(|| Mismatch(not_a_time(text, "2006-01-02T15:04:05.000000Z07:00")))?
                    .into(),
            ),
            (Type::Quantity, Value::String(text)) => Some(quantity(text)?),
            (Type::Quantity, Value::Number(number)) => Some(quantity(&number.to_string())?),
            _ => None,
        };
        let Some(rewritten) = rewritten else {
            return Err(self.mismatch(value, path, go_name(ty)));
        };
        *value = rewritten;
        Ok(())
    }

    fn mismatch(&self, value: &Value, path: &str, wanted: &str) -> Mismatch {
        let got = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        self.problem(path, &format!("cannot unmarshal {got}"), wanted)
    }

    fn problem(&self, path: &str, what: &str, wanted: &str) -> Mismatch {
        if path.is_empty() {
            return Mismatch(format!("json: {what} into Go value of type {wanted}"));
        }
        Mismatch(format!(
            "json: {what} into Go struct field {}.{path} of type {wanted}",
            self.root
        ))
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn quantity(text: &str) -> Result<Value, Mismatch> {
    scalars::quantity(text).map(Value::from).ok_or_else(|| {
        Mismatch(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned(),
        )
    })
}

fn not_a_time(text: &str, layout: &str) -> String {
    format!("parsing time \"{text}\" as \"{layout}\": cannot parse \"{text}\" as \"2006\"")
}

fn integer(number: &serde_json::Number, bits: u32) -> Option<Value> {
    let whole = number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
        (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
    })?;
    (bits > 32 || i32::try_from(whole).is_ok()).then(|| whole.into())
}

/// Standard base64; line breaks are allowed, as in Go.
fn check_base64(text: &str) -> Result<(), Mismatch> {
    use base64::Engine as _;
    let plain: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    base64::engine::general_purpose::STANDARD
        .decode(plain)
        .map(drop)
        .map_err(|_| {
            let at = text
                .bytes()
                .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/')))
                .unwrap_or(text.len());
            Mismatch(format!("illegal base64 data at input byte {at}"))
        })
}

/// The value of a type that nothing was said of, where it stands in a map or list.
fn zero(ty: &Type) -> Value {
    match ty {
        Type::String | Type::Bytes => "".into(),
        Type::Quantity => "0".into(),
        Type::Integer(_) | Type::IntOrString | Type::Float => 0.into(),
        Type::Bool => false.into(),
        _ => Value::Null,
    }
}

/// How a field that must be written is written when nothing is in it.
fn empty(ty: &Type) -> Value {
    match ty {
        // Wherever it must be given it is a pointer.
        Type::Struct(name) if name.ends_with(".LabelSelector") => Value::Null,
        Type::Struct(_) => Value::Object(Map::new()),
        other => zero(other),
    }
}

/// Collections without content are not written, nor the zero of a scalar that is no pointer.
fn is_empty(value: &Value, field: &Field) -> bool {
    if field.required || field.inline {
        return value.is_null();
    }
    match (value, &field.ty) {
        (Value::Null, _) => true,
        (Value::Array(items), Type::List(_)) => items.is_empty(),
        (Value::Object(map), Type::Map(_)) => map.is_empty(),
        (Value::String(text), Type::String | Type::Bytes) => text.is_empty() && !field.pointer,
        (Value::Bool(set), Type::Bool) => !set && !field.pointer,
        (Value::Number(number), Type::Integer(_) | Type::Float) => {
            number.as_f64() == Some(0.0) && !field.pointer
        }
        _ => false,
    }
}

/// Fields that are optional and yet written when nothing is in them, and what then stands there.
pub(crate) fn always(schema: &str) -> Vec<(&'static str, Value)> {
    let nulls: &[&str] = match short_name(schema) {
        "rbac.v1.Role" | "rbac.v1.ClusterRole" => &["rules"],
        "events.v1.Event" => &["eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"],
        "core.v1.PodCondition" | "core.v1.PersistentVolumeClaimCondition" | "batch.v1.JobCondition" => {
            &["lastProbeTime", "lastTransitionTime"]
        }
        "core.v1.NodeCondition" => &["lastHeartbeatTime", "lastTransitionTime"],
        "apps.v1.DeploymentCondition" | "certificates.v1.CertificateSigningRequestCondition" => {
            &["lastUpdateTime", "lastTransitionTime"]
        }
        "apps.v1.ReplicaSetCondition"
        | "apps.v1.StatefulSetCondition"
        | "apps.v1.DaemonSetCondition"
        | "autoscaling.v2.HorizontalPodAutoscalerCondition"
        | "core.v1.NamespaceCondition"
        | "core.v1.ReplicationControllerCondition" => &["lastTransitionTime"],
        "autoscaling.v2.HorizontalPodAutoscalerStatus" => &["currentMetrics"],
        "core.v1.ContainerStateRunning" => &["startedAt"],
        "core.v1.ContainerStateTerminated" => &["startedAt", "finishedAt"],
        "core.v1.ContainerImage" => &["names"],
        "core.v1.ProjectedVolumeSource" => &["sources"],
        "core.v1.TypedLocalObjectReference" | "core.v1.TypedObjectReference" => &["apiGroup"],
        "core.v1.AzureFilePersistentVolumeSource" => &["secretNamespace"],
        "discovery.v1.EndpointSlice" => &["endpoints", "ports"],
        "apps.v1.ControllerRevision" => &["data"],
        "storage.v1.CSINodeDriver" => &["topologyKeys"],
        "storage.v1.VolumeError" => &["time"],
        "core.v1.Event" => {
            return vec![
                ("eventTime", Value::Null),
                ("firstTimestamp", Value::Null),
                ("lastTimestamp", Value::Null),
                ("reportingComponent", "".into()),
                ("reportingInstance", "".into()),
            ];
        }
        "core.v1.ResourceFieldSelector" => return vec![("divisor", "0".into())],
        "core.v1.NodeRuntimeHandler" => return vec![("name", "".into())],
        "apps.v1.StatefulSetSpec" => return vec![("serviceName", "".into())],
        "apps.v1.StatefulSetStatus" => return vec![("availableReplicas", 0.into())],
        "apps.v1.StatefulSetOrdinals" => return vec![("start", 0.into())],
        "scheduling.v1.PriorityClass" => return vec![("value", 0.into())],
        "rbac.v1.RoleRef" => return vec![("apiGroup", "".into())],
        "policy.v1.PodDisruptionBudgetStatus" => {
            let counts = [
                "currentHealthy",
                "desiredHealthy",
                "disruptionsAllowed",
                "expectedPods",
            ];
            return counts.map(|count| (count, 0.into())).to_vec();
        }
        _ => &[],
    };
    nulls.iter().map(|field| (*field, Value::Null)).collect()
}

fn go_name(ty: &Type) -> &'static str {
    match ty {
        Type::String | Type::Time | Type::MicroTime | Type::Quantity => "string",
        Type::Bytes => "[]uint8",
        Type::Integer(32) => "int32",
        Type::Integer(_) | Type::IntOrString => "int64",
        Type::Float => "float64",
        Type::Bool => "bool",
        Type::Any => "interface {}",
        Type::Map(_) | Type::Struct(_) => "map[string]interface {}",
        Type::List(_) => "[]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::types::types;
    use serde_json::json;

    fn through(group_version: &str, kind: &str, mut value: Value) -> Result<(Value, Vec<String>), Mismatch> {
        let types = types(group_version).unwrap();
        let unknown = decode(&mut value, &types.of_kind(kind).unwrap(), types, kind)?;
        Ok((value, unknown))
    }

    #[test]
    fn unknown_fields_go_and_are_named() {
        let (value, unknown) = through(
            "v1",
            "ConfigMap",
            json!({"data": {"a": null}, "more": 1, "metadata": {"name": "a", "bogus": 1}}),
        )
        .unwrap();
        assert_eq!(value, json!({"data": {"a": ""}, "metadata": {"name": "a"}}));
        assert_eq!(unknown, ["metadata.bogus", "more"]);
    }

    #[test]
    fn empty_collections_are_not_written_but_roles_have_rules() {
        let (value, _) = through("v1", "ConfigMap", json!({"data": {}, "binaryData": null})).unwrap();
        assert_eq!(value, json!({"metadata": {}}));
        let (value, _) = through("rbac.authorization.k8s.io/v1", "Role", json!({"rules": []})).unwrap();
        assert_eq!(value, json!({"metadata": {}, "rules": null}));
    }

    #[test]
    fn a_zero_is_a_value_only_behind_a_pointer() {
        let spec = json!({
            "replicas": 0, "minReadySeconds": 0, "paused": false, "selector": {},
            "template": {"spec": {
                "hostNetwork": false, "enableServiceLinks": false, "serviceAccountName": "", "priority": 0,
                "containers": [{"name": "c", "image": "", "tty": false, "env": [{"name": "A", "value": ""}]}],
            }},
        });
        let (value, _) = through("apps/v1", "Deployment", json!({"spec": spec})).unwrap();
        assert_eq!(
            value["spec"],
            json!({
                "replicas": 0, "selector": {}, "strategy": {},
                "template": {"metadata": {}, "spec": {
                    "enableServiceLinks": false, "priority": 0,
                    "containers": [{"name": "c", "resources": {}, "env": [{"name": "A"}]}],
                }},
            })
        );
        let (value, _) = through("apps/v1", "StatefulSet", json!({})).unwrap();
        assert_eq!(value["status"], json!({"replicas": 0, "availableReplicas": 0}));
        assert_eq!(value["spec"]["serviceName"], "");
    }

    #[test]
    fn structs_by_value_are_written() {
        let (value, _) = through("coordination.k8s.io/v1", "Lease", json!({})).unwrap();
        assert_eq!(value, json!({"metadata": {}, "spec": {}}));
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let error = through("v1", "ConfigMap", json!({"data": {"n": 5}})).unwrap_err();
        assert!(error.0.contains("cannot unmarshal number"), "{error:?}");
        let error = through("v1", "ConfigMap", json!({"binaryData": {"b": "%%%"}})).unwrap_err();
        assert_eq!(error.0, "illegal base64 data at input byte 0");
        assert!(through("v1", "ConfigMap", json!([])).is_err());
    }
}
