//! Decoding an object as if a part of it was not in the text.
//!
//! `metadata.managedFields` is often half of an object. Decoded only to be dropped, it costs more than the
//! rest; passed over in the text, it costs nearly nothing. Values off the path to it are decoded by the format's own
//! deserializer, untouched.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::BorrowedStrDeserializer,
    },
    forward_to_deserialize_any,
};

/// Decodes a JSON text without what `path` leads to.
pub(super) fn decode_without<'de, T: Deserialize<'de>>(
    text: &'de str,
    path: &'static [&'static str],
) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Without {
        inner: &mut json,
        path,
    })?;
    json.end()?;
    Ok(value)
}

/// A deserializer, visitor or seed that leaves out what `path`, which is not empty, leads to.
struct Without<I> {
    inner: I,
    path: &'static [&'static str],
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Without<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(Without {
            inner: visitor,
            path: self.path,
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_option(Without {
            inner: visitor,
            path: self.path,
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let path = self.path;
        self.inner
            .deserialize_newtype_struct(name, Without { inner: visitor, path })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(Without {
            inner: visitor,
            path: self.path,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let path = self.path;
        self.inner
            .deserialize_struct(name, fields, Without { inner: visitor, path })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Without<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Entries {
            inner: map,
            path: self.path,
            on_path: false,
        })
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let path = self.path;
        self.inner.visit_some(Without { inner, path })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let path = self.path;
        self.inner.visit_newtype_struct(Without { inner, path })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(seq)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.inner.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.inner.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.inner.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.inner.visit_f64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.inner.visit_str(value)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.inner.visit_borrowed_str(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<V::Value, E> {
        self.inner.visit_string(value)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Without<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        let path = self.path;
        self.inner.deserialize(Without { inner, path })
    }
}

/// The entries of an object, without the one that `path` ends in.
struct Entries<A> {
    inner: A,
    path: &'static [&'static str],
    /// The key that was read last lies on the path.
    on_path: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Text(key)) = self.inner.next_key()? {
            self.on_path = key == self.path[0];
            if self.on_path && self.path.len() == 1 {
                self.inner.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = match key {
                Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
                Cow::Owned(key) => seed.deserialize(key.into_deserializer()),
            };
            return value.map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        if self.on_path {
            let path = &self.path[1..];
            self.inner.next_value_seed(Without { inner: seed, path })
        } else {
            self.inner.next_value_seed(seed)
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// A string that borrows where the text allows.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(value)))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(value.to_owned())))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::core::{DynamicObject, PartialObjectMeta};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const PATH: &[&str] = &["metadata", "managedFields"];

    fn object() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "a \"quoted\" name", "labels": { "managedFields": "kept" },
                "managedFields": [{ "manager": "m", "fieldsV1": { "f:spec": {} } }],
                "resourceVersion": "7",
            },
            "managedFields": 1,
            "spec": { "containers": [{ "name": "c", "resources": { "limits": { "cpu": "100m" } } }] },
            "status": null,
        })
    }

    fn without(mut object: Value) -> Value {
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        object
    }

    #[test]
    fn every_kind_of_object_decodes_as_if_it_was_not_there() {
        let (full, slim) = (object().to_string(), without(object()));
        let pod: Pod = decode_without(&full, PATH).unwrap();
        assert_eq!(pod, serde_json::from_value(slim.clone()).unwrap());
        let dynamic: DynamicObject = decode_without(&full, PATH).unwrap();
        assert_eq!(dynamic, serde_json::from_value(slim.clone()).unwrap());
        let meta: PartialObjectMeta<Pod> = decode_without(&full, PATH).unwrap();
        assert_eq!(meta.metadata, pod.metadata);
        assert_eq!(decode_without::<Value>(&full, PATH).unwrap(), slim);
    }

    #[test]
    fn keys_with_escapes_are_the_same_keys() {
        let text = r#"{"met\u0061data": {"managed\u0046ields": [1], "name": "a"}}"#;
        assert_eq!(
            decode_without::<Value>(text, PATH).unwrap(),
            json!({ "metadata": { "name": "a" } })
        );
    }

    #[test]
    fn errors_are_those_of_the_format() {
        for text in [
            "",
            "{",
            "{\"metadata\": 5}",
            "[1]",
            "{} x",
            "{\"metadata\": {\"managedFields\": [}}",
            "\"x\"",
        ] {
            let plain = serde_json::from_str::<Pod>(text).map_err(|error| error.to_string());
            let slim = decode_without::<Pod>(text, PATH).map_err(|error| error.to_string());
            assert_eq!(plain, slim, "{text}");
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let key = prop_oneof![
            Just("metadata".to_owned()),
            Just("managedFields".to_owned()),
            "[a-z\"\\\\]{0,3}"
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,5}".prop_map(Value::from)
        ];
        leaf.prop_recursive(5, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key.clone(), inner, 0..5)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_text_gives_its_value_without_the_path(value in json_value()) {
            let mut expected = value.clone();
            if let Some(metadata) = expected.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
            prop_assert_eq!(decode_without::<Value>(&value.to_string(), PATH).unwrap(), expected);
        }
    }
}
