//! `Job`s and `CronJob`s.
//!
//! Source: API reference, group `batch`; documentation, "Jobs", "Cron Jobs".

use serde_json::{Map, Value, json};

use super::workload::{matches, not_negative};
use super::{at, cron, spec};
use crate::object::{meta_mut, meta_str};
use crate::status::Cause;

const UID_LABEL: &str = "batch.kubernetes.io/controller-uid";

/// Gives a new Job the labels and the selector by which it finds its Pods.
pub(crate) fn label_job(job: &mut Value) {
    if at(job, "spec.manualSelector") == true {
        return;
    }
    let uid = meta_str(job, "uid").to_owned();
    let name = meta_str(job, "name").to_owned();
    let Some(spec) = job.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    let matched = at_object(spec, &["selector", "matchLabels"]);
    matched.entry(UID_LABEL).or_insert_with(|| json!(uid));
    let labels = at_object(spec, &["template", "metadata", "labels"]);
    label(labels, &uid, &name);
    let labels = meta_mut(job).entry("labels").or_insert_with(|| json!({}));
    if let Some(labels) = labels.as_object_mut() {
        label(labels, &uid, &name);
    }
}

fn label(labels: &mut Map<String, Value>, uid: &str, name: &str) {
    let wanted = [
        ("controller-uid", uid),
        (UID_LABEL, uid),
        ("job-name", name),
        ("batch.kubernetes.io/job-name", name),
    ];
    for (key, value) in wanted {
        labels.entry(key).or_insert_with(|| value.into());
    }
}

/// The object at a path, made if it is not there.
fn at_object<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut map = object(value);
    for name in path {
        map = object(map.entry(*name).or_insert(Value::Null));
    }
    map
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made one"),
    }
}

/// What is wrong with a Job.
pub(super) fn validate_job(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = &new["spec"];
    if let Some(old) = old {
        for field in [
            "completions",
            "selector",
            "template",
            "completionMode",
            "podFailurePolicy",
        ] {
            let path = format!("spec.{field}");
            if may_change(field, old) || spec[field] == old["spec"][field] {
                continue;
            }
            causes.push(Cause::invalid(path, &spec[field], "field is immutable"));
        }
    } else {
        selector(spec, causes);
    }
    job_spec(spec, "spec", causes);
}

/// The completions of an indexed Job may follow its parallelism.
fn may_change(field: &str, old: &Value) -> bool {
    field == "completions" && at(old, "spec.completionMode") == "Indexed"
}

fn selector(spec: &Value, causes: &mut Vec<Cause>) {
    let chosen = spec["selector"]["matchLabels"].as_object();
    let generated = chosen.is_some_and(|labels| labels.len() == 1 && labels.contains_key(UID_LABEL));
    if spec["manualSelector"] != true && !generated {
        let detail = "`selector` not auto-generated";
        causes.push(Cause::invalid("spec.selector", &spec["selector"], detail));
    }
    let labels = at(spec, "template.metadata.labels");
    if !matches(&spec["selector"], labels) {
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, detail));
    }
}

fn job_spec(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let numbers = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    for field in numbers {
        not_negative(&spec[field], &format!("{path}.{field}"), causes);
    }
    if spec["completionMode"] == "Indexed" && spec["completions"].is_null() {
        let detail = "when completion mode is Indexed";
        causes.push(Cause::required(format!("{path}.completions"), detail));
    }
    let pod = at(spec, "template.spec");
    let path = format!("{path}.template.spec");
    spec::validate(pod, &path, causes);
    if pod["restartPolicy"]
        .as_str()
        .is_none_or(|policy| policy == "Always")
    {
        let detail = "valid values: \"OnFailure\", \"Never\"";
        causes.push(Cause::required(format!("{path}.restartPolicy"), detail));
    }
}

/// What is wrong with a CronJob.
pub(super) fn validate_cron_job(new: &Value, causes: &mut Vec<Cause>) {
    let name = meta_str(new, "name");
    if name.len() > 52 {
        let detail = "must be no more than 52 characters";
        causes.push(Cause::invalid("metadata.name", &name.into(), detail));
    }
    let spec = &new["spec"];
    let schedule = spec["schedule"].as_str().unwrap_or_default();
    if schedule.is_empty() {
        causes.push(Cause::required("spec.schedule", ""));
    } else if let Err(why) = cron::check(schedule) {
        causes.push(Cause::invalid("spec.schedule", &spec["schedule"], &why));
    }
    if let Some(zone) = spec["timeZone"].as_str() {
        zone_exists(zone, causes);
    }
    for field in [
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ] {
        not_negative(&spec[field], &format!("spec.{field}"), causes);
    }
    spec::choices(
        spec,
        &[("concurrencyPolicy", &["Allow", "Forbid", "Replace"])],
        "spec",
        causes,
    );
    job_spec(at(spec, "jobTemplate.spec"), "spec.jobTemplate.spec", causes);
}

fn zone_exists(zone: &str, causes: &mut Vec<Cause>) {
    let detail = if zone.is_empty() {
        "timeZone must be nil or non-empty string".to_owned()
    } else if zone.eq_ignore_ascii_case("local") {
        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned()
    } else if jiff::tz::TimeZone::get(zone).is_err() {
        format!("unknown time zone {zone}")
    } else {
        return;
    };
    causes.push(Cause::invalid("spec.timeZone", &zone.into(), &detail));
}
