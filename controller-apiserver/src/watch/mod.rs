//! Watches: what a request asks for, and the stream that follows a collection.
//!
//! A watch is a cursor into the log of events; nothing is queued for it. One that is not read falls
//! behind, and ends when the log no longer has what it would have to send: it never skips an event
//! and never holds memory. Source: "Efficient detection of changes" in the API concepts
//! documentation, KEP-956 (bookmarks), KEP-3157 (streaming lists).

mod frame;
mod open;
mod stream;

pub(crate) use open::{Opening, Start, timeout};
pub(crate) use stream::{Progress, REVISION_PATIENCE, WatchStream};
