//! Jobs, and what starts them by the clock.

use serde_json::{Value, json};

use super::{
    AGE, NAME, Printer, Row, column, integer,
    row::{NONE, UNSET, condition, selector},
    text, wide,
};
use crate::table::age;

pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    match kind {
        "Job" => Some(&JOB),
        "CronJob" => Some(&CRON_JOB),
        _ => None,
    }
}

static JOB: Printer = Printer {
    columns: &[
        NAME,
        text("Status"),
        text("Completions"),
        text("Duration"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells: |row| {
        let [names, images] = row.containers("spec.template.spec.containers");
        vec![
            row.name(),
            json!(status(row)),
            json!(completions(row)),
            json!(duration(row)),
            row.age(),
            names,
            images,
            json!(selector(row.at("spec.selector"))),
        ]
    },
};

fn status(row: &Row<'_>) -> &'static str {
    let has = |kind: &str| condition(row.at("status.conditions"), kind) == "True";
    if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if !row.at("metadata.deletionTimestamp").is_null() {
        "Terminating"
    } else if has("Suspended") {
        "Suspended"
    } else if has("FailureTarget") {
        "FailureTarget"
    } else if has("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn completions(row: &Row<'_>) -> String {
    let done = row.number("status.succeeded");
    match (
        row.at("spec.completions").as_i64(),
        row.number("spec.parallelism"),
    ) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}"),
        (None, _) => format!("{done}/1"),
    }
}

fn duration(row: &Row<'_>) -> String {
    let time = |path: &str| row.str(path).parse::<jiff::Timestamp>().ok();
    let Some(start) = time("status.startTime") else {
        return String::new();
    };
    let end = time("status.completionTime").unwrap_or(row.now);
    age::human(end.as_second() - start.as_second())
}

static CRON_JOB: Printer = Printer {
    columns: &[
        NAME,
        text("Schedule"),
        text("Timezone"),
        column("Suspend", "boolean", "", 0),
        integer("Active"),
        text("Last Schedule"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    cells: |row| {
        let suspend = match row.at("spec.suspend") {
            Value::Bool(true) => "True",
            Value::Bool(false) => "False",
            _ => UNSET,
        };
        let last = match row.at("status.lastScheduleTime") {
            Value::Null => json!(NONE),
            time => age::since(time, row.now),
        };
        let [names, images] = row.containers("spec.jobTemplate.spec.template.spec.containers");
        vec![
            row.name(),
            row.text("spec.schedule"),
            row.text_or("spec.timeZone", NONE),
            json!(suspend),
            json!(row.count("status.active")),
            last,
            row.age(),
            names,
            images,
            json!(selector(row.at("spec.jobTemplate.spec.selector"))),
        ]
    },
};
