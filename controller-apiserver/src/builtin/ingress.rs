//! Ingresses: what is refused.
//!
//! Source: API reference, group `networking.k8s.io`.

use std::net::IpAddr;

use serde_json::Value;

use super::spec::port_number;
use crate::registry::names;
use crate::status::Cause;

/// What is wrong with an Ingress.
pub(super) fn validate(ingress: &Value, causes: &mut Vec<Cause>) {
    let spec = &ingress["spec"];
    let rules = spec["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    if rules.is_empty() && spec["defaultBackend"].is_null() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        causes.push(Cause::invalid("spec", spec, detail));
    }
    if spec["defaultBackend"].is_object() {
        backend(&spec["defaultBackend"], "spec.defaultBackend", causes);
    }
    for (index, rule) in rules.iter().enumerate() {
        let field = format!("spec.rules[{index}]");
        host(&rule["host"], &format!("{field}.host"), causes);
        if rule["http"].is_object() {
            paths(&rule["http"]["paths"], &format!("{field}.http.paths"), causes);
        }
    }
    for (index, tls) in spec["tls"].as_array().into_iter().flatten().enumerate() {
        for (at, name) in tls["hosts"].as_array().into_iter().flatten().enumerate() {
            host(name, &format!("spec.tls[{index}].hosts[{at}]"), causes);
        }
    }
}

fn host(host: &Value, field: &str, causes: &mut Vec<Cause>) {
    let text = host.as_str().unwrap_or_default();
    if text.is_empty() {
        return;
    }
    if text.parse::<IpAddr>().is_ok() {
        causes.push(Cause::invalid(
            field,
            host,
            "must be a DNS name, not an IP address",
        ));
        return;
    }
    for problem in names::subdomain(text.strip_prefix("*.").unwrap_or(text)) {
        causes.push(Cause::invalid(field, host, &problem));
    }
}

fn paths(paths: &Value, field: &str, causes: &mut Vec<Cause>) {
    let paths = paths.as_array().map(Vec::as_slice).unwrap_or_default();
    if paths.is_empty() {
        causes.push(Cause::required(field, ""));
    }
    for (index, path) in paths.iter().enumerate() {
        let field = format!("{field}[{index}]");
        let text = path["path"].as_str().unwrap_or_default();
        let problem = match path["pathType"].as_str() {
            None => {
                causes.push(Cause::required(
                    format!("{field}.pathType"),
                    "pathType must be specified",
                ));
                None
            }
            Some("ImplementationSpecific") if text.is_empty() => None,
            Some("ImplementationSpecific") => absolute(text),
            Some("Exact" | "Prefix") => absolute(text).or_else(|| plain(text)),
            Some(_) => {
                let known = r#""Exact", "ImplementationSpecific", "Prefix""#;
                causes.push(Cause::not_supported(
                    format!("{field}.pathType"),
                    &path["pathType"],
                    known,
                ));
                None
            }
        };
        if let Some(problem) = problem {
            causes.push(Cause::invalid(format!("{field}.path"), &text.into(), &problem));
        }
        backend(&path["backend"], &format!("{field}.backend"), causes);
    }
}

fn absolute(path: &str) -> Option<String> {
    (!path.starts_with('/')).then(|| "must be an absolute path".to_owned())
}

/// Paths are compared by their elements, so each has only one spelling.
fn plain(path: &str) -> Option<String> {
    let within = ["//", "/./", "/../", "%2f", "%2F"]
        .iter()
        .find(|part| path.contains(**part));
    let behind = ["/..", "/."].iter().find(|part| path.ends_with(**part));
    within
        .map(|part| format!("must not contain '{part}'"))
        .or_else(|| behind.map(|part| format!("cannot end with '{part}'")))
}

fn backend(backend: &Value, field: &str, causes: &mut Vec<Cause>) {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    match (service.is_object(), resource.is_object()) {
        (true, true) => {
            let detail = "cannot set both resource and service backends";
            causes.push(Cause::invalid(field, &"".into(), detail));
        }
        (true, false) => target(service, &format!("{field}.service"), causes),
        (false, true) => {
            for part in ["kind", "name"] {
                if resource[part].as_str().unwrap_or_default().is_empty() {
                    causes.push(Cause::required(format!("{field}.resource.{part}"), ""));
                }
            }
        }
        (false, false) => {
            causes.push(Cause::required(field, "resource or service backend is required"));
        }
    }
}

fn target(service: &Value, field: &str, causes: &mut Vec<Cause>) {
    let name = service["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        causes.push(Cause::required(format!("{field}.name"), ""));
    } else {
        for problem in names::label_1035(name) {
            causes.push(Cause::invalid(format!("{field}.name"), &name.into(), &problem));
        }
    }
    let port = &service["port"];
    let number = port["number"].as_i64().filter(|number| *number != 0);
    let named = port["name"].as_str().is_some_and(|name| !name.is_empty());
    match (number, named) {
        (Some(_), true) => {
            let detail = "cannot set both port name & port number";
            causes.push(Cause::invalid(format!("{field}.port"), &"".into(), detail));
        }
        (Some(number), false) => port_number(number, &format!("{field}.port.number"), causes),
        (None, true) => {}
        (None, false) => {
            let detail = "port name or number is required";
            causes.push(Cause::required(format!("{field}.port"), detail));
        }
    }
}
