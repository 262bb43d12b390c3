//! Scalars with a form of their own: times and quantities.
//!
//! Sources: `metav1.Time`, `metav1.MicroTime` (API conventions, "Primitive types") and the canonical
//! form of `resource.Quantity` ("Quantity" in the API reference).

use jiff::Timestamp;
use jiff::fmt::strtime;

/// RFC 3339 with any fraction; the fraction is dropped.
pub(crate) fn time(text: &str) -> Option<String> {
    let time = rfc3339(text)?;
    Some(crate::clock::seconds(time))
}

/// RFC 3339 with exactly six decimals, in any zone.
pub(crate) fn micro_time(text: &str) -> Option<String> {
    let (_, fraction) = text.split_once('.')?;
    let decimals = fraction.bytes().take_while(u8::is_ascii_digit).count();
    if decimals != 6 {
        return None;
    }
    Some(micro(rfc3339(text)?))
}

/// A time with six decimals.
pub(crate) fn micro(time: Timestamp) -> String {
    strtime::format("%Y-%m-%dT%H:%M:%S.%6fZ", &time.to_zoned(jiff::tz::TimeZone::UTC)).unwrap_or_default()
}

fn rfc3339(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 20
        && bytes[10] == b'T'
        && bytes[4] == b'-'
        && (text.ends_with('Z') || matches!(bytes[bytes.len() - 6], b'+' | b'-'));
    if !shaped {
        return None;
    }
    text.parse().ok()
}

/// A quantity in canonical form: the largest suffix without a fraction, rounded up to nano.
pub(crate) fn quantity(text: &str) -> Option<String> {
    let number = Number::parse(text)?;
    Some(number.canonical())
}

/// A quantity rounded up to thousandths, in canonical form.
pub(crate) fn milli(text: &str) -> Option<String> {
    const STEP: u128 = 1_000_000;
    let mut number = Number::parse(text)?;
    number.nanos = number.nanos.div_ceil(STEP).checked_mul(STEP)?;
    Some(number.canonical())
}

/// A quantity as a number of nanos.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    let number = Number::parse(text)?;
    let nanos = i128::try_from(number.nanos).ok()?;
    Some(if number.negative { -nanos } else { nanos })
}

/// The suffix family a quantity was written in, and is written back in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Binary,
    Decimal,
    Exponent,
}

/// `nanos` / 10^9, in a family.
struct Number {
    negative: bool,
    nanos: u128,
    family: Family,
}

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const NANO: u128 = 1_000_000_000;

impl Number {
    fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (digits, suffix) = unsigned.split_at(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let (family, exponent, binary) = Self::suffix(suffix)?;
        let fraction = fraction.trim_end_matches('0');
        let mantissa: u128 = format!("0{whole}{fraction}").parse().ok()?;
        let scale = 9 + exponent - i32::try_from(fraction.len()).ok()?;
        let mut nanos = mantissa.checked_mul(1 << (10 * binary))?;
        if scale >= 0 {
            nanos = nanos.checked_mul(10u128.checked_pow(scale.unsigned_abs())?)?;
        } else {
            nanos = nanos.div_ceil(10u128.checked_pow(scale.unsigned_abs())?);
        }
        Some(Self {
            negative: text.starts_with('-'),
            nanos,
            family,
        })
    }

    /// The family, the power of ten, and the power of 1024.
    fn suffix(suffix: &str) -> Option<(Family, i32, u32)> {
        if let Some((_, exponent)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
            return Some((Family::Decimal, *exponent, 0));
        }
        if let Some(power) = BINARY.iter().position(|s| *s == suffix) {
            return Some((Family::Binary, 0, u32::try_from(power).ok()? + 1));
        }
        let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
        (exponent.abs() <= 18).then_some((Family::Exponent, exponent, 0))
    }

    fn canonical(&self) -> String {
        let sign = if self.negative && self.nanos > 0 { "-" } else { "" };
        if self.nanos == 0 {
            return "0".to_owned();
        }
        if self.family == Family::Binary && self.nanos.is_multiple_of(NANO) && self.nanos / NANO >= 1024 {
            let mut whole = self.nanos / NANO;
            let mut power = 0;
            while whole.is_multiple_of(1024) && power < BINARY.len() {
                whole /= 1024;
                power += 1;
            }
            let suffix = if power == 0 { "" } else { BINARY[power - 1] };
            return format!("{sign}{whole}{suffix}");
        }
        let mut step = 0;
        let mut value = self.nanos;
        while value.is_multiple_of(1000) && step < DECIMAL.len() - 1 {
            value /= 1000;
            step += 1;
        }
        let (suffix, exponent) = DECIMAL[step];
        if self.family == Family::Exponent {
            return format!("{sign}{value}e{exponent}");
        }
        format!("{sign}{value}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_take_their_canonical_form() {
        for (text, canonical) in [
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1e9", "1e9"),
            ("100u", "100u"),
            ("0.5Ki", "512"),
            ("1000m", "1"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("0", "0"),
            ("-1.5", "-1500m"),
            ("100", "100"),
            ("1000", "1k"),
            ("0.1n", "1n"),
            ("12e6", "12e6"),
            ("1e0", "1e0"),
        ] {
            assert_eq!(quantity(text).as_deref(), Some(canonical), "{text}");
        }
        for text in ["", ".", "1.2.3", "x", "1Xi", "1e999", "1 Gi"] {
            assert_eq!(quantity(text), None, "{text}");
        }
    }

    #[test]
    fn micro_times_have_six_decimals() {
        assert_eq!(
            micro_time("2026-01-02T03:04:05.123456+01:00").as_deref(),
            Some("2026-01-02T02:04:05.123456Z")
        );
        for text in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.123Z",
            "2026-01-02T03:04:05.123456789Z",
            "yesterday",
        ] {
            assert_eq!(micro_time(text), None, "{text}");
        }
    }

    #[test]
    fn times_drop_their_fraction() {
        assert_eq!(
            time("2026-01-02T03:04:05.999Z").as_deref(),
            Some("2026-01-02T03:04:05Z")
        );
        assert_eq!(
            time("2026-01-02T03:04:05+02:00").as_deref(),
            Some("2026-01-02T01:04:05Z")
        );
        for text in ["2026-01-02", "2026-01-02 03:04:05Z", "", "2026-01-02T03:04:05"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
