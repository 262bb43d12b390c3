//! `spec.conversion`. Fields are named as in the server's internal form, which flattens `webhook`.

use std::collections::HashSet;

use serde_json::Value;

use super::{Object, names};
use crate::schema::json::{is_set, items, object, text};
use crate::schema::path::Path;
use crate::status::Cause;

/// The versions of `ConversionReview` that the server speaks.
const SPOKEN: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn validate(spec: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let Some(conversion) = object(spec, "conversion") else {
        return;
    };
    let path = path.child("conversion");
    let strategy = text(conversion, "strategy");
    let webhook = object(conversion, "webhook");
    let client = webhook.and_then(|webhook| object(webhook, "clientConfig"));
    let versions = webhook.map_or(&[][..], |webhook| items(webhook, "conversionReviewVersions"));
    let (client_path, versions_path) = (
        path.child("webhookClientConfig"),
        path.child("conversionReviewVersions"),
    );
    if strategy == "Webhook" {
        if let Some(client) = client {
            validate_client(client, &client_path, causes);
        } else {
            let detail = "required when strategy is set to Webhook";
            causes.push(Cause::required(client_path.to_string(), detail));
        }
        validate_versions(versions, &versions_path, causes);
        return;
    }
    let field = path.child("strategy").to_string();
    match strategy {
        "None" => {}
        "" => causes.push(Cause::required(field, "")),
        other => causes.push(Cause::not_supported(
            field,
            &other.into(),
            "\"None\", \"Webhook\"",
        )),
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if client.is_some() {
        causes.push(Cause::forbidden(client_path.to_string(), detail));
    }
    if !versions.is_empty() {
        causes.push(Cause::forbidden(versions_path.to_string(), detail));
    }
}

fn validate_client(client: &Object, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let url = client.get("url").and_then(Value::as_str);
    let service = object(client, "service");
    match (url, service) {
        (Some(url), None) => {
            if !url.starts_with("https://") {
                let field = path.child("url").to_string();
                let detail = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
                causes.push(Cause::invalid(field, &url.into(), detail));
            }
        }
        (None, Some(service)) => {
            let path = path.child("service");
            for (key, detail) in [
                ("name", "service name is required"),
                ("namespace", "service namespace is required"),
            ] {
                if !is_set(service, key) {
                    causes.push(Cause::required(path.child(key).to_string(), detail));
                }
            }
            let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
            if !(1..=65535).contains(&port) {
                let detail = "port is not valid: must be between 1 and 65535, inclusive";
                causes.push(Cause::invalid(
                    path.child("port").to_string(),
                    &port.into(),
                    detail,
                ));
            }
        }
        _ => causes.push(Cause::required(
            path.to_string(),
            "exactly one of url or service is required",
        )),
    }
}

fn validate_versions(versions: &[Value], path: &Path<'_>, causes: &mut Vec<Cause>) {
    if versions.is_empty() {
        causes.push(Cause::required(path.to_string(), ""));
        return;
    }
    let mut seen = HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        if seen.insert(version.as_str().unwrap_or_default()) {
            names::required_label(version, &path.index(index), causes);
        } else {
            causes.push(Cause::invalid(
                path.index(index).to_string(),
                version,
                "duplicate version",
            ));
        }
    }
    if !SPOKEN.iter().any(|spoken| seen.contains(spoken)) {
        let detail = format!("must include at least one of {}", SPOKEN.join(", "));
        causes.push(Cause::invalid(
            path.to_string(),
            &versions.to_vec().into(),
            &detail,
        ));
    }
}
