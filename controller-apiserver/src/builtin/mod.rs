//! Built-in kinds: what admission and the strategy of each add, and what is refused.
//!
//! Pure functions over the JSON of an object. Source: the API reference of each kind (fields
//! "Defaults to …", "must be …"), and the recorded conversations of the topics `builtins` and
//! `subresources`, which pin it. What is not checked is listed in the README.

mod account;
mod batch;
mod cron;
mod ingress;
mod placement;
mod pod;
mod policy;
mod security;
mod service;
mod spec;
mod status;
mod update;
mod workload;

use serde_json::{Value, json};

pub(crate) use account::{account_of, admit, attach};
pub(crate) use batch::label_job;
pub(crate) use service::{Taken, agree, allocate, asks, keep};

pub(crate) use status::validate as validate_status;

use pod::quality;

use crate::codec::{typed, types};
use crate::registry::Resource;
use crate::status::Cause;

/// What is wrong with an object, besides its metadata.
pub(crate) fn validate(group: &str, plural: &str, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (group, plural) {
        ("", "pods") => match old {
            None => spec::validate(&new["spec"], "spec", &mut causes),
            Some(old) => update::validate(new, old, &mut causes),
        },
        ("", "services") => service::validate(new, old, &mut causes),
        ("", "persistentvolumeclaims") => policy::validate_claim(new, old, &mut causes),
        ("apps", _) => workload::validate(plural, new, old, &mut causes),
        ("batch", "jobs") => batch::validate_job(new, old, &mut causes),
        ("batch", "cronjobs") => batch::validate_cron_job(new, &mut causes),
        ("networking.k8s.io", "ingresses") => ingress::validate(new, &mut causes),
        ("policy", "poddisruptionbudgets") => policy::validate_budget(new, &mut causes),
        ("autoscaling", "horizontalpodautoscalers") => policy::validate_autoscaler(new, &mut causes),
        _ => {}
    }
    causes
}

/// The status a new object starts with: what its Go type writes when nothing is in it, and what the kind sets.
pub(crate) fn first_status(resource: &Resource, object: &Value) -> Value {
    let mut status = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => json!({"phase": "Pending", "qosClass": quality(object)}),
        _ => json!({}),
    };
    if let Some((types, ty)) = types::field(&resource.api_version(), &resource.kind, "status") {
        // An object of texts and numbers of ours always fits.
        typed::decode(&mut status, ty, types, &resource.kind).unwrap_or_default();
    }
    status
}

/// The value at a path of names.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, name| &value[name])
}

#[cfg(test)]
mod tests;
