//! `/openapi/v3` and `/openapi/v2`: the schemas of everything that is served.
//!
//! Sources: KEP-2896 (OpenAPI v3), and the OpenAPI v2 document with its protobuf form (gnostic) that
//! clients before 1.27 read. The documents of built-in groups are those a Kubernetes 1.36 server
//! publishes, without their prose; those of custom resources follow from their definitions. OpenAPI
//! v3 as protobuf, which only kubectl 1.24 to 1.26 asked for, is answered as JSON.

mod custom;
mod gnostic;
mod paths;
mod swagger;
#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::codec::accept::Media;
use crate::codec::types::document as builtin;
use crate::registry::{Registry, api_version};
use crate::server::{Body, answer};
use crate::status::ApiError;
use crate::storage::encode;

const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// The `@` of the media type asked for cannot stand in one that is answered (RFC 2045).
const V2_PROTOBUF_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Answers a request below `/openapi/`.
pub(crate) fn answer(
    registry: &Registry,
    rest: &str,
    method: &Method,
    headers: &HeaderMap,
) -> Response<Body> {
    if *method != Method::GET {
        return answer::refusal(&ApiError::method_not_allowed(), Media::Json, &[]);
    }
    match rest.split_once('/').unwrap_or((rest, "")) {
        ("v3", "") => answer::bytes(200, "text/plain; charset=utf-8", encode(&index(registry))),
        ("v3", place) => {
            match group_version(place).and_then(|(group, version)| document(registry, group, version)) {
                Some(document) => answer::bytes(200, "application/json", document),
                None => missing(),
            }
        }
        ("v2", "") => v2(registry, headers),
        _ => answer::not_found_text(),
    }
}

fn missing() -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// `api/v1` or `apis/GROUP/VERSION`.
fn group_version(place: &str) -> Option<(&str, &str)> {
    match place.split_once('/')? {
        ("api", version) => Some(("", version)),
        ("apis", rest) => rest.split_once('/'),
        _ => None,
    }
}

/// All group versions, in order.
fn group_versions(registry: &Registry) -> Vec<(&str, &str)> {
    let mut all: Vec<_> = registry
        .all()
        .map(|resource| (resource.group.as_str(), resource.version.as_str()))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, version) in group_versions(registry) {
        let place = place(group, version);
        let hash = document(registry, group, version)
            .map(|document| hash(&document))
            .unwrap_or_default();
        let url = format!("/openapi/v3/{place}?hash={hash:016X}");
        paths.insert(place, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

fn place(group: &str, version: &str) -> String {
    let root = if group.is_empty() { "api" } else { "apis" };
    format!("{root}/{}", api_version(group, version))
}

fn hash(document: &[u8]) -> u64 {
    // The keys of the default hasher are fixed: one document has one hash in every process.
    let mut hasher = DefaultHasher::new();
    document.hash(&mut hasher);
    hasher.finish()
}

/// The OpenAPI v3 document of a group version.
fn document(registry: &Registry, group: &str, version: &str) -> Option<Bytes> {
    let resources: Vec<_> = registry
        .all()
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    let first = resources.first()?;
    if first.is_custom() {
        return Some(encode(&custom::document(&resources)));
    }
    builtin(&api_version(group, version)).map(|text| Bytes::from_static(text.as_bytes()))
}

fn v2(registry: &Registry, headers: &HeaderMap) -> Response<Body> {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .unwrap_or_default();
    let documents = group_versions(registry)
        .into_iter()
        .filter_map(|(group, version)| document(registry, group, version))
        .filter_map(|document| serde_json::from_slice(&document).ok());
    let swagger = swagger::document(documents);
    let protobuf = accept
        .split(',')
        .any(|media| [V2_PROTOBUF, V2_PROTOBUF_ANSWER].contains(&media.trim()));
    if protobuf {
        return answer::bytes(200, V2_PROTOBUF_ANSWER, Bytes::from(gnostic::encode(&swagger)));
    }
    answer::bytes(200, "application/json", encode(&swagger))
}
