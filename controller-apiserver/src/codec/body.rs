//! Request bodies: JSON, YAML and protobuf, with the fields that came twice.
//!
//! Of a duplicated field the last value counts (KEP-2885, server-side unknown field validation).

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::protobuf;
use crate::status::ApiError;

/// The largest body that is read, as on a real server.
pub(crate) const LIMIT: usize = 3 << 20;

/// What a `Content-Type` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
    /// Of built-in kinds only.
    Protobuf,
}

/// The media types bodies may have, as errors list them.
pub(crate) const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

impl Format {
    /// The format of a body; none is JSON. Parameters such as a charset are ignored.
    pub(crate) fn of(content_type: Option<&str>) -> Result<Self, ApiError> {
        let media = content_type
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        match media {
            "" | "application/json" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Ok(Self::Protobuf),
            _ => Err(ApiError::unsupported_media_type(ACCEPTED)),
        }
    }
}

/// A decoded body.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) value: Value,
    /// Paths of fields that came more than once.
    pub(crate) duplicates: Vec<String>,
}

/// Reads a body.
///
/// # Errors
///
/// What a reader should know of why it is no JSON or YAML.
pub(crate) fn parse(bytes: &[u8], format: Format) -> Result<Body, String> {
    match format {
        Format::Json => json(bytes),
        Format::Yaml => yaml(bytes),
        Format::Protobuf => Ok(Body {
            value: protobuf::decode(bytes)?,
            duplicates: Vec::new(),
        }),
    }
}

fn json(bytes: &[u8]) -> Result<Body, String> {
    let found = RefCell::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Node {
        path: &Path::Root,
        duplicates: &found,
    }
    .deserialize(&mut deserializer)
    .and_then(|value| deserializer.end().map(|()| value))
    .map_err(|error| error.to_string())?;
    Ok(Body {
        value,
        duplicates: found.into_inner(),
    })
}

fn yaml(bytes: &[u8]) -> Result<Body, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let found = RefCell::default();
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough,
        with_snippet: false,
    };
    let value = serde_saphyr::with_deserializer_from_str_with_options(first_document(text), options, |de| {
        Node {
            path: &Path::Root,
            duplicates: &found,
        }
        .deserialize(de)
    })
    .map_err(|error| error.to_string())?;
    Ok(Body {
        value,
        duplicates: found.into_inner(),
    })
}

/// Only the first document of a YAML stream counts.
fn first_document(text: &str) -> &str {
    let mut content = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let marker = line.trim_end();
        if content && (marker == "---" || marker == "...") {
            return &text[..at];
        }
        content |= !marker.is_empty() && marker != "---" && !marker.starts_with('#');
        at += line.len();
    }
    text
}

/// Where in the body a value stands.
enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Path::Root, key) => f.write_str(key),
            Self::Member(parent, key) => write!(f, "{parent}.{key}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Builds a [`Value`] and notes duplicated members.
struct Node<'a> {
    path: &'a Path<'a>,
    duplicates: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = serde_json::Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Node {
            path: &Path::Item(self.path, items.len()),
            duplicates: self.duplicates,
        })? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key_seed(Key)? {
            let path = Path::Member(self.path, &key);
            let value = map.next_value_seed(Node {
                path: &path,
                duplicates: self.duplicates,
            })?;
            let path = path.to_string();
            if object.insert(key, value).is_some() {
                let mut duplicates = self.duplicates.borrow_mut();
                if !duplicates.contains(&path) {
                    duplicates.push(path);
                }
            }
        }
        Ok(object.into())
    }
}

/// A key: YAML allows scalars other than text, JSON does not.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        match deserializer.deserialize_any(Node {
            path: &Path::Root,
            duplicates: &RefCell::default(),
        })? {
            Value::String(text) => Ok(text),
            Value::Null => Ok("null".to_owned()),
            scalar @ (Value::Bool(_) | Value::Number(_)) => Ok(scalar.to_string()),
            _ => Err(D::Error::custom("a key that is no scalar")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_duplicates_the_last_counts_and_all_are_named() {
        let body = parse(
            br#"{"data": {"a": 1, "a": 2}, "l": [{"x": 1, "x": 1}], "data": {"b": 1}}"#,
            Format::Json,
        )
        .unwrap();
        assert_eq!(body.value, json!({"data": {"b": 1}, "l": [{"x": 1}]}));
        assert_eq!(body.duplicates, ["data.a", "l[0].x", "data"]);
        let body = parse(b"data:\n  a: 1\n  a: 2\n", Format::Yaml).unwrap();
        assert_eq!(body.value, json!({"data": {"a": 2}}));
        assert_eq!(body.duplicates, ["data.a"]);
    }

    #[test]
    fn only_the_first_yaml_document_counts() {
        let body = parse(b"---\n# one\na: 1\n---\nb: 2\n", Format::Yaml).unwrap();
        assert_eq!(body.value, json!({"a": 1}));
        let body = parse(b"a: |\n  text\n  ---x\n", Format::Yaml).unwrap();
        assert_eq!(body.value, json!({"a": "text\n---x\n"}));
    }

    #[test]
    fn what_is_no_document_is_an_error() {
        for text in ["{", "{}{}", "{\"a\":}", "nul", "\u{0}"] {
            assert!(parse(text.as_bytes(), Format::Json).is_err(), "{text}");
        }
        assert!(parse(b"\xff", Format::Json).is_err());
        assert!(parse(b"a: [", Format::Yaml).is_err());
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes(), Format::Json).is_err());
        assert!(parse(deep.as_bytes(), Format::Yaml).is_err());
    }
}
