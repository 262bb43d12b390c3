//! Request bodies as protobuf, the form in which Go clients write built-in kinds.
//!
//! Source: "Kubernetes Protobuf encoding" in the API concepts documentation: four magic octets, and
//! a `runtime.Unknown` around the object's own message. Field numbers are data
//! (`data/protobuf.txt`); types are those of the OpenAPI documents. A field whose number is not
//! known is refused, not dropped. Answers are never protobuf: clients that write it read JSON too.
//!
//! The Go types always write fields that are no pointers, so a zero on the wire mostly means that a
//! field was not set. Where it means a zero ([`SET_TO_ZERO`]), it is kept.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::types::{self, Type, Types};
use super::wire::{Content, Wire};

const MAGIC: &[u8] = b"k8s\0";
/// No kind is nested deeper; a body that is, is no honest one.
const DEPTH: usize = 40;

/// Fields that are pointers in the Go types, and so may be set to zero, false or "".
const SET_TO_ZERO: &[&str] = &[
    "activeDeadlineSeconds",
    "allocateLoadBalancerNodePorts",
    "allowPrivilegeEscalation",
    "attachRequired",
    "automountServiceAccountToken",
    "backoffLimit",
    "backoffLimitPerIndex",
    "blockOwnerDeletion",
    "completions",
    "controller",
    "deletionGracePeriodSeconds",
    "enableServiceLinks",
    "expirationSeconds",
    "failedJobsHistoryLimit",
    "fsGroup",
    "gracePeriodSeconds",
    "hostUsers",
    "immutable",
    "leaseDurationSeconds",
    "leaseTransitions",
    "maxFailedIndexes",
    "maxReplicas",
    "minReplicas",
    "optional",
    "orphanDependents",
    "parallelism",
    "partition",
    "podInfoOnMount",
    "priority",
    "privileged",
    "progressDeadlineSeconds",
    "readOnlyRootFilesystem",
    "ready",
    "replicas",
    "revisionHistoryLimit",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "serving",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "stabilizationWindowSeconds",
    "startingDeadlineSeconds",
    "storageClassName",
    "successfulJobsHistoryLimit",
    "suspend",
    "terminating",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
    "ttlSecondsAfterFinished",
];

/// By schema: the property with a number, and below 0 the properties of a message written into it.
type Numbers = BTreeMap<&'static str, BTreeMap<(u64, u64), &'static str>>;

static NUMBERS: LazyLock<Numbers> = LazyLock::new(|| {
    include_str!("../../data/protobuf.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (schema, fields) = line.split_once(' ')?;
            Some((schema, fields.split(' ').filter_map(number).collect()))
        })
        .collect()
});

fn number(field: &'static str) -> Option<((u64, u64), &'static str)> {
    let (number, name) = field.split_once('=')?;
    let (outer, inner) = number.split_once('.').unwrap_or((number, "0"));
    Some(((outer.parse().ok()?, inner.parse().ok()?), name))
}

/// The object in a body.
///
/// # Errors
///
/// What a reader should know of why it cannot be read.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, String> {
    let envelope = bytes
        .strip_prefix(MAGIC)
        .ok_or("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Wire(envelope) {
        match field? {
            (1, Content::Bytes(meta)) => {
                for field in Wire(meta) {
                    match field? {
                        (1, content) => api_version = content.text()?,
                        (2, content) => kind = content.text()?,
                        _ => {}
                    }
                }
            }
            (2, Content::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    // `DeleteOptions` and the like are written under the version of the client.
    let known = types::kind(&api_version, &kind).or_else(|| types::kind("v1", &kind));
    let Some((types, Type::Struct(schema))) = known else {
        return Err(format!(
            "no kind {kind:?} is registered for version {api_version:?} as protobuf"
        ));
    };
    let mut object = Reader(types).message(&schema, raw, DEPTH)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(object.into())
}

struct Reader<'a>(&'a Types);

impl Reader<'_> {
    fn message(&self, schema: &str, bytes: &[u8], depth: usize) -> Result<Map<String, Value>, String> {
        if depth == 0 {
            return Err("exceeded max depth".to_owned());
        }
        let numbers = NUMBERS
            .get(schema)
            .ok_or_else(|| format!("{schema} cannot be read as protobuf"))?;
        let mut object = Map::new();
        for field in Wire(bytes) {
            let (number, content) = field?;
            if let Some(name) = numbers.get(&(number, 0)) {
                self.put(&mut object, schema, name, &content, depth)?;
                continue;
            }
            if numbers.range((number, 1)..(number + 1, 0)).next().is_none() {
                return Err(format!("{schema} has no field of number {number} that is known"));
            }
            for field in Wire(content.bytes()?) {
                let (inner, content) = field?;
                let name = numbers.get(&(number, inner)).ok_or_else(|| {
                    format!("{schema} has no field of number {number}.{inner} that is known")
                })?;
                self.put(&mut object, schema, name, &content, depth)?;
            }
        }
        Ok(object)
    }

    fn put(
        &self,
        object: &mut Map<String, Value>,
        schema: &str,
        name: &str,
        content: &Content<'_>,
        depth: usize,
    ) -> Result<(), String> {
        let field = self.0.fields(schema).and_then(|fields| fields.get(name));
        let field = field.ok_or_else(|| format!("{schema} has no field {name:?}"))?;
        match &field.ty {
            Type::List(element) => {
                let list = object.entry(name).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(list) = list {
                    list.push(self.value(element, content, depth)?);
                }
            }
            Type::Map(element) => {
                let map = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
                let (key, value) = self.entry(element, content.bytes()?, depth)?;
                if let Value::Object(map) = map {
                    map.insert(key, value);
                }
            }
            ty => {
                let value = self.value(ty, content, depth)?;
                if !is_unset(name, &value) {
                    object.insert(name.to_owned(), value);
                }
            }
        }
        Ok(())
    }

    fn entry(&self, element: &Type, bytes: &[u8], depth: usize) -> Result<(String, Value), String> {
        let (mut key, mut value) = (String::new(), None);
        for field in Wire(bytes) {
            match field? {
                (1, content) => key = content.text()?,
                (_, content) => value = Some(self.value(element, &content, depth)?),
            }
        }
        let value = match value {
            Some(value) => value,
            None => self.value(element, &Content::Bytes(&[]), depth)?,
        };
        Ok((key, value))
    }

    fn value(&self, ty: &Type, content: &Content<'_>, depth: usize) -> Result<Value, String> {
        Ok(match ty {
            Type::String => content.text()?.into(),
            Type::Bytes => STANDARD.encode(content.bytes()?).into(),
            Type::Integer(_) => content.integer()?.into(),
            Type::Bool => (content.integer()? != 0).into(),
            Type::Float => content.float()?.into(),
            Type::Quantity => first(content.bytes()?)?
                .map(|text| text.text())
                .transpose()?
                .into(),
            Type::Time => time(content.bytes()?, "%Y-%m-%dT%H:%M:%SZ")?,
            Type::MicroTime => time(content.bytes()?, "%Y-%m-%dT%H:%M:%S.%6fZ")?,
            Type::IntOrString => int_or_string(content.bytes()?)?,
            Type::Any => match first(content.bytes()?)? {
                Some(raw) => serde_json::from_slice(raw.bytes()?).map_err(|error| error.to_string())?,
                None => Value::Null,
            },
            Type::Struct(schema) => self.message(schema, content.bytes()?, depth - 1)?.into(),
            // A list as the value of a map is a message of its own.
            Type::List(element) => {
                let items = Wire(content.bytes()?).map(|field| self.value(element, &field?.1, depth));
                items.collect::<Result<Vec<_>, _>>()?.into()
            }
            Type::Map(_) => return Err("a map of maps cannot be read as protobuf".to_owned()),
        })
    }
}

/// The field of a message that has one.
fn first(bytes: &[u8]) -> Result<Option<Content<'_>>, String> {
    Wire(bytes)
        .next()
        .transpose()
        .map(|field| field.map(|(_, content)| content))
}

/// `Time` and `MicroTime`; an empty message is no time.
fn time(bytes: &[u8], format: &str) -> Result<Value, String> {
    let (mut seconds, mut nanos) = (None, 0);
    for field in Wire(bytes) {
        match field? {
            (1, content) => seconds = Some(content.integer()?),
            (_, content) => nanos = i32::try_from(content.integer()?).unwrap_or_default(),
        }
    }
    let Some(seconds) = seconds else {
        return Ok(Value::Null);
    };
    let time = Timestamp::new(seconds, nanos).map_err(|error| error.to_string())?;
    Ok(time.strftime(format).to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for field in Wire(bytes) {
        match field? {
            (1, content) => is_text = content.integer()? == 1,
            (2, content) => number = content.integer()?,
            (_, content) => text = content.text()?,
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

/// The zero of a field that is no pointer: nobody set it.
fn is_unset(name: &str, value: &Value) -> bool {
    let zero = match value {
        Value::Null => return true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    };
    zero && !SET_TO_ZERO.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn varint(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        out.push(value.to_le_bytes()[0]);
    }

    fn field(number: u64, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        varint(number << 3 | 2, &mut out);
        varint(content.len() as u64, &mut out);
        out.extend(content);
        out
    }

    fn int(number: u64, value: i64) -> Vec<u8> {
        let mut out = Vec::new();
        varint(number << 3, &mut out);
        varint(u64::from_ne_bytes(value.to_ne_bytes()), &mut out);
        out
    }

    fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
    }

    /// What client-go writes for a ConfigMap: zero values of what is no pointer, an empty time.
    #[test]
    fn a_config_map_reads_as_its_json() {
        let metadata = [
            field(1, b"a"),
            field(2, b""),
            field(3, b"ns"),
            int(7, 0),
            field(8, b""),
        ]
        .concat();
        let data = [field(1, b"k"), field(2, b"v")].concat();
        let binary = [field(1, b"b"), field(2, &[0xff, 0])].concat();
        let raw = [field(1, &metadata), field(2, &data), field(3, &binary), int(4, 0)].concat();
        assert_eq!(
            decode(&envelope("v1", "ConfigMap", &raw)).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "ns"},
                "data": {"k": "v"}, "binaryData": {"b": "/wA="}, "immutable": false,
            })
        );
    }

    #[test]
    fn inline_messages_numbers_times_and_quantities_are_read() {
        let volume = [field(1, b"v"), field(2, &field(2, &field(1, b"")))].concat();
        let container = [
            field(1, b"c"),
            field(
                8,
                &field(2, &[field(1, b"cpu"), field(2, &field(1, b"100m"))].concat()),
            ),
            field(
                11,
                &field(
                    1,
                    &field(
                        2,
                        &[field(1, b"/"), field(2, &[int(1, 0), int(2, 80)].concat())].concat(),
                    ),
                ),
            ),
        ]
        .concat();
        let spec = [field(1, &volume), field(2, &container), int(4, 0), int(11, 0)].concat();
        let pod = decode(&envelope("v1", "Pod", &field(2, &spec))).unwrap();
        assert_eq!(
            pod["spec"],
            json!({
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{
                    "name": "c",
                    "resources": {"requests": {"cpu": "100m"}},
                    "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
                }],
                "terminationGracePeriodSeconds": 0,
            })
        );
        let lease = [
            field(4, &[int(1, 1_700_000_000), int(2, 123_456_000)].concat()),
            int(2, 15),
        ]
        .concat();
        let lease = decode(&envelope("coordination.k8s.io/v1", "Lease", &field(2, &lease))).unwrap();
        assert_eq!(
            lease["spec"],
            json!({"leaseDurationSeconds": 15, "renewTime": "2023-11-14T22:13:20.123456Z"})
        );
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let refused = |bytes: &[u8]| decode(bytes).unwrap_err();
        assert!(refused(b"{}").contains("does not appear to be a protobuf message"));
        assert!(refused(&envelope("v1", "Nonsense", b"")).contains("no kind"));
        assert!(refused(&envelope("v1", "ConfigMap", &field(99, b""))).contains("number 99"));
        assert!(refused(&envelope("v1", "ConfigMap", &[0x0a, 0x7f])).contains("unexpected EOF"));
    }

    /// Every kind that is served and stored can be read, but for those that are refused as JSON too.
    #[test]
    fn every_stored_kind_has_field_numbers() {
        for resource in crate::registry::Registry::new().all() {
            if matches!(
                resource.group.as_str(),
                "admissionregistration.k8s.io" | "apiextensions.k8s.io"
            ) {
                continue;
            }
            let read = decode(&envelope(
                &resource.api_version(),
                &resource.kind,
                &field(1, &field(1, b"n")),
            ));
            assert_eq!(read.unwrap()["metadata"]["name"], "n", "{}", resource.kind);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            kind in prop::sample::select(&["Pod", "ConfigMap", "Service", "DeleteOptions"][..]),
            bytes in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let _ = decode(&bytes);
            let _ = decode(&envelope("v1", kind, &bytes));
            let _ = decode(&envelope("v1", kind, &field(2, &bytes)));
        }
    }
}
