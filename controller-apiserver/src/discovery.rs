//! Discovery: which groups, versions and resources there are.
//!
//! Sources: "API Discovery" in the API concepts documentation, KEP-3352 (aggregated discovery).

use std::hash::{Hash as _, Hasher as _};

use http::{HeaderMap, Method, Response, header};
use serde_json::{Value, json};

use crate::codec::accept::Clause;
use crate::registry::{Registry, Resource, Subresource, api_version};
use crate::server::Body;
use crate::server::answer;
use crate::server::route::Discovery;
use crate::status::ApiError;
use crate::storage::encode;

const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// `/version`.
pub(crate) fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.2", "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "none", "compiler": "rustc", "platform": "linux/amd64",
    })
}

/// Answers a request for discovery.
pub(crate) fn answer(
    registry: &Registry,
    wanted: &Discovery,
    method: &Method,
    headers: &HeaderMap,
) -> Response<Body> {
    if *method != Method::GET {
        return answer::refusal(
            &ApiError::method_not_allowed(),
            crate::codec::accept::Media::Json,
            &[],
        );
    }
    match wanted {
        Discovery::CoreVersions | Discovery::Groups => {
            let core = *wanted == Discovery::CoreVersions;
            match negotiate(headers) {
                Ok(true) => aggregated(registry, core, headers),
                Ok(false) if core => answer::json(200, &core_versions()),
                Ok(false) => answer::json(200, &groups(registry)),
                Err(error) => answer::refusal(&error, crate::codec::accept::Media::Json, &[]),
            }
        }
        Discovery::Group(group) => {
            let mut value = group_value(registry, group);
            value["kind"] = "APIGroup".into();
            value["apiVersion"] = "v1".into();
            answer::json(200, &value)
        }
        Discovery::Resources { group, version } => answer::json(200, &resources(registry, group, version)),
    }
}

/// Whether the client wants aggregated discovery.
fn negotiate(headers: &HeaderMap) -> Result<bool, ApiError> {
    let header = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("*/*");
    header
        .split(',')
        .map(Clause::parse)
        .find_map(|clause| {
            clause.media()?;
            match (
                clause.parameter("as"),
                clause.parameter("g"),
                clause.parameter("v"),
            ) {
                (None, ..) => Some(false),
                (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => Some(true),
                _ => None,
            }
        })
        .ok_or_else(|| ApiError::only_media_types(ACCEPTED))
}

fn core_versions() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}],
    })
}

/// The groups other than the core group: built-in ones first.
fn group_names(registry: &Registry) -> Vec<String> {
    let mut groups: Vec<(bool, String)> = registry
        .all()
        .filter(|resource| !resource.group.is_empty())
        .map(|resource| (resource.is_custom(), resource.group.clone()))
        .collect();
    groups.sort();
    groups.dedup_by(|a, b| a.1 == b.1);
    groups.into_iter().map(|(_, group)| group).collect()
}

fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> = group_names(registry)
        .iter()
        .map(|group| group_value(registry, group))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn group_value(registry: &Registry, group: &str) -> Value {
    let versions: Vec<Value> = registry
        .versions(group)
        .unwrap_or_default()
        .into_iter()
        .map(|version| json!({"groupVersion": api_version(group, version), "version": version}))
        .collect();
    json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
}

fn of<'a>(registry: &'a Registry, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Resource> {
    registry
        .all()
        .filter(move |resource| resource.group == group && resource.version == version)
        .map(|resource| &**resource)
}

fn resources(registry: &Registry, group: &str, version: &str) -> Value {
    let mut list = Vec::new();
    for resource in of(registry, group, version) {
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": resource.verbs,
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if !resource.categories.is_empty() {
            entry["categories"] = json!(resource.categories);
        }
        if resource.verbs.iter().any(|verb| verb == "list") {
            entry["storageVersionHash"] = hash(&format!("{}/{}", resource.group, resource.kind)).into();
        }
        list.push(entry);
        for subresource in &resource.subresources {
            list.push(subresource_entry(resource, subresource));
        }
    }
    let mut value = json!({
        "kind": "APIResourceList", "groupVersion": api_version(group, version), "resources": list,
    });
    if !group.is_empty() {
        value["apiVersion"] = "v1".into();
    }
    value
}

fn subresource_entry(resource: &Resource, subresource: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, subresource.name), "singularName": "",
        "namespaced": resource.namespaced, "kind": resource.kind, "verbs": subresource.verbs,
    });
    if let Some((group, version, kind)) = &subresource.kind {
        entry["kind"] = kind.clone().into();
        if *group != resource.group {
            entry["group"] = group.clone().into();
            entry["version"] = version.clone().into();
        }
    }
    entry
}

fn aggregated(registry: &Registry, core: bool, headers: &HeaderMap) -> Response<Body> {
    let names = if core {
        vec![String::new()]
    } else {
        group_names(registry)
    };
    let items: Vec<Value> = names
        .iter()
        .map(|group| aggregated_group(registry, group))
        .collect();
    let value = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let bytes = encode(&value);
    let tag = format!("\"{}\"", hash(&value.to_string()));
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|tags| tags.split(',').any(|known| known.trim() == tag));
    let mut response = if known {
        answer::bytes(304, AGGREGATED, bytes::Bytes::new())
    } else {
        answer::bytes(200, AGGREGATED, bytes)
    };
    if let Ok(tag) = tag.parse() {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
        .headers_mut()
        .insert(header::VARY, header::HeaderValue::from_static("Accept"));
    response
}

fn aggregated_group(registry: &Registry, group: &str) -> Value {
    let versions: Vec<Value> = registry
        .versions(group)
        .unwrap_or_default()
        .into_iter()
        .map(|version| {
            let resources: Vec<Value> = of(registry, group, version).map(aggregated_resource).collect();
            json!({"version": version, "freshness": "Current", "resources": resources})
        })
        .collect();
    let metadata = if group.is_empty() {
        json!({})
    } else {
        json!({"name": group})
    };
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    // Of built-in kinds a real server leaves group and version empty: those of the list around it.
    let own = if resource.is_custom() {
        kind(&resource.group, &resource.version, &resource.kind)
    } else {
        kind("", "", &resource.kind)
    };
    let mut entry = json!({
        "resource": resource.plural, "singularResource": resource.singular, "responseKind": own,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let subresources: Vec<Value> = resource
        .subresources
        .iter()
        .map(|subresource| {
            let kind = match &subresource.kind {
                Some((group, version, name)) => kind(group, version, name),
                None => own.clone(),
            };
            json!({"subresource": subresource.name, "responseKind": kind, "verbs": subresource.verbs})
        })
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}

/// A short text that changes with its input, and is the same in every process.
fn hash(text: &str) -> String {
    #[derive(Default)]
    struct Fnv(u64);
    impl std::hash::Hasher for Fnv {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
