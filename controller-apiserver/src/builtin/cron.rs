//! The schedules of `CronJob`s: five fields, or a name.
//!
//! Source: documentation, "Cron Jobs", "Schedule syntax".

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const NAMED: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// A field: its least and greatest number, and the names of numbers from the least on.
type Field = (u32, u32, &'static [&'static str]);

const FIELDS: [Field; 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &MONTHS),
    (0, 6, &DAYS),
];

/// Says what is wrong with a schedule.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        return Err("cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned());
    }
    if schedule.starts_with('@') {
        return named(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let found = fields.len();
        return Err(format!(
            "expected exactly 5 fields, found {found}: [{}]",
            fields.join(" ")
        ));
    }
    let mut pairs = fields.iter().zip(&FIELDS);
    pairs.try_for_each(|(text, field)| text.split(',').try_for_each(|range| check_range(range, field)))
}

fn named(schedule: &str) -> Result<(), String> {
    let every = schedule.strip_prefix("@every ").is_some_and(is_duration);
    if every || NAMED.contains(&schedule) {
        return Ok(());
    }
    Err(format!("unrecognized descriptor: {schedule}"))
}

/// A Go duration: numbers with units.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let units = ["ns", "us", "ms", "s", "m", "h"];
        let Some(unit) = units.iter().find(|unit| rest[number..].starts_with(**unit)) else {
            return false;
        };
        if number == 0 {
            return false;
        }
        rest = &rest[number + unit.len()..];
    }
    !text.is_empty()
}

fn check_range(text: &str, field: &Field) -> Result<(), String> {
    let (least, greatest, names) = *field;
    let number = |part: &str| -> Result<u32, String> {
        let known = names
            .iter()
            .zip(least..)
            .find(|(name, _)| part.eq_ignore_ascii_case(name));
        match known {
            Some((_, number)) => Ok(number),
            None => part
                .parse()
                .map_err(|_| format!("failed to parse int from {part}")),
        }
    };
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (text, None),
    };
    let (from, to) = match range.split_once('-') {
        _ if range == "*" || range == "?" => (least, greatest),
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(range)?, number(range)?),
    };
    if step.is_some_and(|step| step.parse::<u32>().unwrap_or_default() == 0) {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    if from < least {
        return Err(format!(
            "beginning of range ({from}) below minimum ({least}): {text}"
        ));
    }
    if to > greatest {
        return Err(format!("end of range ({to}) above maximum ({greatest}): {text}"));
    }
    if from > to {
        return Err(format!(
            "beginning of range ({from}) beyond end of range ({to}): {text}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_are_five_fields_or_a_name() {
        let good = [
            "*/5 * * * *",
            "0 0,12 1 */2 MON-FRI",
            "? 1-3/2 * jan sun",
            "@daily",
            "@every 1h30m",
            "0 0 31 12 6",
        ];
        for schedule in good {
            assert_eq!(check(schedule), Ok(()), "{schedule}");
        }
        let bad = [
            "often",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "5-1 * * * *",
            "*/0 * * * *",
            "x * * * *",
            "@often",
            "@every x",
            "TZ=UTC * * * * *",
            "* * * * * *",
            "@every ",
        ];
        for schedule in bad {
            assert!(check(schedule).is_err(), "{schedule}");
        }
    }
}
