//! `/debug` and `/debug/why`: for a person at the same machine, or behind `kubectl port-forward`, which comes from there.

use http::{StatusCode, Uri};

use super::Board;

const PAGE: &str = include_str!("debug.html");
const HOW: &str = "give a controller and an object: /debug/why?controller=NAME&object=NAMESPACE/NAME\n";

/// What is answered: status, media type, text.
pub(super) type Answer = (StatusCode, &'static str, String);

/// Answers a path that begins with `/debug`.
pub(super) fn answer(board: &Board, uri: &Uri) -> Answer {
    match uri.path() {
        "/debug" => (StatusCode::OK, "text/html; charset=utf-8", PAGE.to_owned()),
        "/debug/why" => why(board, uri.query().unwrap_or_default()),
        _ => text(StatusCode::NOT_FOUND, "here are /debug and /debug/why\n"),
    }
}

fn why(board: &Board, query: &str) -> Answer {
    let (Some(controller), Some(object)) = (parameter(query, "controller"), parameter(query, "object"))
    else {
        return text(StatusCode::BAD_REQUEST, HOW);
    };
    match board.why(&controller, &object) {
        Ok(why) => match serde_json::to_string_pretty(&why) {
            Ok(json) => (StatusCode::OK, "application/json", json + "\n"),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        },
        Err(unknown) => text(StatusCode::NOT_FOUND, format!("{unknown}\n")),
    }
}

fn text(status: StatusCode, text: impl Into<String>) -> Answer {
    (status, "text/plain; charset=utf-8", text.into())
}

/// One parameter of a query, decoded; `None` when it is not there or empty.
fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, value)| *key == name && !value.is_empty())?;
    Some(decoded(value))
}

/// What percent signs and plus signs stand for; a broken escape stands for itself.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                // Two digits of sixteen are one byte.
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 2;
            }
            (b'+', ..) => out.push(b' '),
            (byte, ..) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(uri: &str) -> Answer {
        answer(&Board::new("documents"), &uri.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_missing_in_the_question_is_told() {
        for query in ["", "?controller=a", "?object=b", "?controller=&object=b"] {
            let (status, _, text) = ask(&format!("/debug/why{query}"));
            assert_eq!((status, text.as_str()), (StatusCode::BAD_REQUEST, HOW), "{query}");
        }
        let (status, _, text) = ask("/debug/why?controller=a&object=b");
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(text.starts_with("there is no controller \"a\""), "{text}");
    }

    #[test]
    fn escapes_are_decoded_and_broken_ones_kept() {
        for (text, expected) in [
            ("a%2Fb", "a/b"),
            ("a/b", "a/b"),
            ("%C3%BC", "ü"),
            ("a%2", "a%2"),
            ("%zz", "%zz"),
            ("%", "%"),
            ("%+1", "% 1"),
        ] {
            assert_eq!(decoded(text), expected);
        }
    }
}
