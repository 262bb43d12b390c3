//! `/metrics`: what is stored, in the Prometheus text format.
//!
//! Only figures that this server has, under the names of the real one. What a real server measures
//! of itself beyond them is not there.

use std::fmt::Write as _;

use bytes::Bytes;
use http::Response;

use super::{Body, answer};
use crate::state::State;

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// The answer to GET.
pub(super) fn answer(state: &State) -> Response<Body> {
    answer::bytes(200, CONTENT_TYPE, Bytes::from(text(state)))
}

fn text(state: &State) -> String {
    let mut text = "# HELP apiserver_resource_objects Number of stored objects, by resource.\n\
        # TYPE apiserver_resource_objects gauge\n"
        .to_owned();
    for collection in state.store.collections() {
        let (group, resource) = collection.split_once('/').unwrap_or(("", collection));
        let count = state.store.scan(collection, "").count();
        let _ = writeln!(
            text,
            "apiserver_resource_objects{{group={group:?},resource={resource:?}}} {count}"
        );
    }
    text
}
