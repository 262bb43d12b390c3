//! Faults of a stream, line by line.

use std::time::Duration;

use bytes::Bytes;

use super::Fault;
use crate::status::ApiError;

/// What goes wrong with one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamFault {
    pub(crate) silent: bool,
    pub(crate) no_bookmarks: bool,
    pub(crate) no_timeout: bool,
    pub(crate) delay: Option<Duration>,
    cut: Option<usize>,
    truncate: Option<usize>,
    error: Option<(usize, ApiError)>,
    garbage: Option<usize>,
    sent: usize,
}

impl StreamFault {
    pub(crate) fn of(faults: &[Fault]) -> Self {
        let mut stream = Self::default();
        for fault in faults {
            match fault {
                Fault::Silent => stream.silent = true,
                Fault::NoBookmarks => stream.no_bookmarks = true,
                Fault::NoTimeout => stream.no_timeout = true,
                Fault::DelayEvents(by) => stream.delay = Some(*by),
                Fault::Cut { after } => stream.cut = Some(*after),
                Fault::Truncate { after } => stream.truncate = Some(*after),
                Fault::ErrorEvent { after, status } => stream.error = Some((*after, status.clone())),
                Fault::Garbage { at } => stream.garbage = Some(*at),
                _ => {}
            }
        }
        stream
    }

    /// What becomes of the next line, and whether the stream ends after it.
    pub(crate) fn tamper(&mut self, line: Bytes) -> Option<(Bytes, bool)> {
        let at = self.sent;
        self.sent += 1;
        if self.cut.is_some_and(|after| at >= after) {
            return None;
        }
        if let Some((_, status)) = self.error.as_ref().filter(|(after, _)| at >= *after) {
            let event = serde_json::json!({"type": "ERROR", "object": status.to_value()});
            return Some((format!("{event}\n").into(), true));
        }
        if self.truncate.is_some_and(|after| at >= after) {
            return Some((line.slice(..line.len() / 2), true));
        }
        if self.garbage == Some(at) {
            return Some((garbled(&line), false));
        }
        Some((line, false))
    }
}

/// The object keeps its name and loses its shape: `spec` and `data` become a number.
fn garbled(line: &Bytes) -> Bytes {
    let Ok(mut event) = serde_json::from_slice::<serde_json::Value>(line) else {
        return line.clone();
    };
    garble(&mut event["object"]);
    format!("{event}\n").into()
}

/// Makes an object undecodable for every typed client.
pub(crate) fn garble(object: &mut serde_json::Value) {
    for field in ["spec", "data"] {
        object[field] = serde_json::json!(7);
    }
}
