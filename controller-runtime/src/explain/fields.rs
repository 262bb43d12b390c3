//! Which fields of an object changed: their paths, never their values.
//!
//! Of each value only a hash is kept, so that two changes can be compared ("it went back to what it was") and nothing
//! can be told of it. What every write changes (resourceVersion, generation, managed fields) is no answer and left out.

use std::hash::{DefaultHasher, Hasher};

use kube::api::ObjectMeta;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::object::Object;

/// So many fields of one change are kept; the others are counted.
pub(crate) const MOST_FIELDS: usize = 8;
/// A longer path is cut to this: keys of maps are the user's, and may be long.
const LONGEST_PATH: usize = 160;
/// What every write changes, below `metadata`.
const NOISE: [&str; 3] = ["resourceVersion", "generation", "managedFields"];

/// The fields that one change changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// At most [`MOST_FIELDS`], in the order of the object.
    pub(crate) named: Vec<Field>,
    /// How many more there are.
    pub(crate) more: usize,
}

/// One field that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Such as `spec.replicas` or `metadata.labels["app.kubernetes.io/name"]`.
    pub(crate) path: Box<str>,
    /// Hashes of the value before and after.
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// Before and after are numbers.
    pub(crate) counts: bool,
}

/// How the fields of a kind are found.
pub(crate) type Compare<T> = fn(&T, &T) -> Fields;

/// Compares everything.
pub(crate) fn whole<T: Object + Serialize>(old: &T, new: &T) -> Fields {
    // What cannot be written as JSON was never read from it; then there is nothing to tell.
    let json = |object: &T| serde_json::to_value(object).unwrap_or_default();
    between(&json(old), &json(new))
}

/// Compares what every kind has; of the rest it tells only whether the spec changed, by its generation.
pub(crate) fn of_metadata<T: Object>(old: &T, new: &T) -> Fields {
    let json = |meta: &ObjectMeta| {
        let meta = serde_json::to_value(meta).unwrap_or_default();
        Value::Object(Map::from_iter([("metadata".to_owned(), meta)]))
    };
    let mut fields = between(&json(old.meta()), &json(new.meta()));
    if old.meta().generation != new.meta().generation {
        fields.add("spec", &Value::Null, &Value::Null);
    }
    fields
}

fn between(old: &Value, new: &Value) -> Fields {
    let mut fields = Fields::default();
    fields.compare(&mut String::new(), old, new);
    fields
}

impl Fields {
    fn compare(&mut self, path: &mut String, old: &Value, new: &Value) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.entries(path, old, new),
            (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    self.below(path, &format!("[{index}]"), old, new);
                }
            }
            (old, new) if old != new => self.add(path, old, new),
            _ => {}
        }
    }

    fn entries(&mut self, path: &mut String, old: &Map<String, Value>, new: &Map<String, Value>) {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            if path == "metadata" && NOISE.contains(&key.as_str()) {
                continue;
            }
            let (old, new) = (old.get(key), new.get(key));
            self.below(
                path,
                &step(path, key),
                old.unwrap_or(&Value::Null),
                new.unwrap_or(&Value::Null),
            );
        }
    }

    fn below(&mut self, path: &mut String, step: &str, old: &Value, new: &Value) {
        let length = path.len();
        path.push_str(step);
        self.compare(path, old, new);
        path.truncate(length);
    }

    fn add(&mut self, path: &str, old: &Value, new: &Value) {
        if self.named.len() == MOST_FIELDS {
            self.more += 1;
            return;
        }
        let cut = path.char_indices().nth(LONGEST_PATH).map(|(at, _)| at);
        self.named.push(Field {
            path: cut.map_or_else(|| path.into(), |at| format!("{}…", &path[..at]).into()),
            before: hash(old),
            after: hash(new),
            counts: old.is_number() && new.is_number(),
        });
    }
}

/// A plain word after a dot; anything else in brackets and quotes, as `kubectl` and jq take it.
fn step(path: &str, key: &str) -> String {
    let plain = key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && key
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_');
    match (plain, path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!(".{key}"),
        (false, _) => format!("[{key:?}]"),
    }
}

fn hash(value: &Value) -> u64 {
    struct Sink(DefaultHasher);
    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut sink = Sink(DefaultHasher::new());
    // A `Value` is JSON already and the sink takes everything: it cannot fail.
    let _ = serde_json::to_writer(&mut sink, value);
    sink.0.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::{ByteString, api::core::v1::Secret};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn paths(fields: &Fields) -> Vec<&str> {
        fields.named.iter().map(|field| &*field.path).collect()
    }

    #[test]
    fn fields_are_named_by_their_paths_and_noise_is_left_out() {
        let old = json!({
            "metadata": { "name": "a", "resourceVersion": "1", "generation": 1, "labels": { "app.kubernetes.io/name": "x" } },
            "spec": { "replicas": 1, "containers": [{ "image": "a" }, { "image": "b" }], "gone": true, "list": [1] },
            "status": null,
        });
        let new = json!({
            "metadata": { "name": "a", "resourceVersion": "2", "generation": 2, "labels": { "app.kubernetes.io/name": "y" } },
            "spec": { "replicas": 2, "containers": [{ "image": "a" }, { "image": "c" }], "list": [1, 2] },
            "status": { "phase": "Ready" },
        });
        let fields = between(&old, &new);
        assert_eq!(
            paths(&fields),
            [
                "metadata.labels[\"app.kubernetes.io/name\"]",
                "spec.containers[1].image",
                "spec.gone",
                "spec.list",
                "spec.replicas",
                "status"
            ]
        );
        assert_eq!(fields.more, 0);
        let replicas = &fields.named[4];
        assert!(replicas.counts && replicas.before != replicas.after);
        let back = between(&new, &old);
        let back = back
            .named
            .iter()
            .find(|field| &*field.path == "spec.replicas")
            .unwrap();
        assert_eq!(back.after, replicas.before, "equal values have equal hashes");
    }

    #[test]
    fn no_value_of_a_secret_is_kept() {
        let secret = |value: &str| Secret {
            data: Some(BTreeMap::from([(
                "password".to_owned(),
                ByteString(value.as_bytes().to_vec()),
            )])),
            ..Secret::default()
        };
        let fields = whole(&secret("hunter2"), &secret("swordfish"));
        assert_eq!(paths(&fields), ["data.password"]);
        let text = format!("{fields:?}");
        assert!(!text.contains("hunter2") && !text.contains("swordfish"), "{text}");
        assert!(
            !text.contains("aHVudGVyMg") && !text.contains("c3dvcmRmaXNo"),
            "{text}"
        );
        assert!(paths(&of_metadata(&secret("a"), &secret("b"))).is_empty());
    }

    #[test]
    fn memory_is_bounded_whatever_changed() {
        let old: Value = (0..1000).map(|key| (format!("k{key}"), json!(key))).collect();
        let new: Value = (0..1000).map(|key| (format!("k{key}"), json!(key + 1))).collect();
        let fields = between(&old, &new);
        assert_eq!(
            (fields.named.len(), fields.more),
            (MOST_FIELDS, 1000 - MOST_FIELDS)
        );
        let long = "ü".repeat(1000);
        let fields = between(&json!({ "data": { &long: 1 } }), &json!({ "data": { &long: 2 } }));
        assert_eq!(fields.named[0].path.chars().count(), LONGEST_PATH + 1);
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i8>().prop_map(Value::from),
            "[a-z]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 30, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        /// Absent and null are the same to a reader of an object.
        #[test]
        fn objects_differ_if_and_only_if_a_field_is_named(old in json_value(), new in json_value()) {
            fn slim(value: Value) -> Value {
                match value {
                    Value::Object(map) => map
                        .into_iter()
                        .map(|(key, value)| (key, slim(value)))
                        .filter(|(_, value)| !value.is_null())
                        .collect(),
                    Value::Array(list) => list.into_iter().map(slim).collect(),
                    other => other,
                }
            }
            let fields = between(&slim(old.clone()), &slim(new.clone()));
            prop_assert_eq!(fields.named.is_empty(), slim(old.clone()) == slim(new.clone()));
            let back = between(&slim(new), &slim(old));
            prop_assert_eq!(fields.named.len() + fields.more, back.named.len() + back.more);
        }
    }
}
