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

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::codec::accept::Media;
use crate::codec::types::document as builtin;
use crate::registry::{Registry, Resource, api_version};
use crate::server::{Body, answer};
use crate::status::ApiError;
use crate::storage::encode;

const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// The `@` of the media type asked for cannot stand in one that is answered (RFC 2045).
const V2_PROTOBUF_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The documents of what is served, made when somebody asks, and kept until something else is served.
#[derive(Debug, Default)]
pub(crate) struct Documents(Mutex<Option<Made>>);

/// The documents of one state of the registry.
#[derive(Debug)]
struct Made {
    generation: u64,
    index: Bytes,
    /// By place, as `apis/apps/v1`.
    groups: BTreeMap<String, Bytes>,
    /// Version 2: the JSON, and the protobuf form.
    v2: Option<(Bytes, Bytes)>,
}

impl Documents {
    /// Answers a request below `/openapi/`. The registry is only looked at: nothing is encoded before it
    /// is let go.
    pub(crate) fn answer<R>(
        &self,
        registry: impl FnOnce() -> R,
        rest: &str,
        method: &Method,
        headers: &HeaderMap,
    ) -> Response<Body>
    where
        R: Deref<Target = Registry>,
    {
        if *method != Method::GET {
            return answer::refusal(&ApiError::method_not_allowed(), Media::Json, &[]);
        }
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let registry = registry();
        let generation = registry.generation();
        let fresh = made.take().filter(|made| made.generation == generation);
        let resources: Vec<_> = match &fresh {
            Some(_) => Vec::new(),
            None => registry.all().cloned().collect(),
        };
        drop(registry);
        let made = made.insert(fresh.unwrap_or_else(|| Made::of(generation, &resources)));
        match rest.split_once('/').unwrap_or((rest, "")) {
            ("v3", "") => answer::bytes(200, "text/plain; charset=utf-8", made.index.clone()),
            ("v3", place) => match made.groups.get(place) {
                Some(document) => answer::bytes(200, "application/json", document.clone()),
                None => missing(),
            },
            ("v2", "") => made.v2(headers),
            _ => answer::not_found_text(),
        }
    }
}

impl Made {
    fn of(generation: u64, resources: &[Arc<Resource>]) -> Self {
        let groups: BTreeMap<String, Bytes> = group_versions(resources)
            .into_iter()
            .filter_map(|(group, version)| {
                let document = document(resources, group, version)?;
                Some((place(group, version), document))
            })
            .collect();
        Self {
            generation,
            index: encode(&index(&groups)),
            groups,
            v2: None,
        }
    }

    fn v2(&mut self, headers: &HeaderMap) -> Response<Body> {
        let accept = headers
            .get(header::ACCEPT)
            .and_then(|accept| accept.to_str().ok())
            .unwrap_or_default();
        let groups = &self.groups;
        let (json, protobuf) = self.v2.get_or_insert_with(|| {
            let documents = groups
                .values()
                .filter_map(|document| serde_json::from_slice(document).ok());
            let swagger = swagger::document(documents);
            (encode(&swagger), gnostic::encode(&swagger).into())
        });
        let wants_protobuf = accept
            .split(',')
            .any(|media| [V2_PROTOBUF, V2_PROTOBUF_ANSWER].contains(&media.trim()));
        if wants_protobuf {
            return answer::bytes(200, V2_PROTOBUF_ANSWER, protobuf.clone());
        }
        answer::bytes(200, "application/json", json.clone())
    }
}

fn missing() -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// All group versions, in order.
fn group_versions(resources: &[Arc<Resource>]) -> Vec<(&str, &str)> {
    let mut all: Vec<_> = resources
        .iter()
        .map(|resource| (resource.group.as_str(), resource.version.as_str()))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn index(groups: &BTreeMap<String, Bytes>) -> Value {
    let paths: Map<String, Value> = groups
        .iter()
        .map(|(place, document)| {
            let url = format!("/openapi/v3/{place}?hash={:016X}", hash(document));
            (place.clone(), json!({"serverRelativeURL": url}))
        })
        .collect();
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
fn document(resources: &[Arc<Resource>], group: &str, version: &str) -> Option<Bytes> {
    let resources: Vec<_> = resources
        .iter()
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    let first = resources.first()?;
    if first.is_custom() {
        return Some(encode(&custom::document(&resources)));
    }
    builtin(&api_version(group, version)).map(|text| Bytes::from_static(text.as_bytes()))
}
