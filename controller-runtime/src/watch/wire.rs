//! Lists and watch events as they come, decoded one object at a time.
//!
//! An object that cannot be decoded is an [`Unreadable`]: it keeps its place and blinds nobody to the others.

use std::borrow::Cow;

use kube::core::Status;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Pruning, core::Event};
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

/// Decodes a page, and gives each object to `take` as soon as it is decoded.
pub(crate) fn page<T: Object>(
    text: &[u8],
    pruning: &Pruning,
    mut take: impl FnMut(Item<T>),
) -> Result<ListHead, serde_json::Error> {
    let list: RawList<'_> = serde_json::from_slice(text)?;
    for raw in list.items.unwrap_or_default() {
        take(item(raw, pruning));
    }
    Ok(list.metadata)
}

/// Decodes one line of a watch.
pub(crate) fn line<T: Object>(text: &[u8], pruning: &Pruning) -> Result<Line<T>, serde_json::Error> {
    let event: RawEvent<'_> = serde_json::from_slice(text)?;
    Ok(match &*event.r#type {
        "ADDED" | "MODIFIED" => Line::Change(Event::Put, item(event.object, pruning)),
        "DELETED" => Line::Change(Event::Delete, item(event.object, pruning)),
        "BOOKMARK" => {
            let OnlyMetadata { metadata } =
                serde_json::from_str::<OnlyMetadata<BookmarkMeta>>(event.object.get())?;
            let mark = metadata
                .annotations
                .as_ref()
                .and_then(|all| all.get("k8s.io/initial-events-end"));
            Line::Bookmark {
                end: mark.is_some_and(|value| value == "true"),
                revision: metadata.resource_version,
            }
        }
        "ERROR" => Line::Error(serde_json::from_str(event.object.get())?),
        other => Line::Unknown(other.to_owned()),
    })
}

fn item<T: Object>(raw: &RawValue, pruning: &Pruning) -> Item<T> {
    match serde_json::from_str::<T>(raw.get()) {
        Ok(object) if object.meta().name.is_none() => Item::Unreadable(Unreadable {
            identity: identity(raw),
            message: "it has no name".to_owned(),
        }),
        Ok(mut object) => {
            prune(&mut object, pruning);
            Item::Object(object)
        }
        Err(error) => Item::Unreadable(Unreadable {
            identity: identity(raw),
            message: error.to_string(),
        }),
    }
}

fn identity(raw: &RawValue) -> Identity {
    serde_json::from_str::<OnlyMetadata<Identity>>(raw.get())
        .map(|only| only.metadata)
        .unwrap_or_default()
}

fn prune<T: Object>(object: &mut T, pruning: &Pruning) {
    let fields = &mut object.meta_mut().managed_fields;
    match pruning {
        Pruning::ManagedFields => *fields = None,
        Pruning::OtherManagers(own) => {
            if let Some(entries) = fields {
                entries.retain(|entry| entry.manager.as_ref() == Some(own));
                entries.shrink_to_fit();
            }
        }
        Pruning::Nothing => {}
    }
}
