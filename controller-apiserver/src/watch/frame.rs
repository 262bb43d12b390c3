//! One event as one line.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::codec::accept::{Accept, Form};
use crate::patch::typed;
use crate::registry::Resource;
use crate::select::Selection;
use crate::status::ApiError;
use crate::storage::{Change, Event, Stored, encode};
use crate::{table, view};

/// The annotation of the bookmark that ends the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Writes events in the form a client asked for.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) accept: Accept,
    /// The present; tables tell ages.
    pub(super) now: Timestamp,
    /// The columns of a table come with its first event only.
    pub(super) columns_sent: bool,
}

impl Frames {
    /// An event as a watcher with this selection sees it; `None` if it does not.
    pub(super) fn event(
        &mut self,
        resource: &Resource,
        selection: &Selection,
        event: &Event,
    ) -> Option<Bytes> {
        let selects = |object: &Stored| selection.matches(&event.key, object);
        let was = event.previous.as_deref().is_some_and(selects);
        let is = event.change != Change::Deleted && selects(&event.object);
        let seen = match (was, is) {
            (false, false) => return None,
            (false, true) => Change::Added,
            (true, true) => Change::Modified,
            (true, false) => Change::Deleted,
        };
        let object = if seen == Change::Deleted {
            event.departed()
        } else {
            Arc::clone(&event.object)
        };
        if self.accept.form == Form::Object && view::is_stored_as_served(resource, &object) {
            return Some(event.line(seen, || line(word(seen), &view::json(resource, &object))));
        }
        Some(self.object(word(seen), resource, &object))
    }

    pub(super) fn object(&mut self, kind: &str, resource: &Resource, stored: &Stored) -> Bytes {
        if self.accept.form == Form::Object {
            return line(kind, &view::json(resource, stored));
        }
        let object = view::value(resource, stored);
        let shown = self.shown(resource, &object);
        line(kind, &encode(&shown))
    }

    fn shown(&mut self, resource: &Resource, object: &Value) -> Value {
        match self.accept.form {
            Form::Object => object.clone(),
            Form::Partial | Form::PartialList => table::partial(object, self.accept.version),
            Form::Table => {
                let mut table = resource.columns().of_object(object, self.accept, self.now);
                if self.columns_sent {
                    table["columnDefinitions"] = Value::Null;
                }
                self.columns_sent = true;
                table
            }
        }
    }

    /// A bookmark: an object of the kind asked for with nothing but a resourceVersion.
    pub(super) fn bookmark(&mut self, resource: &Resource, revision: u64, ends_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if ends_initial {
            metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
        }
        let schema = if resource.is_custom() {
            None
        } else {
            typed::builtin(&resource.group, &resource.version, &resource.kind)
        };
        let mut object = schema.map_or_else(|| json!({}), |schema| schema.empty());
        object["metadata"] = metadata;
        view::name(resource, &mut object);
        let shown = self.shown(resource, &object);
        line("BOOKMARK", &encode(&shown))
    }
}

fn word(seen: Change) -> &'static str {
    match seen {
        Change::Added => "ADDED",
        Change::Modified => "MODIFIED",
        Change::Deleted => "DELETED",
    }
}

/// An `ERROR` event, which ends a watch.
pub(super) fn error(error: &ApiError) -> Bytes {
    line("ERROR", &encode(&error.to_value()))
}

fn line(kind: &str, object: &[u8]) -> Bytes {
    let mut line = BytesMut::with_capacity(object.len() + 40);
    line.put_slice(b"{\"type\":\"");
    line.put_slice(kind.as_bytes());
    line.put_slice(b"\",\"object\":");
    line.put_slice(object);
    line.put_slice(b"}\n");
    line.freeze()
}
