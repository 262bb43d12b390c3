//! Durations for people: how long ago something was.

use jiff::Timestamp;
use serde_json::{Value, json};

/// How long ago an RFC 3339 time was: `3m20s`, `5d`. `<unknown>` without one.
pub(super) fn since(time: &Value, now: Timestamp) -> Value {
    let Some(text) = time.as_str() else {
        return json!("<unknown>");
    };
    match text.parse::<Timestamp>() {
        Ok(time) => json!(human(now.as_second() - time.as_second())),
        Err(_) => json!("<invalid>"),
    }
}

/// A number of seconds, in one or two units, the coarser the longer.
pub(super) fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |unit: i64, name: &str, rest: i64, rest_name: &str| match seconds % unit / rest {
        0 => format!("{}{name}", seconds / unit),
        more => format!("{}{name}{more}{rest_name}", seconds / unit),
    };
    match seconds {
        // Clocks of two machines may differ a little.
        ..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(MINUTE, "m", 1, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(HOUR, "h", MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(DAY, "d", HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(YEAR, "y", DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_times_are_coarser() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (3_600, "60m"),
            (11_000, "3h3m"),
            (100_000, "27h"),
            (200_000, "2d7h"),
            (1_000_000, "11d"),
            (70_000_000, "2y80d"),
            (300_000_000, "9y"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }

    #[test]
    fn times_that_are_none_are_told() {
        assert_eq!(since(&Value::Null, Timestamp::UNIX_EPOCH), "<unknown>");
        assert_eq!(since(&json!("yesterday"), Timestamp::UNIX_EPOCH), "<invalid>");
        let now: Timestamp = "2026-01-01T00:02:00Z".parse().unwrap();
        assert_eq!(since(&json!("2026-01-01T00:00:00Z"), now), "2m");
    }
}
