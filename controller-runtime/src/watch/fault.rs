//! What is wrong with an object's text, and where, without telling its values.

use std::borrow::Cow;

/// Says what is wrong, with the path of the field. No text of the object is quoted, for it may be secret; of a
/// `confidential` object not even the format's own words are.
pub(super) fn describe(text: &str, error: &serde_json::Error, confidential: bool) -> String {
    let path = path_at(text, offset(text, error.line(), error.column()));
    let place = if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    };
    if confidential {
        return format!("{place}it does not fit the type");
    }
    let message = error.to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(&*message, |(message, _place)| message);
    let told = if error.is_data() {
        without_values(message)
    } else {
        // What is wrong with the JSON itself is said in fixed words.
        Cow::Borrowed(message)
    };
    format!("{place}{told}")
}

/// The byte that a line and column (both from 1) mean.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    before + column
}

/// What serde says of a value, without the value: ``invalid type: integer `5`, expected a string`` loses its 5. Words
/// that are not serde's own may quote anything, and are not told.
fn without_values(message: &str) -> Cow<'_, str> {
    const OF_THE_TYPE: [&str; 3] = [
        "missing field `",
        "duplicate field `",
        "data did not match any variant",
    ];
    if OF_THE_TYPE.iter().any(|begin| message.starts_with(begin)) {
        return message.into();
    }
    for begin in [
        "invalid type: ",
        "invalid value: ",
        "unknown variant ",
        "unknown field ",
    ] {
        if let Some(rest) = message.strip_prefix(begin)
            && let Some((value, expected)) = rest.rsplit_once(", expected ")
        {
            // The kind of the value stands before its quotation: string "…", integer `…`.
            let kind = value.split(['`', '"']).next().unwrap_or_default().trim_end();
            return format!("{}, expected {expected}", format!("{begin}{kind}").trim_end()).into();
        }
    }
    "it does not fit the type".into()
}

/// A container that is open at some place in a JSON text.
enum Open {
    Object(String),
    Array(usize),
}

/// The path of the value that ends at, or contains, the byte `offset` of a JSON text: `spec.rules[2].host`.
fn path_at(text: &str, offset: usize) -> String {
    let mut open: Vec<Open> = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len().min(offset) {
        match bytes[at] {
            b'{' => open.push(Open::Object(String::new())),
            b'[' => open.push(Open::Array(0)),
            b'}' | b']' => {
                open.pop();
            }
            b',' => {
                if let Some(Open::Array(index)) = open.last_mut() {
                    *index += 1;
                }
            }
            b'"' => {
                let end = end_of_string(bytes, at);
                let is_key = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                if is_key && let Some(Open::Object(key)) = open.last_mut() {
                    *key = String::from_utf8_lossy(&bytes[at + 1..end.saturating_sub(1).max(at + 1)])
                        .into_owned();
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for level in open {
        match level {
            Open::Object(key) if path.is_empty() => path = key,
            Open::Object(key) => path = format!("{path}.{key}"),
            Open::Array(index) => path = format!("{path}[{index}]"),
        }
    }
    path
}

/// The byte after the string that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut next = at + 1;
    while next < bytes.len() {
        match bytes[next] {
            b'"' => return next + 1,
            b'\\' => next += 2,
            _ => next += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Secret};
    use proptest::prelude::*;
    use serde::de::DeserializeOwned;

    use super::*;

    fn described<T: DeserializeOwned>(text: &str, confidential: bool) -> String {
        describe(
            text,
            &serde_json::from_str::<T>(text).err().unwrap(),
            confidential,
        )
    }

    #[test]
    fn the_field_is_named_and_the_value_is_not() {
        let text = r#"{"metadata":{"name":"a"},"spec":{"replicas":"hunter2","selector":{}}}"#;
        assert_eq!(
            described::<Deployment>(text, false),
            "spec.replicas: invalid type: string, expected i32"
        );
        let text = "{\n \"spec\": {\"selector\": {}, \"template\": {\"spec\": {\"containers\": [\n{\"name\": \"x\"}, {\"name\": 5}]}}}}";
        assert_eq!(
            described::<Deployment>(text, false),
            "spec.template.spec.containers[1].name: invalid type: integer, expected a string"
        );
    }

    #[test]
    fn of_a_secret_only_the_place_is_told() {
        let text = r#"{"metadata":{"name":"a"},"data":{"password":"not base64: hunter2"}}"#;
        assert_eq!(
            described::<Secret>(text, true),
            "data.password: it does not fit the type"
        );
    }

    #[test]
    fn a_text_that_looks_like_the_error_does_not_slip_through() {
        let text = r#"{"spec":{"replicas":"a\", expected b\", expected c"}}"#;
        assert_eq!(
            described::<Deployment>(text, false),
            "spec.replicas: invalid type: string, expected i32"
        );
    }

    /// Words of an own `Deserialize` may quote the value.
    #[test]
    fn words_that_are_not_serdes_own_are_not_told() {
        #[derive(Debug)]
        struct Picky;
        impl<'de> serde::Deserialize<'de> for Picky {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                Err(serde::de::Error::custom(format!(
                    "{text:?} is bad, expected a good one"
                )))
            }
        }
        #[derive(Debug, serde::Deserialize)]
        struct Outer {
            #[serde(rename = "inner")]
            _inner: Picky,
        }
        assert_eq!(
            described::<Outer>(r#"{"inner":"hunter2","other":1}"#, false),
            "inner: it does not fit the type"
        );
        assert_eq!(described::<Outer>("{}", false), "missing field `inner`");
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String, offset in 0..200_usize) {
            path_at(&text, offset);
            if let Err(error) = serde_json::from_str::<Deployment>(&text) {
                describe(&text, &error, false);
            }
        }

        #[test]
        fn no_value_is_told(secret in "[a-z\"`, ]{6,20}") {
            let text = serde_json::json!({ "spec": { "replicas": secret } }).to_string();
            prop_assert!(!described::<Deployment>(&text, false).contains(&secret));
        }

        #[test]
        fn no_number_is_told(secret in 1_000_000..i64::MAX, fraction in 0..2_u8) {
            let number = if fraction == 1 { format!("{secret}.25") } else { secret.to_string() };
            for text in [format!(r#"{{"spec":{{"paused":{number}}}}}"#), format!(r#"{{"spec":{{"replicas":{number}00}}}}"#)] {
                if serde_json::from_str::<Deployment>(&text).is_err() {
                    let told = described::<Deployment>(&text, false);
                    prop_assert!(!told.contains(&secret.to_string()[..6]), "{}", told);
                }
            }
        }
    }
}
