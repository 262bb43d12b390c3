//! GET of a collection: selectors, revisions, pages.
//!
//! Source: "Retrieving large results sets in chunks" and "Resource versions" in the API concepts
//! documentation.

use std::ops::Bound;
use std::sync::Arc;

use super::page::Token;
use super::revision::{self, Match};
use crate::call::{Answer, Session};
use crate::select::Selection;
use crate::status::ApiError;
use crate::storage::Stored;
use crate::view::ListMeta;
use crate::watch;

/// Objects with their keys, in key order.
type Keyed = Vec<(Arc<str>, Arc<Stored>)>;

/// What a list shows.
struct Wanted {
    /// The revision it shows, and whether it shows the present whatever that is.
    revision: u64,
    present: bool,
    /// The first key, with the prefix of the request.
    start: String,
}

impl Session<'_> {
    /// GET on a collection.
    pub(crate) fn list(&mut self) -> Result<Answer, ApiError> {
        let resource = self.resource();
        let query = &self.call.query;
        let selection = Selection::parse(query.text("labelSelector"), query.text("fieldSelector"), resource)?;
        let limit = limit(query.text("limit"))?;
        watch::timeout(query.text("timeoutSeconds"))?;
        let prefix = resource.prefix(&self.call.target.namespace);
        let wanted = match self.wanted(&prefix, limit)? {
            Ok(wanted) => wanted,
            Err(answer) => return Ok(answer),
        };
        let keyed = self.keyed(&wanted, &prefix)?;
        Ok(page(&wanted, keyed, &selection, limit, &prefix))
    }

    /// Which state is asked for; an answer where it is not there yet.
    fn wanted(&self, prefix: &str, limit: usize) -> Result<Result<Wanted, Answer>, ApiError> {
        let query = &self.call.query;
        let matching = revision::list_match(query)?;
        let text = query.text("resourceVersion");
        let asked = revision::parse(text).map_err(|why| {
            if limit > 0 || matching == Some(Match::Exact) || !query.text("continue").is_empty() {
                ApiError::bad_request(format!("invalid resource version: {why}"))
            } else {
                ApiError::bad_request(revision::problem(text, &why))
            }
        })?;
        let current = self.state.store.revision();
        let present = Wanted {
            revision: self.shown_revision(),
            present: self.lag.is_none(),
            start: prefix.to_owned(),
        };
        let token = query.text("continue");
        if !token.is_empty() {
            if asked != 0 {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let token = Token::decode(token)
                .map_err(|why| ApiError::bad_request(format!("invalid continue token: {why}")))?;
            if token.revision.is_some_and(|revision| revision > current) {
                // Of a time before a backup was restored.
                return Err(ApiError::internal(
                    "rpc error: code = OutOfRange desc = etcdserver: mvcc: required revision is a future revision",
                ));
            }
            return Ok(Ok(Wanted {
                revision: token.revision.unwrap_or(current),
                present: token.revision.is_none(),
                start: format!("{prefix}{}", token.start),
            }));
        }
        if asked > current {
            return Ok(Err(Answer::NotYet { revision: asked }));
        }
        let exact = match matching {
            Some(matching) => matching == Match::Exact,
            None => limit > 0 && asked != 0,
        };
        if exact {
            return Ok(Ok(Wanted {
                revision: asked,
                present: false,
                ..present
            }));
        }
        Ok(Ok(present))
    }

    /// The objects of the state asked for, from the start of the page on.
    fn keyed(&self, wanted: &Wanted, prefix: &str) -> Result<Keyed, ApiError> {
        let collection = &self.resource().collection;
        let pair = |(key, object): (&Arc<str>, &Arc<Stored>)| (Arc::clone(key), Arc::clone(object));
        if wanted.present || wanted.revision == self.state.store.revision() {
            return Ok(self
                .state
                .store
                .scan_from(collection, prefix, &wanted.start)
                .map(pair)
                .collect());
        }
        let objects = self
            .state
            .store
            .at(collection, prefix, wanted.revision)
            .map_err(|_| self.expired(wanted, prefix))?;
        Ok(objects
            .range::<str, _>((Bound::Included(&*wanted.start), Bound::Unbounded))
            .map(pair)
            .collect())
    }

    /// The past was dropped; a page can go on inconsistently.
    fn expired(&self, wanted: &Wanted, prefix: &str) -> ApiError {
        if self.call.query.text("continue").is_empty() {
            return ApiError::expired("The resourceVersion for the provided list is too old.");
        }
        let mut error = ApiError::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        );
        let token = Token {
            revision: None,
            start: wanted.start.strip_prefix(prefix).unwrap_or_default().to_owned(),
        };
        error.continue_token = Some(token.encode());
        error
    }
}

/// Cuts a page.
fn page(wanted: &Wanted, keyed: Keyed, selection: &Selection, limit: usize, prefix: &str) -> Answer {
    let mut meta = ListMeta {
        revision: wanted.revision,
        ..ListMeta::default()
    };
    let total = keyed.len();
    let mut items = Vec::new();
    let mut last: Option<(usize, Arc<str>)> = None;
    for (at, (key, object)) in keyed.into_iter().enumerate() {
        if limit > 0 && items.len() == limit {
            // More is stored, selected or not: a real server does not look at it either.
            if let Some((position, last)) = &last {
                let start = format!("{}\0", last.strip_prefix(prefix).unwrap_or(last));
                let token = Token {
                    revision: Some(wanted.revision),
                    start,
                };
                meta.continue_token = Some(token.encode());
                meta.remaining = selection.is_everything().then(|| total - position - 1);
            }
            break;
        }
        if selection.matches(&key, &object) {
            last = Some((at, Arc::clone(&key)));
            items.push(object);
        }
    }
    Answer::List { meta, items }
}

/// `limit`: nothing and negative numbers stand for no limit.
fn limit(text: &str) -> Result<usize, ApiError> {
    if text.is_empty() {
        return Ok(0);
    }
    let number: i64 = text
        .parse()
        .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))?;
    Ok(usize::try_from(number).unwrap_or(0))
}
