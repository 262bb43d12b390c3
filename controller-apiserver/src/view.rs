//! From what is stored to what is served: version, defaults of the schema, and the form asked for.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::{Value, json};

use crate::registry::{Resource, convert};
use crate::storage::{Stored, encode};

/// The object as this resource serves it, with `apiVersion` and `kind`.
pub(crate) fn value(resource: &Resource, stored: &Stored) -> Value {
    let mut object = stored.value();
    adapt(resource, stored.stamp, &mut object);
    name(resource, &mut object);
    object
}

/// Writes `apiVersion` and `kind`.
pub(crate) fn name(resource: &Resource, object: &mut Value) {
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.clone().into();
}

/// Brings an object out of storage into the shape of the present schema.
///
/// What an older schema let through is pruned and defaulted by the present schema of the storage
/// version, on every read, without a write.
fn adapt(resource: &Resource, stamp: u64, object: &mut Value) {
    convert::from_storage(resource, object);
    if let Some(custom) = &resource.custom
        && custom.stamp != stamp
    {
        custom.storage_schema.prune(object);
        custom.storage_schema.default(object);
    }
    if let Some(custom) = resource.other_version() {
        custom.schema.prune(object);
    }
}

/// What is stored is what this resource serves, but for `apiVersion` and `kind`.
pub(crate) fn is_stored_as_served(resource: &Resource, stored: &Stored) -> bool {
    match &resource.custom {
        Some(custom) => custom.stamp == stored.stamp && resource.other_version().is_none(),
        None => !convert::converts(resource),
    }
}

/// JSON of the object. As a rule that is what is stored, with two fields put in front.
pub(crate) fn json(resource: &Resource, stored: &Stored) -> Bytes {
    if !is_stored_as_served(resource, stored) {
        return encode(&value(resource, stored));
    }
    let mut bytes = BytesMut::with_capacity(stored.body.len() + 96);
    put_json(resource, stored, &mut bytes);
    bytes.freeze()
}

fn put_json(resource: &Resource, stored: &Stored, bytes: &mut BytesMut) {
    bytes.put_slice(b"{\"apiVersion\":\"");
    if !resource.group.is_empty() {
        bytes.put_slice(resource.group.as_bytes());
        bytes.put_u8(b'/');
    }
    bytes.put_slice(resource.version.as_bytes());
    bytes.put_slice(b"\",\"kind\":\"");
    bytes.put_slice(resource.kind.as_bytes());
    bytes.put_slice(b"\",");
    bytes.put_slice(stored.body.get(1..).unwrap_or_default());
}

/// JSON of one item of a list: items of built-in kinds do not name their kind.
fn put_item(resource: &Resource, stored: &Stored, bytes: &mut BytesMut) {
    if !is_stored_as_served(resource, stored) {
        let mut object = value(resource, stored);
        if !resource.is_custom()
            && let Some(map) = object.as_object_mut()
        {
            map.remove("apiVersion");
            map.remove("kind");
        }
        bytes.put_slice(&encode(&object));
    } else if resource.is_custom() {
        put_json(resource, stored, bytes);
    } else {
        bytes.put_slice(&stored.body);
    }
}

/// What stands in `metadata` of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListMeta {
    pub(crate) revision: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl ListMeta {
    /// As JSON; lists of custom resources always have `continue`.
    pub(crate) fn value(&self, resource: &Resource) -> Value {
        let mut meta = self.plain();
        if resource.is_custom() && self.continue_token.is_none() {
            meta["continue"] = "".into();
        }
        meta
    }

    /// As JSON, as lists of no resource have it.
    pub(crate) fn plain(&self) -> Value {
        let mut meta = json!({"resourceVersion": self.revision.to_string()});
        if let Some(token) = &self.continue_token {
            meta["continue"] = token.clone().into();
        }
        if let Some(remaining) = self.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        meta
    }
}

/// JSON of a list.
pub(crate) fn list<'a>(
    resource: &Resource,
    meta: &ListMeta,
    items: impl Iterator<Item = &'a Stored>,
) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_slice(b"{\"apiVersion\":");
    bytes.put_slice(&encode(&resource.api_version().into()));
    bytes.put_slice(b",\"kind\":");
    bytes.put_slice(&encode(&resource.list_kind.clone().into()));
    bytes.put_slice(b",\"metadata\":");
    bytes.put_slice(&encode(&meta.value(resource)));
    bytes.put_slice(b",\"items\":[");
    for (index, stored) in items.enumerate() {
        if index > 0 {
            bytes.put_u8(b',');
        }
        put_item(resource, stored, &mut bytes);
    }
    bytes.put_slice(b"]}\n");
    bytes.freeze()
}
