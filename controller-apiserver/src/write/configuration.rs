//! The body of a server-side apply: one YAML document, of which JSON is a part.

use serde_json::{Map, Value};

use super::WriteOptions;
use super::options::FieldValidation;
use crate::codec::body::{self, Body, Format};
use crate::status::ApiError;

/// A configuration that is applied.
pub(super) struct Configuration {
    /// An object.
    pub(super) value: Value,
    /// Keys that stood twice in one map.
    doubled: Vec<String>,
}

impl Configuration {
    /// Reads a body. One without content is an empty object.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        let refused = |why: String| ApiError::bad_request(format!("error decoding YAML: {why}"));
        let body = document(bytes)
            .map_err(|error| refused(format!("error converting YAML to JSON: yaml: {error}")))?;
        let found = match body.value {
            Value::Object(_) => None,
            Value::Null => {
                return Ok(Self {
                    value: Value::Object(Map::new()),
                    doubled: Vec::new(),
                });
            }
            Value::Array(_) => Some("array"),
            Value::String(_) => Some("string"),
            Value::Number(_) => Some("number"),
            Value::Bool(_) => Some("bool"),
        };
        if let Some(found) = found {
            return Err(refused(format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
        let doubled = body.duplicates.iter().map(|path| {
            let key = path.rsplit('.').next().unwrap_or_default();
            format!("key {key:?} already set in map")
        });
        Ok(Self {
            doubled: doubled.collect(),
            value: body.value,
        })
    }

    /// Of a doubled key the last value counts, which is worth a warning, or refused if strict.
    pub(super) fn complaints(&self, options: &WriteOptions) -> Result<Vec<String>, ApiError> {
        if options.validation == FieldValidation::Strict && !self.doubled.is_empty() {
            return Err(ApiError::bad_request(format!(
                "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {}",
                self.doubled.join("\n  ")
            )));
        }
        Ok(self.doubled.clone())
    }
}

/// JSON is read as such where it is some: it is quicker. What only begins like it may be YAML in
/// flow style.
fn document(bytes: &[u8]) -> Result<Body, String> {
    if bytes.trim_ascii_start().starts_with(b"{")
        && let Ok(body) = body::parse(bytes, Format::Json)
    {
        return Ok(body);
    }
    body::parse(bytes, Format::Yaml)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_and_yaml_of_any_style_are_read() {
        for text in [
            "{\"a\": {\"b\": 1}}",
            "{a: {b: 1}}",
            "a:\n  b: 1 # one\n",
            "---\na: {b: 1}\n---\nc: 2\n",
        ] {
            let configuration = Configuration::parse(text.as_bytes()).unwrap();
            assert_eq!(configuration.value, json!({"a": {"b": 1}}), "{text}");
        }
        assert_eq!(Configuration::parse(b"").unwrap().value, json!({}));
        for text in ["a: [", "- a", "text", "{a: 1"] {
            assert!(Configuration::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn doubled_keys_are_told_or_refused() {
        let configuration = Configuration::parse(b"a: {k: 1, k: 2}").unwrap();
        assert_eq!(configuration.value, json!({"a": {"k": 2}}));
        let mut options = WriteOptions::default();
        assert_eq!(
            configuration.complaints(&options).unwrap(),
            ["key \"k\" already set in map"]
        );
        options.validation = FieldValidation::Strict;
        assert_eq!(configuration.complaints(&options).unwrap_err().code, 400);
    }
}
