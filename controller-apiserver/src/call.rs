//! One request for objects, and what it is answered.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::access::User;
use crate::codec::accept::Accept;
use crate::registry::Resource;
use crate::rights::Right;
use crate::server::query::Query;
use crate::server::route::Target;
use crate::state::State;
use crate::storage::Stored;
use crate::view::ListMeta;
use crate::watch::Opening;

/// What is done, in the words of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read a collection.
    List,
    /// Follow a collection.
    Watch,
    /// Make an object.
    Create,
    /// Replace an object.
    Update,
    /// Change an object.
    Patch,
    /// Remove an object.
    Delete,
    /// Remove a collection.
    DeleteCollection,
}

impl Verb {
    /// The word, as in a `Role`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// The verb of a word.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        const ALL: [Verb; 8] = [
            Verb::Get,
            Verb::List,
            Verb::Watch,
            Verb::Create,
            Verb::Update,
            Verb::Patch,
            Verb::Delete,
            Verb::DeleteCollection,
        ];
        ALL.into_iter().find(|verb| verb.as_str() == word)
    }

    /// It changes nothing.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One request for objects.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) target: Target,
    pub(crate) verb: Verb,
    pub(crate) query: Query,
    pub(crate) user: User,
    /// The `User-Agent` header.
    pub(crate) agent: String,
    pub(crate) accept: Accept,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn resource(&self) -> &Resource {
        &self.target.resource
    }
}

/// A request at work: the state it has to itself, and the warnings it gathers.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) call: &'a Call,
    pub(crate) warnings: Vec<String>,
    /// What the authorizer was asked beside the verb of the call, whatever it said.
    pub(crate) also: Vec<Right>,
    /// By how many revisions a read lags behind; a fault.
    pub(crate) lag: Option<u64>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(state: &'a mut State, call: &'a Call) -> Self {
        Self {
            state,
            call,
            warnings: Vec::new(),
            also: Vec::new(),
            lag: None,
        }
    }

    /// The resource the request is about; not borrowed from the session.
    pub(crate) fn resource(&self) -> &'a Resource {
        &self.call.target.resource
    }

    /// The revision that reads without one show.
    pub(crate) fn shown_revision(&self) -> u64 {
        let revision = self.state.store.revision();
        let lagging = revision.saturating_sub(self.lag.unwrap_or_default());
        if self.state.store.remembers(lagging) {
            lagging
        } else {
            revision
        }
    }

    /// The stored object the request names.
    pub(crate) fn existing(&self) -> Option<Arc<Stored>> {
        let target = &self.call.target;
        self.state.get(&target.resource, &target.namespace, &target.name)
    }
}

/// What a request is answered.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A stored object.
    Stored { code: u16, stored: Arc<Stored> },
    /// An object that is not stored in this form: a `Status`, a `Scale`, the outcome of a dry run.
    Value { code: u16, value: Value },
    /// A list.
    List { meta: ListMeta, items: Vec<Arc<Stored>> },
    /// A watch.
    Watch(Box<Opening>),
    /// The revision asked for is not there yet.
    NotYet { revision: u64 },
}

impl Answer {
    pub(crate) fn value(code: u16, value: Value) -> Self {
        Self::Value { code, value }
    }
}
