//! The query of a request.

/// Names and values, in order, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(
            text.split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(name, true), decode(value, true))
                })
                .collect(),
        )
    }

    /// The first value of a name.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The first value of a name; empty if it is not there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.first(name).unwrap_or_default()
    }

    /// All values of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// A flag, as the API server reads them: anything but `false` and `0` is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.first(name)
            .is_some_and(|value| !matches!(value.to_lowercase().as_str(), "false" | "0"))
    }
}

impl Query {
    /// Sets a name, in the place of what was there.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(key, _)| key != name);
        self.0.push((name.to_owned(), value.to_owned()));
    }
}

impl std::fmt::Display for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "&" };
            write!(f, "{separator}{name}={value}")?;
        }
        Ok(())
    }
}

/// Percent-decoding; what is no valid escape stays as it is.
pub(crate) fn decode(text: &str, plus_is_space: bool) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            decoded.push(byte);
            at += 3;
        } else {
            decoded.push(match bytes[at] {
                b'+' if plus_is_space => b' ',
                byte => byte,
            });
            at += 1;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_decoded() {
        let query = Query::parse("labelSelector=a%3Db%2Cc&watch&x=1+2&x=%zz&limit=");
        assert_eq!(query.text("labelSelector"), "a=b,c");
        assert!(query.flag("watch"));
        assert_eq!(query.all("x").collect::<Vec<_>>(), ["1 2", "%zz"]);
        assert_eq!(query.first("limit"), Some(""));
        assert_eq!(query.first("none"), None);
    }

    #[test]
    fn flags_are_true_unless_false() {
        for (text, flag) in [
            ("1", true),
            ("maybe", true),
            ("", true),
            ("false", false),
            ("0", false),
            ("False", false),
        ] {
            assert_eq!(
                Query::parse(&format!("watch={text}")).flag("watch"),
                flag,
                "{text}"
            );
        }
        assert!(!Query::default().flag("watch"));
    }
}
