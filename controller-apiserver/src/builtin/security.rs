//! Security contexts of Pods and containers, and what a Pod says of its host and its names.
//!
//! Source: API reference, `PodSecurityContext` and `SecurityContext`.

use std::net::IpAddr;

use serde_json::Value;

use super::spec::choices;
use crate::registry::names;
use crate::status::Cause;

/// What is wrong with what the spec of a Pod at `path` says of itself as a whole.
pub(super) fn validate(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let context = &spec["securityContext"];
    let field = format!("{path}.securityContext");
    ids(context, &["runAsUser", "runAsGroup", "fsGroup"], &field, causes);
    for (index, group) in context["supplementalGroups"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        id(group, &format!("{field}.supplementalGroups[{index}]"), causes);
    }
    choices(
        context,
        &[("fsGroupChangePolicy", &["Always", "OnRootMismatch"])],
        &field,
        causes,
    );
    seccomp(
        &context["seccompProfile"],
        &format!("{field}.seccompProfile"),
        causes,
    );
    for name in ["hostname", "subdomain"] {
        problems(spec, name, path, names::label, causes);
    }
    for name in ["serviceAccountName", "nodeName", "priorityClassName"] {
        problems(spec, name, path, names::subdomain, causes);
    }
    if spec["hostPID"] == true && spec["shareProcessNamespace"] == true {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        causes.push(Cause::invalid(
            format!("{path}.shareProcessNamespace"),
            &true.into(),
            detail,
        ));
    }
    if spec["dnsPolicy"] == "None"
        && spec["dnsConfig"]["nameservers"]
            .as_array()
            .is_none_or(Vec::is_empty)
    {
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        let field = if spec["dnsConfig"].is_null() {
            format!("{path}.dnsConfig")
        } else {
            format!("{path}.dnsConfig.nameservers")
        };
        causes.push(Cause::required(field, detail));
    }
    for (index, alias) in spec["hostAliases"].as_array().into_iter().flatten().enumerate() {
        let field = format!("{path}.hostAliases[{index}]");
        if alias["ip"]
            .as_str()
            .is_none_or(|text| text.parse::<IpAddr>().is_err())
        {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            causes.push(Cause::invalid(format!("{field}.ip"), &alias["ip"], detail));
        }
        for host in alias["hostnames"].as_array().into_iter().flatten() {
            for problem in names::subdomain(host.as_str().unwrap_or_default()) {
                causes.push(Cause::invalid(format!("{field}.hostnames"), host, &problem));
            }
        }
    }
}

/// What is wrong with the security context of a container at `path`.
pub(super) fn validate_container(context: &Value, path: &str, causes: &mut Vec<Cause>) {
    if !context.is_object() {
        return;
    }
    ids(context, &["runAsUser", "runAsGroup"], path, causes);
    seccomp(
        &context["seccompProfile"],
        &format!("{path}.seccompProfile"),
        causes,
    );
    choices(context, &[("procMount", &["Default", "Unmasked"])], path, causes);
    if context["allowPrivilegeEscalation"] == false {
        let added = context["capabilities"]["add"].as_array().into_iter().flatten();
        let detail = if context["privileged"] == true {
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        } else if added.into_iter().any(|capability| capability == "CAP_SYS_ADMIN") {
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        } else {
            return;
        };
        causes.push(Cause::invalid(path, context, detail));
    }
}

fn ids(context: &Value, fields: &[&str], path: &str, causes: &mut Vec<Cause>) {
    for field in fields {
        id(&context[*field], &format!("{path}.{field}"), causes);
    }
}

fn id(value: &Value, field: &str, causes: &mut Vec<Cause>) {
    if value
        .as_i64()
        .is_some_and(|id| !(0..=i64::from(i32::MAX)).contains(&id))
    {
        let detail = "must be between 0 and 2147483647, inclusive";
        causes.push(Cause::invalid(field, value, detail));
    }
}

fn seccomp(profile: &Value, path: &str, causes: &mut Vec<Cause>) {
    if !profile.is_object() {
        return;
    }
    let field = format!("{path}.localhostProfile");
    let local = &profile["localhostProfile"];
    match profile["type"].as_str().unwrap_or_default() {
        "Localhost" if local.is_null() => {
            causes.push(Cause::required(
                field,
                "must be set when seccomp type is Localhost",
            ));
        }
        "Localhost" => {}
        "RuntimeDefault" | "Unconfined" => {
            if !local.is_null() {
                let detail = "can only be set when seccomp type is Localhost";
                causes.push(Cause::invalid(field, local, detail));
            }
        }
        _ => causes.push(Cause::not_supported(
            format!("{path}.type"),
            &profile["type"],
            "\"Localhost\", \"RuntimeDefault\", \"Unconfined\"",
        )),
    }
}

fn problems(
    spec: &Value,
    name: &str,
    path: &str,
    rule: impl Fn(&str) -> Vec<String>,
    causes: &mut Vec<Cause>,
) {
    if let Some(text) = spec[name].as_str().filter(|text| !text.is_empty()) {
        for problem in rule(text) {
            causes.push(Cause::invalid(format!("{path}.{name}"), &spec[name], &problem));
        }
    }
}
