//! Rules of real definitions, broken in real samples: by hand, so that what breaks a rule is known
//! without evaluating it.

use serde_json::{Value, json};

/// A sample that breaks a rule, and the cause that must be told.
pub(super) struct BrokenRule {
    pub(super) object: Value,
    pub(super) field: String,
    pub(super) message: String,
}

/// A value that breaks a rule: what is added to the field, and what the rule says.
type Break = (&'static str, Value, String);

/// Each rule that can be broken in a sample, once.
pub(super) fn broken_rules(sample: &Value) -> Vec<BrokenRule> {
    let mut found = Vec::new();
    let kind = sample["kind"].as_str().unwrap_or_default();
    let mut places = vec![("/spec".to_owned(), "spec".to_owned(), "spec".to_owned())];
    while let Some((pointer, field, shape)) = places.pop() {
        let value = sample.pointer(&pointer).expect("a place");
        for (more, new, message) in breaks(kind, &shape, value) {
            let known = |other: &BrokenRule| other.message == message;
            if !found.iter().any(known) {
                let mut object = sample.clone();
                *object.pointer_mut(&pointer).expect("a place") = new;
                let field = format!("{field}{more}");
                found.push(BrokenRule {
                    object,
                    field,
                    message,
                });
            }
        }
        for (name, _) in value.as_object().into_iter().flatten() {
            if !name.contains(['/', '~']) {
                let below = |path: &str| format!("{path}.{name}");
                places.push((format!("{pointer}/{name}"), below(&field), below(&shape)));
            }
        }
        for index in 0..value.as_array().map_or(0, Vec::len) {
            places.push((
                format!("{pointer}/{index}"),
                format!("{field}[{index}]"),
                format!("{shape}[]"),
            ));
        }
    }
    found
}

/// How the rules of a place can be broken there.
fn breaks(kind: &str, shape: &str, value: &Value) -> Vec<Break> {
    match shape {
        "spec" if kind == "Gateway" => vec![(
            ".infrastructure.labels",
            with(value, "infrastructure", json!({"labels": {"not so!": "x"}})),
            "Label keys must be in the form of".to_owned(),
        )],
        "spec.listeners" => listeners(value),
        "spec.listeners[].tls" if value["mode"] != "Passthrough" => {
            let bare = without(&without(value, "certificateRefs"), "options");
            vec![here(
                bare,
                "certificateRefs or options must be specified when mode is Terminate",
            )]
        }
        "spec.addresses" => vec![here(twice(value), "values must be unique")],
        "spec.parentRefs" => references(value, "parentRefs", "parent"),
        "spec.targetRefs" => references(value, "targetRefs", "target"),
        "spec.hostnames" if kind == "TLSRoute" => {
            vec![here(json!(["1.2.3.4"]), "Hostnames cannot contain an IP")]
        }
        "spec.validation" if kind == "BackendTLSPolicy" => policy(value),
        "spec.rules[]" if kind == "HTTPRoute" => rule(value),
        "spec.rules[].timeouts" => vec![here(
            json!({"request": "1s", "backendRequest": "2s"}),
            "backendRequest timeout cannot be longer than request timeout",
        )],
        "spec.rules[].matches[].path" => path(value),
        "spec.rules[].matches[].method" if value.is_object() => method(value),
        _ if shape.ends_with(".backendRefs[]") || shape.ends_with(".backendRef") => backend(value),
        _ if shape.ends_with(".filters") => repeated(value),
        _ if shape.ends_with(".filters[]") => filter(value),
        _ if shape.ends_with(".urlRewrite.path") || shape.ends_with(".requestRedirect.path") => {
            replacement(value)
        }
        _ if shape.ends_with(".requestMirror") => mirror(value),
        _ if shape.contains(".cors.allow") => any_alongside(shape, value),
        _ => Vec::new(),
    }
}

fn here(value: Value, message: &str) -> Break {
    ("", value, message.to_owned())
}

fn with(value: &Value, name: &str, new: Value) -> Value {
    let mut value = value.clone();
    value[name] = new;
    value
}

fn without(value: &Value, name: &str) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        members.remove(name);
    }
    value
}

fn and(list: &Value, item: Value) -> Value {
    let mut list = list.clone();
    list.as_array_mut().expect("a list").push(item);
    list
}

fn twice(list: &Value) -> Value {
    and(list, list[0].clone())
}

fn listeners(list: &Value) -> Vec<Break> {
    let twin = with(&list[0], "name", json!("twin"));
    let mut all = vec![here(
        and(list, twin),
        "Combination of port, protocol and hostname must be unique for each listener",
    )];
    if list[0]["protocol"] == "HTTP" {
        let mut secret = list.clone();
        secret[0]["tls"] = json!({"mode": "Passthrough"});
        all.push(here(
            secret,
            "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
        ));
    }
    all
}

fn references(list: &Value, name: &str, what: &str) -> Vec<Break> {
    let text = |must: &str| {
        format!("sectionName must be {must} when {name} includes 2 or more references to the same {what}")
    };
    let other = match list[0].get("sectionName") {
        Some(_) => without(&list[0], "sectionName"),
        None => with(&list[0], "sectionName", json!("x")),
    };
    vec![
        ("", twice(list), text("unique")),
        ("", and(list, other), text("specified")),
    ]
}

fn policy(validation: &Value) -> Vec<Break> {
    let neither = without(
        &without(validation, "caCertificateRefs"),
        "wellKnownCACertificates",
    );
    let refs = json!([{"group": "", "kind": "ConfigMap", "name": "x"}]);
    let both = with(
        &with(&neither, "caCertificateRefs", refs),
        "wellKnownCACertificates",
        json!("System"),
    );
    let named = |name: Value| with(validation, "subjectAltNames", json!([name]));
    let name = ".subjectAltNames[0]";
    let text = |text: &str| format!("SubjectAltName element must {text}");
    vec![
        here(
            neither,
            "must specify either CACertificateRefs or WellKnownCACertificates",
        ),
        here(
            both,
            "must not contain both CACertificateRefs and WellKnownCACertificates",
        ),
        (
            name,
            named(json!({"type": "Hostname"})),
            text("contain Hostname, if Type is set to Hostname"),
        ),
        (
            name,
            named(json!({"type": "URI", "uri": "spiffe://a/b", "hostname": "a.b"})),
            text("not contain Hostname, if Type is not set to Hostname"),
        ),
    ]
}

fn rule(rule: &Value) -> Vec<Break> {
    if rule.get("backendRefs").is_none() || rule.get("filters").is_some() {
        return Vec::new();
    }
    let redirect = json!([{"type": "RequestRedirect", "requestRedirect": {"hostname": "x.example"}}]);
    vec![here(
        with(rule, "filters", redirect),
        "RequestRedirect filter must not be used together with backendRefs",
    )]
}

fn path(path: &Value) -> Vec<Break> {
    if path["type"] == "RegularExpression" {
        return Vec::new();
    }
    [
        (
            "a",
            "value must be an absolute path and start with '/' when type one of",
        ),
        ("/a//b", "must not contain '//' when type one of"),
        ("/a/./b", "must not contain '/./' when type one of"),
        ("/a/../b", "must not contain '/../' when type one of"),
        ("/a%2fb", "must not contain '%2f' when type one of"),
        ("/a%2Fb", "must not contain '%2F' when type one of"),
        ("/a#b", "must not contain '#' when type one of"),
        ("/a/..", "must not end with '/..' when type one of"),
        ("/a/.", "must not end with '/.' when type one of"),
        ("/a b", "must only contain valid characters (matching"),
    ]
    .map(|(value, message)| here(with(path, "value", json!(value)), message))
    .into()
}

fn method(method: &Value) -> Vec<Break> {
    if method["type"] == "RegularExpression" {
        return Vec::new();
    }
    vec![
        here(
            json!({"type": "Exact"}),
            "One or both of 'service' or 'method' must be specified",
        ),
        here(
            with(method, "service", json!("not so")),
            "service must only contain valid characters",
        ),
        here(
            with(method, "method", json!("1st")),
            "method must only contain valid characters",
        ),
    ]
}

fn backend(backend: &Value) -> Vec<Break> {
    let is_service = backend.get("kind").is_none_or(|kind| kind == "Service");
    if !is_service || backend.get("port").is_none() {
        return Vec::new();
    }
    vec![here(
        without(backend, "port"),
        "Must have port for Service reference",
    )]
}

/// Types of filters, and their members.
const FILTERS: [(&str, &str); 7] = [
    ("CORS", "cors"),
    ("ExtensionRef", "extensionRef"),
    ("RequestHeaderModifier", "requestHeaderModifier"),
    ("RequestMirror", "requestMirror"),
    ("RequestRedirect", "requestRedirect"),
    ("ResponseHeaderModifier", "responseHeaderModifier"),
    ("URLRewrite", "urlRewrite"),
];

fn filter(filter: &Value) -> Vec<Break> {
    let Some((name, member)) = FILTERS.iter().find(|(name, _)| filter["type"] == *name) else {
        return Vec::new();
    };
    let more = with(
        filter,
        "extensionRef",
        json!({"group": "x.io", "kind": "X", "name": "x"}),
    );
    let mut all = vec![(
        "",
        without(filter, member),
        format!("filter.{member} must be specified for {name} filter.type"),
    )];
    if *name != "ExtensionRef" {
        all.push(here(
            more,
            "filter.extensionRef must be nil if the filter.type is not ExtensionRef",
        ));
    }
    all
}

fn repeated(filters: &Value) -> Vec<Break> {
    match filters[0]["type"].as_str() {
        None | Some("RequestMirror" | "ExtensionRef") => Vec::new(),
        Some(name) => vec![("", twice(filters), format!("{name} filter cannot be repeated"))],
    }
}

fn replacement(path: &Value) -> Vec<Break> {
    let (this, of_this, other, of_other) = if path["type"] == "ReplaceFullPath" {
        (
            "ReplaceFullPath",
            "replaceFullPath",
            "ReplacePrefixMatch",
            "replacePrefixMatch",
        )
    } else {
        (
            "ReplacePrefixMatch",
            "replacePrefixMatch",
            "ReplaceFullPath",
            "replaceFullPath",
        )
    };
    vec![
        (
            "",
            without(path, of_this),
            format!("{of_this} must be specified when type is set to '{this}'"),
        ),
        (
            "",
            with(path, of_other, json!("/x")),
            format!("type must be '{other}' when {of_other} is set"),
        ),
    ]
}

fn mirror(mirror: &Value) -> Vec<Break> {
    let both = with(
        &with(mirror, "percent", json!(1)),
        "fraction",
        json!({"numerator": 1}),
    );
    let more = with(
        &without(mirror, "percent"),
        "fraction",
        json!({"numerator": 5, "denominator": 2}),
    );
    vec![
        here(both, "Only one of percent or fraction may be specified"),
        (
            ".fraction",
            more,
            "numerator must be less than or equal to denominator".to_owned(),
        ),
    ]
}

fn any_alongside(shape: &str, list: &Value) -> Vec<Break> {
    let name = shape.rsplit('.').next().unwrap_or_default();
    let Some(items) = list.as_array().filter(|_| name != "allowCredentials") else {
        return Vec::new();
    };
    if items.is_empty() || items.iter().any(|item| item == "*") {
        return Vec::new();
    }
    let name = name.replacen('a', "A", 1);
    vec![(
        "",
        and(list, json!("*")),
        format!("{name} cannot contain '*' alongside other"),
    )]
}
