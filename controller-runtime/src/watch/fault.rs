//! What is wrong with an object's text, and where, without telling its values.

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
    format!("{place}{}", hide_texts(message))
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

/// Takes out what serde quotes of the text: ``string "…"`` and ``unknown variant `…` ``.
fn hide_texts(message: &str) -> String {
    let mut message = message.to_owned();
    for (begin, end, instead) in [
        ("string \"", "\", expected", "string"),
        ("unknown variant `", "`, expected", "unknown variant"),
    ] {
        if let (Some(from), Some(to)) = (message.find(begin), message.rfind(end))
            && from + begin.len() <= to
        {
            let quote = &end[1..];
            message = format!(
                "{}{instead}{quote}{}",
                &message[..from],
                &message[to + end.len()..]
            );
        }
    }
    message
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
            "spec.template.spec.containers[1].name: invalid type: integer `5`, expected a string"
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
    }
}
