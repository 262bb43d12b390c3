//! String formats.
//!
//! Source: API documentation, "Schema validation" (formats). A format is known by its name without
//! dashes; one that is not known is ignored, with a warning when the definition is written.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use crate::registry::names;

/// The formats of strings.
const TEXT: [&str; 27] = [
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
    "quantity",
    "k8sshortname",
    "k8slongname",
];

fn normal(format: &str) -> String {
    format.replace('-', "")
}

/// True if the server checks this format for this type.
pub(crate) fn is_known(type_name: &str, format: &str) -> bool {
    match type_name {
        "" | "string" => TEXT.contains(&normal(format).as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// True if `text` is of this format, or the format says nothing about text.
pub(crate) fn matches(format: &str, text: &str) -> bool {
    match normal(format).as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => is_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => UUID.is_match(text),
        "uuid3" => UUID3.is_match(text),
        "uuid4" => UUID4.is_match(text),
        "uuid5" => UUID5.is_match(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => SSN.is_match(text),
        "hexcolor" => HEX_COLOR.is_match(text),
        "rgbcolor" => RGB_COLOR.is_match(text),
        "byte" => BASE64.is_match(text),
        "date" => text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10,
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "quantity" => QUANTITY.is_match(text),
        "k8sshortname" => names::label(text).is_empty(),
        "k8slongname" => names::subdomain(text).is_empty(),
        _ => true,
    }
}

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| {
            #[allow(clippy::expect_used, reason = "a constant; the test of formats compiles each")]
            Regex::new($pattern).expect("a constant pattern")
        });)*
    };
}

patterns! {
    UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID3 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID4 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    UUID5 = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    SSN = r"^\d{3}[- ]?\d{2}[- ]?\d{4}$";
    HEX_COLOR = r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    RGB_COLOR = r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$";
    BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
    QUANTITY = r"^[+-]?(\d+|\d+\.\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$";
    DATE_TIME = r"^(\d{4}-\d\d-\d\d)[Tt ]?(\d\d:\d\d(:\d\d(\.\d+)?)?)([Zz]|[+-]\d\d:?\d\d)?$";
    HOSTNAME = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.))+([a-zA-Z0-9\p{S}\p{L}])(-?[a-zA-Z0-9\p{S}\p{L}]){1,62})$";
    GO_DURATION = r"^[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$";
    LOOSE_DURATION = r"^\s*(?:\d+\s*[A-Za-zµ]+\s*)+$";
    LOOSE_UNIT = r"(\d+)\s*([A-Za-zµ]+)";
    EMAIL = r#"^(?:[^<>]*<)?([A-Za-z0-9.!#$%&'*+/=?^_`{|}~\u{80}-\u{10ffff}-]+|"[^"]+")@([^@\s<>(),:;]+|\[[^\]]+\])>?$"#;
}

/// A request URI: absolute, or an absolute path.
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control() || c == ' ') || !escapes_are_whole(text) {
        return false;
    }
    if text.starts_with('/') || text == "*" {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    // An opaque URI, such as mailto:a@b, is one too; a port must be a number.
    named && !rest.is_empty() && port_is_number(rest)
}

fn port_is_number(rest: &str) -> bool {
    let Some(authority) = rest.strip_prefix("//") else {
        return true;
    };
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.rsplit_once(':') {
        Some((_, port)) if !host.ends_with(']') => port.chars().all(|c| c.is_ascii_digit()),
        _ => true,
    }
}

fn escapes_are_whole(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    path.split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|b| b.is_ascii_hexdigit()))
}

fn is_email(text: &str) -> bool {
    let Some(found) = EMAIL.captures(text.trim()) else {
        return false;
    };
    let local = found.get(1).map_or("", |local| local.as_str());
    let dots = !local.starts_with('.') && !local.ends_with('.') && !local.contains("..");
    dots && text.contains('<') == text.trim_end().ends_with('>')
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && HOSTNAME.is_match(text)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let bits = Some(bits)
        .filter(|bits| bits.len() <= 3 && bits.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|bits| bits.parse::<u8>().ok());
    let widest = if address.parse::<Ipv4Addr>().is_ok() {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    bits.is_some_and(|bits| bits <= widest)
}

/// Six, eight or twenty bytes, in pairs (`:` or `-`) or fours (`.`).
fn is_mac(text: &str) -> bool {
    let parts = |separator: char, digits: usize| {
        let parts: Vec<&str> = text.split(separator).collect();
        let whole = parts
            .iter()
            .all(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_hexdigit()));
        whole && matches!(parts.len() * digits / 2, 6 | 8 | 20)
    };
    parts(':', 2) || parts('-', 2) || parts('.', 4)
}

fn digits_of(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let text = digits_of(text);
    let value = |(index, c): (usize, char)| match c {
        'X' if index == 9 => Some(10),
        c => c.to_digit(10),
    };
    let values: Option<Vec<u32>> = text.chars().enumerate().map(value).collect();
    values.is_some_and(|values| {
        values.len() == 10
            && values
                .iter()
                .zip(1..)
                .map(|(value, weight)| value * weight)
                .sum::<u32>()
                % 11
                == 0
    })
}

fn is_isbn13(text: &str) -> bool {
    let values: Option<Vec<u32>> = digits_of(text).chars().map(|c| c.to_digit(10)).collect();
    values.is_some_and(|values| {
        let weighted = values
            .iter()
            .zip([1, 3].into_iter().cycle())
            .map(|(value, weight)| value * weight);
        values.len() == 13 && weighted.sum::<u32>() % 10 == 0
    })
}

fn is_credit_card(text: &str) -> bool {
    let values: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    if !(13..=19).contains(&values.len()) {
        return false;
    }
    let doubled = |(index, value): (usize, &u32)| match (index % 2, value * 2) {
        (0, _) => *value,
        (_, twice) => twice / 10 + twice % 10,
    };
    values.iter().rev().enumerate().map(doubled).sum::<u32>() % 10 == 0
}

fn is_date_time(text: &str) -> bool {
    let Some(found) = DATE_TIME.captures(text) else {
        return false;
    };
    let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
    let time = if part(3).is_empty() {
        format!("{}:00", part(2))
    } else {
        part(2).to_owned()
    };
    let sound = part(1).parse::<jiff::civil::Date>().is_ok() && time.parse::<jiff::civil::Time>().is_ok();
    sound && !text.contains(' ') && !part(3).is_empty() && !part(5).is_empty()
}

fn is_duration(text: &str) -> bool {
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "µs"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    if GO_DURATION.is_match(text) {
        return true;
    }
    LOOSE_DURATION.is_match(text)
        && LOOSE_UNIT.captures_iter(text).any(|found| {
            let unit = found.get(2).map_or("", |unit| unit.as_str()).to_lowercase();
            UNITS
                .iter()
                .any(|(short, long)| short.contains(&unit.as_str()) || unit.starts_with(long))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each format with values that are and values that are not.
    const CASES: [(&str, &[&str], &[&str]); 26] = [
        (
            "date-time",
            &["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.123+02:00"],
            &["2024-01-02 03:04", "2024-13-02T03:04:05Z", "x", ""],
        ),
        ("datetime", &["2024-01-02T03:04:05Z"], &["2024"]),
        (
            "date",
            &["2024-01-02"],
            &["2024-13-02", "2024-1-2", "", "2024-02-30"],
        ),
        (
            "duration",
            &["1h30m", "0", "-1.5h", "5 minutes", "2 days", "1w"],
            &["abc", "1", "", "5 x"],
        ),
        (
            "uuid",
            &[
                "11111111-2222-3333-4444-555555555555",
                "AAAAAAAA2222333344445555555555ff",
            ],
            &["x", ""],
        ),
        (
            "uuid3",
            &["11111111-2222-3333-4444-555555555555"],
            &["11111111-2222-4333-4444-555555555555"],
        ),
        (
            "uuid4",
            &["11111111-2222-4333-8444-555555555555"],
            &["11111111-2222-3333-4444-555555555555"],
        ),
        (
            "uuid5",
            &["11111111-2222-5333-8444-555555555555"],
            &["11111111-2222-3333-4444-555555555555"],
        ),
        ("ipv4", &["1.2.3.4"], &["1.2.3", "::1", "1.2.3.256"]),
        (
            "ipv6",
            &["::1", "fe80::1", "::ffff:1.2.3.4"],
            &["1.2.3.4", "x", "fe80::1%eth0"],
        ),
        (
            "cidr",
            &["10.0.0.0/8", "::/0"],
            &["10.0.0.0", "10.0.0.0/33", "x/8", "10.0.0.0/+8"],
        ),
        (
            "email",
            &["a@b.example", "A <a@b>", "a.b+c@d-e.f"],
            &["ab", "", "@b", "a@", ".a@b", "a b@c"],
        ),
        (
            "hostname",
            &["a.example", "a", "1a.b-c.de"],
            &["-a-", "", "a_b", "a.b-"],
        ),
        (
            "uri",
            &["http://a/b", "/a/b", "mailto:a@b", "https://a:80/?x=y"],
            &["no uri", "", "a/b", "http://a:b/", "http://a/%zz"],
        ),
        ("byte", &["AAEC", "YQ=="], &["###", "A", "YQ"]),
        ("password", &["x", ""], &[]),
        (
            "mac",
            &["00:00:5e:00:53:01", "00-00-5e-00-53-01", "0000.5e00.5301"],
            &["x", "00:00", "00:00:5e:00:53:0g"],
        ),
        ("isbn10", &["0321751043", "0-321-75104-3"], &["0321751044", "x"]),
        ("isbn13", &["978-0321751041"], &["978-0321751042"]),
        ("isbn", &["0321751043", "978-0321751041"], &["1"]),
        (
            "creditcard",
            &["4111 1111 1111 1111"],
            &["4111 1111 1111 1112", "1"],
        ),
        ("ssn", &["111-22-3333"], &["11-222-3333"]),
        ("hexcolor", &["#FFFFFF", "abc"], &["#ggg"]),
        ("rgbcolor", &["rgb(255, 0,1)"], &["rgb(256,0,1)", "x"]),
        ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["x"]),
        (
            "quantity",
            &["10Gi", "1.5", "100m", "1e3", "-1"],
            &["x", "1.5.1", "1 Gi", ""],
        ),
    ];

    #[test]
    fn formats_are_checked() {
        for (format, good, bad) in CASES {
            assert!(is_known("string", format), "{format}");
            for text in good {
                assert!(matches(format, text), "{format}: {text}");
            }
            for text in bad {
                assert!(!matches(format, text), "{format}: {text}");
            }
        }
        assert!(matches("k8s-short-name", "a-b") && !matches("k8s-short-name", "a.b"));
        assert!(matches("k8s-long-name", "a.b") && !matches("k8s-long-name", "A.b"));
        assert!(
            matches("unknown", "anything") && !is_known("string", "unknown") && !is_known("object", "date")
        );
    }
}
