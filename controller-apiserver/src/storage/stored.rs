//! One object at one revision, encoded once.

use bytes::Bytes;
use serde_json::Value;

use crate::object::{meta, meta_list, meta_mut};

/// An object as it is kept: its JSON, and the few parts that every request looks at.
///
/// The encoding has neither `apiVersion` nor `kind`: they depend on the version asked for, and are
/// written in front when the object is served.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The revision of the write that made this state.
    pub(crate) revision: u64,
    /// Which schema the object went through; 0 for built-in kinds.
    pub(crate) stamp: u64,
    /// `metadata.uid`.
    pub(crate) uid: Box<str>,
    /// `metadata.labels`, sorted by key.
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    /// The uids of `metadata.ownerReferences`.
    pub(crate) owners: Box<[Box<str>]>,
    /// A finalizer of the garbage collector holds the object.
    pub(crate) held_by_collector: bool,
    /// The object as JSON.
    pub(crate) body: Bytes,
}

impl Stored {
    pub(super) fn new(mut object: Value, revision: u64, stamp: u64) -> Self {
        if let Some(map) = object.as_object_mut() {
            map.remove("apiVersion");
            map.remove("kind");
        }
        meta_mut(&mut object).insert("resourceVersion".into(), revision.to_string().into());
        Self {
            revision,
            stamp,
            uid: crate::object::meta_str(&object, "uid").into(),
            labels: labels(&object),
            owners: owners(&object),
            held_by_collector: meta_list(&object, "finalizers")
                .iter()
                .any(|finalizer| matches!(*finalizer, "orphan" | "foregroundDeletion")),
            body: encode(&object),
        }
    }

    /// The same object, as seen at a later revision.
    pub(crate) fn at(&self, revision: u64) -> Self {
        Self::new(self.value(), revision, self.stamp)
    }

    /// The object, without `apiVersion` and `kind`.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Namespace and name.
    pub(crate) fn place(&self) -> (String, String) {
        let object = self.value();
        let part = |field| crate::object::meta_str(&object, field).to_owned();
        (part("namespace"), part("name"))
    }

    /// The value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        let at = self.labels.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        Some(&self.labels[at].1)
    }
}

/// JSON of a value; `serde_json` cannot fail on its own values.
pub(crate) fn encode(value: &Value) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

fn labels(object: &Value) -> Box<[(Box<str>, Box<str>)]> {
    let mut labels: Vec<(Box<str>, Box<str>)> = meta(object)
        .and_then(|meta| meta.get("labels")?.as_object())
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())))
        .collect();
    labels.sort();
    labels.into()
}

fn owners(object: &Value) -> Box<[Box<str>]> {
    meta(object)
        .and_then(|meta| meta.get("ownerReferences")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(|owner| Some(owner.get("uid")?.as_str()?.into()))
        .collect()
}
