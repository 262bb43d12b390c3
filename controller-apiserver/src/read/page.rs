//! Continue tokens.
//!
//! A token names the revision of the first page and the key to go on from, relative to what the
//! request is about; the encoding is that of a real server, so that tokens made elsewhere are
//! understood (and expire).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// Where the next page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The revision all pages show; `None` for pages that show the present.
    pub(crate) revision: Option<u64>,
    /// The first key of the page, without the prefix of the request.
    pub(crate) start: String,
}

impl Token {
    pub(crate) fn encode(&self) -> String {
        let revision = self.revision.map_or(Value::from(-1), Value::from);
        let token = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": self.start});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    /// # Errors
    ///
    /// What a server says of a token it did not make.
    pub(crate) fn decode(text: &str) -> Result<Self, String> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| "continue key is not valid: illegal base64 data".to_owned())?;
        let token: Value =
            serde_json::from_slice(&bytes).map_err(|error| format!("continue key is not valid: {error}"))?;
        if token["v"] != "meta.k8s.io/v1" {
            return Err(format!(
                "continue key is not valid: server does not recognize this encoded version {}",
                token["v"]
            ));
        }
        let start = token["start"].as_str().unwrap_or_default();
        if start.is_empty() {
            return Err("continue key is not valid: encoded start key empty".to_owned());
        }
        if start.split('/').any(|part| part == "..") {
            return Err(format!("continue key is not valid: {start}"));
        }
        let revision = match token["rv"].as_i64() {
            Some(0) | None => {
                return Err(
                    "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
                        .to_owned(),
                );
            }
            Some(revision) => u64::try_from(revision).ok(),
        };
        Ok(Self {
            revision,
            start: start.trim_start_matches('/').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_of_a_real_server_is_understood() {
        let token = Token::decode("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0").unwrap();
        assert_eq!(
            token,
            Token {
                revision: Some(1),
                start: "a\0".to_owned()
            }
        );
    }

    proptest! {
        #[test]
        fn tokens_come_back(revision in proptest::option::of(1..u64::from(u32::MAX)), start in "[a-z./-]{1,20}") {
            prop_assume!(!start.starts_with('/') && !start.split('/').any(|part| part == ".."));
            let token = Token { revision, start };
            prop_assert_eq!(Token::decode(&token.encode()), Ok(token));
        }

        #[test]
        fn no_text_makes_the_decoder_panic(text in ".{0,60}") {
            let _ = Token::decode(&text);
        }
    }
}
