//! What a watch asks for.

use std::time::Duration;

use crate::call::{Answer, Session};
use crate::read::revision;
use crate::select::Selection;
use crate::status::{ApiError, Cause};

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// With all objects there are; where the revision asked for has not come, the watch waits for it.
    Present { at_least: u64 },
    /// After a revision.
    After(u64),
}

/// A watch that was granted.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) selection: Selection,
    pub(crate) start: Start,
    /// The client takes bookmarks.
    pub(crate) bookmarks: bool,
    /// A bookmark marks the end of the initial events.
    pub(crate) marks_initial_end: bool,
    /// How long the stream stays open.
    pub(crate) timeout: Option<Duration>,
}

impl Session<'_> {
    /// GET on a collection with `watch`.
    pub(crate) fn watch(&mut self) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let query = &self.call.query;
        let text = query.text("resourceVersion");
        let initial = initial_events(query)?;
        let selection = self.watch_selection()?;
        let timeout = timeout(query.text("timeoutSeconds"))?;
        let asked = revision::parse(text).map_err(|why| ApiError::internal(revision::problem(text, &why)))?;
        let bookmarks = query.first("allowWatchBookmarks").is_some() && query.flag("allowWatchBookmarks");
        let start = match initial {
            Some(true) => Start::Present { at_least: asked },
            Some(false) if asked == 0 => Start::After(self.state.store.revision()),
            None if asked == 0 => Start::Present { at_least: 0 },
            _ => Start::After(asked),
        };
        debug_assert!(resource.verbs.iter().any(|verb| verb == "watch"));
        Ok(Answer::Watch(Box::new(Opening {
            selection,
            start,
            bookmarks,
            marks_initial_end: initial == Some(true) && bookmarks,
            timeout,
        })))
    }

    /// The old paths can name one object.
    fn watch_selection(&self) -> Result<Selection, ApiError> {
        let query = &self.call.query;
        let fields = query.text("fieldSelector");
        let name = &self.call.target.name;
        let named = match (name.is_empty(), fields.is_empty()) {
            (true, _) => fields.to_owned(),
            (false, true) => format!("metadata.name={name}"),
            (false, false) => format!("{fields},metadata.name={name}"),
        };
        Selection::parse(query.text("labelSelector"), &named, self.resource())
    }
}

/// `sendInitialEvents`, which demands `resourceVersionMatch`, and the other way round.
fn initial_events(query: &crate::server::query::Query) -> Result<Option<bool>, ApiError> {
    const FIELD: &str = "resourceVersionMatch";
    let initial = query
        .first("sendInitialEvents")
        .map(|_| query.flag("sendInitialEvents"));
    let matching = query.text(FIELD);
    let mut causes = Vec::new();
    let not_older = matching == "NotOlderThan";
    if initial.is_some() && !not_older {
        causes.push(Cause::forbidden(
            FIELD,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    if !matching.is_empty() {
        if initial.is_none() {
            causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        if !not_older {
            causes.push(Cause::not_supported(FIELD, &matching.into(), "\"NotOlderThan\""));
        }
        if !query.text("continue").is_empty() {
            causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
    }
    if causes.is_empty() {
        Ok(initial)
    } else {
        Err(revision::invalid(causes))
    }
}

/// `timeoutSeconds`: nothing and zero stand for the server's own limit.
pub(crate) fn timeout(text: &str) -> Result<Option<Duration>, ApiError> {
    if text.is_empty() {
        return Ok(None);
    }
    let seconds: i64 = text
        .parse()
        .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))?;
    Ok(u64::try_from(seconds)
        .ok()
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs))
}
