//! Names of fields as rules write them.
//!
//! Source: API documentation, "Validation expressions" (escaping). A name that cannot be written
//! as an identifier even so is not visible to rules.

/// Words that are literals and operators.
const LITERAL: [&str; 4] = ["true", "false", "null", "in"];

/// Words that are kept for later: names of neither variables nor fields.
pub(super) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The identifier for a field, if it has one.
pub(super) fn escape(name: &str) -> Option<String> {
    if LITERAL.contains(&name) || RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (part, used) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            c if c == '_' || c.is_ascii_alphanumeric() => (&rest[..1], 1),
            _ => return None,
        };
        out.push_str(part);
        rest = &rest[used..];
    }
    let fits = out.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    fits.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_documentation_says() {
        for (name, written) in [
            ("plain", "plain"),
            ("my_field", "my_field"),
            ("namespace", "__namespace__"),
            ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
            ("redact__d", "redact__underscores__d"),
            ("string", "string"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(written));
        }
        assert_eq!(escape("1a"), None);
        assert_eq!(escape("a b"), None);
        assert_eq!(escape(""), None);
    }
}
