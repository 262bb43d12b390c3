//! Lists and watch events as they come, decoded one object at a time.
//!
//! An object that cannot be decoded is an [`Unreadable`]: it keeps its place and blinds nobody to the others.

use std::{any::Any, borrow::Cow};

use kube::core::{DynamicObject, Status, TypeMeta};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Pruning, core::Event, fault, slim::decode_without};
use crate::object::Object;

/// One object of a list or an event.
pub(crate) enum Item<T> {
    Object(T),
    Unreadable(Unreadable),
}

/// An object that could not be decoded, as far as it could be.
#[derive(Clone, Debug)]
pub(crate) struct Unreadable {
    pub(crate) identity: Identity,
    pub(crate) message: String,
}

/// The part of an object's metadata that says which one it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Identity {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

/// Where a list stands and how it goes on.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListHead {
    pub(crate) resource_version: Option<String>,
    #[serde(rename = "continue")]
    pub(crate) token: Option<String>,
}

/// One line of a watch.
pub(crate) enum Line<T> {
    /// A change of an object, and the revision at which it happened.
    Change(Event, Item<T>),
    /// Only a revision.
    Bookmark { revision: String, end: bool },
    /// The server ends the watch, and says why.
    Error(Box<Status>),
    /// A kind of event that is not known; it is passed over.
    Unknown(String),
}

#[derive(Deserialize)]
struct RawList<'a> {
    #[serde(default)]
    metadata: ListHead,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct RawEvent<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct OnlyMetadata<M> {
    metadata: M,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
    #[serde(default)]
    annotations: Option<std::collections::BTreeMap<String, String>>,
}

/// How the objects of one source are decoded.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    pub(crate) pruning: Pruning,
    /// Of an object that cannot be decoded, nothing but the place is told.
    pub(crate) confidential: bool,
    /// What the objects are, for those that do not say it: lists of built-in kinds leave it out.
    pub(crate) types: TypeMeta,
}

/// Reads where a list stands, and finds its objects without decoding them.
pub(crate) fn page(text: &[u8]) -> Result<(ListHead, Vec<&RawValue>), serde_json::Error> {
    let list: RawList<'_> = serde_json::from_slice(text)?;
    Ok((list.metadata, list.items.unwrap_or_default()))
}

impl Decoder {
    /// Decodes one line of a watch.
    pub(crate) fn line<T: Object>(&self, text: &[u8]) -> Result<Line<T>, serde_json::Error> {
        let event: RawEvent<'_> = serde_json::from_slice(text)?;
        Ok(match &*event.r#type {
            "ADDED" | "MODIFIED" => Line::Change(Event::Put, self.item(event.object)),
            "DELETED" => Line::Change(Event::Delete, self.item(event.object)),
            "BOOKMARK" => bookmark(event.object)?,
            "ERROR" => Line::Error(serde_json::from_str(event.object.get())?),
            other => Line::Unknown(other.to_owned()),
        })
    }

    /// Decodes one object, without what is pruned.
    pub(crate) fn item<T: Object>(&self, raw: &RawValue) -> Item<T> {
        let text = raw.get();
        let decoded = match self.pruning {
            Pruning::ManagedFields => decode_without(text, &["metadata", "managedFields"]),
            Pruning::OtherManagers(_) | Pruning::Nothing => serde_json::from_str(text),
        };
        let message = match decoded {
            Ok(object) => match self.finish(object) {
                Some(object) => return Item::Object(object),
                None => "metadata.name: it is missing".to_owned(),
            },
            Err(error) => fault::describe(text, &error, self.confidential),
        };
        let identity = serde_json::from_str::<OnlyMetadata<Identity>>(text)
            .map(|only| only.metadata)
            .unwrap_or_default();
        Item::Unreadable(Unreadable { identity, message })
    }

    fn finish<T: Object>(&self, mut object: T) -> Option<T> {
        let meta = object.meta_mut();
        meta.name.as_ref().filter(|name| !name.is_empty())?;
        if let (Pruning::OtherManagers(own), Some(entries)) = (&self.pruning, &mut meta.managed_fields) {
            entries.retain(|entry| entry.manager.as_ref() == Some(own));
            entries.shrink_to_fit();
        }
        if let Some(dynamic) = (&mut object as &mut dyn Any).downcast_mut::<DynamicObject>() {
            dynamic.types.get_or_insert_with(|| self.types.clone());
        }
        Some(object)
    }
}

fn bookmark<T>(raw: &RawValue) -> Result<Line<T>, serde_json::Error> {
    let OnlyMetadata { metadata } = serde_json::from_str::<OnlyMetadata<BookmarkMeta>>(raw.get())?;
    let annotations = metadata.annotations.unwrap_or_default();
    let mark = annotations.get("k8s.io/initial-events-end");
    Ok(Line::Bookmark {
        end: mark.is_some_and(|value| value == "true"),
        revision: metadata.resource_version,
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn decoder(pruning: Pruning) -> Decoder {
        Decoder {
            pruning,
            confidential: false,
            types: TypeMeta::resource::<ConfigMap>(),
        }
    }

    fn raw(value: &serde_json::Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    #[test]
    fn managed_fields_are_dropped_or_kept_as_told() {
        let text = raw(&json!({ "metadata": { "name": "a", "managedFields": [
            { "manager": "mine", "operation": "Apply" }, { "manager": "other", "operation": "Update" },
        ] } }));
        for (pruning, kept) in [
            (Pruning::ManagedFields, 0),
            (Pruning::OtherManagers("mine".into()), 1),
            (Pruning::Nothing, 2),
        ] {
            let Item::Object(object) = decoder(pruning).item::<ConfigMap>(&text) else {
                panic!("it is readable")
            };
            assert_eq!(object.metadata.managed_fields.unwrap_or_default().len(), kept);
        }
    }

    #[test]
    fn a_dynamic_object_of_a_list_knows_its_type() {
        let Item::Object(object) =
            decoder(Pruning::default()).item::<DynamicObject>(&raw(&json!({ "metadata": { "name": "a" } })))
        else {
            panic!("it is readable")
        };
        assert_eq!(object.types.unwrap().kind, "ConfigMap");
    }

    #[test]
    fn what_has_no_name_is_unreadable() {
        for metadata in [
            json!({}),
            json!({ "name": "" }),
            json!({ "name": "a", "labels": 5 }),
        ] {
            let item = decoder(Pruning::default()).item::<ConfigMap>(&raw(&json!({ "metadata": metadata })));
            assert!(matches!(item, Item::Unreadable(_)), "{metadata}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text: Vec<u8>, shape in 0..3_u8, inside: String) {
            let text = match shape {
                0 => text,
                1 => format!(r#"{{"type":"ADDED","object":{inside}}}"#).into_bytes(),
                _ => format!(r#"{{"metadata":{{}},"items":[{inside}]}}"#).into_bytes(),
            };
            let _ = decoder(Pruning::default()).line::<ConfigMap>(&text);
            if let Ok((_, items)) = page(&text) {
                for raw in items {
                    let _ = decoder(Pruning::default()).item::<ConfigMap>(raw);
                }
            }
        }
    }
}
